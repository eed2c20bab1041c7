//! Code that profiles itself: what `quipu.Profiler` asks for through `java.quipu.Steering`.

use std::ffi::c_void;
use std::sync::OnceLock;

use quipu_jvm::sys::{JNIEnv, jclass, jobject};
use quipu_jvm::{Env, Error, NativeMethod, Ref};

use crate::classes;
use crate::control;
use crate::guard::guarded;
use crate::session::Session;
use crate::stacks::labels;

/// Defines the class that the API looks for, once.
pub fn define(env: &Env<'_>) -> Result<(), Error> {
    static DEFINED: OnceLock<()> = OnceLock::new();
    if DEFINED.set(()).is_err() {
        return Ok(());
    }
    for (name, bytes) in classes::STEERING.unpack() {
        let class = env.define_class(name, None, &bytes)?;
        let method = |name, descriptor, function| NativeMethod { name, descriptor, function };
        let table = [
            method(c"request", c"(Ljava/lang/String;)Ljava/lang/String;", request as *mut c_void),
            method(c"begin", c"(Ljava/lang/String;Ljava/lang/String;)I", begin as *mut c_void),
            method(c"end", c"(I)V", end as *mut c_void),
        ];
        // SAFETY: the table's functions have the signatures that Steering.java declares.
        unsafe { env.register_natives(class, &table)? };
    }
    Ok(())
}

/// # Safety
/// `object` is null or a string of this thread's.
unsafe fn text(env: &Env<'_>, object: jobject) -> Option<String> {
    // SAFETY: the caller's promise.
    let object = unsafe { Ref::from_raw(object) }?;
    env.as_text(object).map(|text| env.text(text))
}

extern "system" fn request(env: *mut JNIEnv, _: jclass, command: jobject) -> jobject {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: the VM passes this thread's environment and a string.
        let Some(env) = (unsafe { Env::from_raw(env) }) else { return std::ptr::null_mut() };
        // SAFETY: as above.
        let line = unsafe { text(&env, command) }.unwrap_or_default();
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let refused = match Session::get() {
            Some(session) => control::carry_out(session, &words).err(),
            None => Some("the agent has no session".to_owned()),
        };
        let refused = refused.and_then(|why| env.new_text(&why).ok());
        refused.map_or(std::ptr::null_mut(), Ref::raw)
    })
}

extern "system" fn begin(env: *mut JNIEnv, _: jclass, key: jobject, value: jobject) -> i32 {
    guarded(0, || {
        // SAFETY: the VM passes this thread's environment and strings.
        let (Some(session), Some(env)) = (Session::get(), unsafe { Env::from_raw(env) }) else { return 0 };
        // SAFETY: as above.
        let (Some(key), Some(value)) = (unsafe { (text(&env, key), text(&env, value)) }) else { return 0 };
        // A virtual thread leaves its carrier when it waits, and the label would stay behind.
        if session.jvmti.current_thread(&env).is_ok_and(|thread| env.is_virtual(thread)) {
            return 0;
        }
        labels::begin(&session.arena, &key, &value).cast_signed()
    })
}

extern "system" fn end(env: *mut JNIEnv, _: jclass, before: i32) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment.
        let (Some(session), Some(env)) = (Session::get(), unsafe { Env::from_raw(env) }) else { return };
        if !session.jvmti.current_thread(&env).is_ok_and(|thread| env.is_virtual(thread)) {
            labels::end(before.cast_unsigned());
        }
    });
}
