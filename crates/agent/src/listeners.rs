//! Test frameworks: a jar with listeners for them is put where they look, and counting begins when a listener says
//! that tests begin. A JVM that runs no tests (Maven's own, Gradle's) is left as it is.

use std::ffi::{CStr, c_void};
use std::path::Path;

use quipu_jvm::sys::{JNIEnv, jclass, jobject};
use quipu_jvm::{Env, Error, NativeMethod, Ref};

use crate::entry::complain;
use crate::guard::guarded;
use crate::session::Session;
use crate::start;

/// What listeners call.
const CLASSES: &[(&CStr, &[u8])] = include!(concat!(env!("OUT_DIR"), "/test_classes.rs"));

/// Gets ready for a listener in the jar.
pub fn wait(session: &'static Session, env: &Env<'_>, jar: &Path) -> Result<(), Error> {
    start::prepare(session, env)?;
    for (name, bytes) in CLASSES {
        let class = env.define_class(name, None, bytes)?;
        let method = |name, descriptor, function| NativeMethod { name, descriptor, function };
        let table = [
            method(c"start", c"()V", begin as *mut c_void),
            method(c"note", c"(Ljava/lang/String;)V", note as *mut c_void),
        ];
        // SAFETY: the table's functions have the signatures that Tests.java declares.
        unsafe { env.register_natives(class, &table)? };
    }
    session.jvmti.add_to_system_class_loader_search(jar)
}

extern "system" fn begin(env: *mut JNIEnv, _: jclass) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment.
        let (Some(session), Some(mut env)) = (Session::get(), unsafe { Env::from_raw(env) }) else { return };
        if session.plan().is_some() {
            return;
        }
        if let Err(error) = start::start(session, &mut env, &session.options) {
            complain(&error.to_string());
        }
    });
}

extern "system" fn note(env: *mut JNIEnv, _: jclass, test: jobject) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment and null or a local reference that lasts for this call.
        let (Some(env), Some(test)) = (unsafe { Env::from_raw(env) }, unsafe { Ref::from_raw(test) }) else {
            return;
        };
        if let (Some(session), Some(test)) = (Session::get(), env.as_text(test)) {
            session.note("test", &env.text(test));
        }
    });
}
