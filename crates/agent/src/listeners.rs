//! Test frameworks: a jar with listeners for them is put where they look, and counting begins when a listener says
//! that tests begin. A JVM that runs no tests (Maven's own, Gradle's) is left as it is.

use std::ffi::{CStr, c_void};
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

use quipu_arena::follow::{Done, Followed, Follower};
use quipu_arena::writer::ArenaWriter;
use quipu_classfile::mutf8;
use quipu_jvm::sys::{JNIEnv, jclass, jlong, jobject};
use quipu_jvm::{Env, Error, NativeMethod, Ref};

use crate::entry::complain;
use crate::guard::guarded;
use crate::pins;
use crate::session::Session;
use crate::start;

/// What listeners call.
const CLASSES: &[(&CStr, &[u8])] = include!(concat!(env!("OUT_DIR"), "/test_classes.rs"));

/// Hot methods that are named.
const HOT: usize = 5;

/// Keeps the work of tests apart.
static FOLLOWER: LazyLock<Mutex<Follower>> = LazyLock::new(Mutex::default);

/// Gets ready for a listener in the jar.
pub fn wait(session: &'static Session, env: &Env<'_>, jar: &Path) -> Result<(), Error> {
    start::prepare(session, env)?;
    for (name, bytes) in CLASSES {
        let class = env.define_class(name, None, bytes)?;
        let method = |name, descriptor, function| NativeMethod { name, descriptor, function };
        let table = [
            method(c"start", c"()V", begin as *mut c_void),
            method(c"begin", c"(Ljava/lang/String;Ljava/lang/String;J)V", begin_test as *mut c_void),
            method(c"end", c"(Ljava/lang/String;Ljava/lang/String;J)V", end_test as *mut c_void),
            method(
                c"work",
                c"(Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;)Ljava/lang/String;",
                work as *mut c_void,
            ),
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
        if let Err(why) = start::start(session, &mut env, &session.options()) {
            complain(&why);
        }
    });
}

extern "system" fn begin_test(env: *mut JNIEnv, _: jclass, method: jobject, test: jobject, near: jlong) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment.
        let Some(env) = (unsafe { Env::from_raw(env) }) else { return };
        let (Some(session), Some(method), Some(test)) =
            (Session::get(), text(&env, method), text(&env, test))
        else {
            return;
        };
        following(session, &method, near, Follower::begin);
        pins::begin_at(session, &env, &["begin", &method, &test]);
    });
}

extern "system" fn end_test(env: *mut JNIEnv, _: jclass, method: jobject, test: jobject, near: jlong) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment.
        let Some(env) = (unsafe { Env::from_raw(env) }) else { return };
        let (Some(session), Some(method), Some(test)) =
            (Session::get(), text(&env, method), text(&env, test))
        else {
            return;
        };
        // Code that is not counted has no number, and not the number 0.
        if let Some(Done { runs: 1.., bytecodes, calls, allocations }) =
            following(session, &method, near, Follower::end)
        {
            session.note("test", &format!("{method}\t{test}\t{bytecodes}\t{calls}\t{allocations}"));
        }
        pins::begin_at(session, &env, &["end", &method, &test]);
    });
}

/// Looks at what a test's method has done.
fn following<T>(
    session: &Session,
    method: &str,
    near: jlong,
    look: impl FnOnce(&mut Follower, &ArenaWriter, u32, u64) -> T,
) -> Option<T> {
    let mut parts = method.split('\t');
    let (kind, class, name, descriptor) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let wanted = Followed {
        class: bytes(&class.replace('.', "/")),
        name: bytes(name),
        descriptor: Some(bytes(descriptor)),
        lambdas: kind == "dynamic",
    };
    let near = (near as usize).checked_sub(session.arena.base() as usize)? as u64;
    // Poisoned only by a panic, after which whatever is in it is still consistent enough to add up.
    let mut follower = FOLLOWER.lock().unwrap_or_else(PoisonError::into_inner);
    let number = follower.follow(wanted);
    Some(look(&mut follower, &session.arena, number, near))
}

/// The text that a local reference is to, if it is to any.
fn text(env: &Env<'_>, object: jobject) -> Option<String> {
    // SAFETY: null or a local reference that lasts for this call.
    let object = unsafe { Ref::from_raw(object) }?;
    env.as_text(object).map(|text| env.text(text))
}

extern "system" fn work(
    env: *mut JNIEnv,
    _: jclass,
    owner: jobject,
    name: jobject,
    descriptor: jobject,
) -> jobject {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: the VM passes this thread's environment.
        let Some(env) = (unsafe { Env::from_raw(env) }) else { return std::ptr::null_mut() };
        let (Some(session), Some(owner), Some(name)) = (Session::get(), text(&env, owner), text(&env, name))
        else {
            return std::ptr::null_mut();
        };
        let wanted = Followed {
            class: bytes(&owner.replace('.', "/")),
            name: bytes(&name),
            descriptor: text(&env, descriptor).as_deref().map(bytes),
            lambdas: false,
        };
        // One of its own: whether the method is below one that is followed for another reason does not matter here.
        let mut follower = Follower::default();
        let number = follower.follow(wanted);
        let told = describe(&follower.total(&session.arena, number, HOT));
        env.new_text(&told).map_or(std::ptr::null_mut(), Ref::raw)
    })
}

fn describe((done, hot): &(Done, Vec<(Vec<u8>, u64)>)) -> String {
    let mut text = format!("{} {} {} {}", done.runs, done.bytecodes, done.calls, done.allocations);
    for (name, executed) in hot {
        text += &format!("\n{executed} {}", mutf8::decode(name).replace('/', "."));
    }
    text
}

/// As records have it.
fn bytes(text: &str) -> Vec<u8> {
    mutf8::encode(text).as_bytes().to_vec()
}
