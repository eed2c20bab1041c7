//! Test frameworks: a jar with listeners for them is put where they look, and counting begins when a listener says
//! that tests begin. A JVM that runs no tests (Maven's own, Gradle's) is left as it is.

use std::ffi::{CStr, c_void};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

use quipu_arena::bytes::Bytes;
use quipu_arena::follow::{Done, Followed, Follower};
use quipu_arena::layout::{self, header};
use quipu_arena::reader::Contents;
use quipu_arena::work::{Wanted, Work};
use quipu_arena::writer::ArenaWriter;
use quipu_classfile::mutf8;
use quipu_jvm::sys::{JNIEnv, jclass, jlong, jobject};
use quipu_jvm::{Env, Error, NativeMethod, Ref};

use crate::entry::complain;
use crate::guard::guarded;
use crate::session::Session;
use crate::start;

/// What listeners call.
const CLASSES: &[(&CStr, &[u8])] = include!(concat!(env!("OUT_DIR"), "/test_classes.rs"));

/// A profile larger than this is not read in the target.
const LARGEST: u64 = 512 << 20;

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
            method(c"begin", c"(Ljava/lang/String;J)V", begin_test as *mut c_void),
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
        if let Err(why) = start::start(session, &mut env, &session.options) {
            complain(&why);
        }
    });
}

extern "system" fn begin_test(env: *mut JNIEnv, _: jclass, method: jobject, near: jlong) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment.
        let Some(env) = (unsafe { Env::from_raw(env) }) else { return };
        let (Some(session), Some(method)) = (Session::get(), text(&env, method)) else { return };
        following(session, &method, near, Follower::begin);
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
    let bytes = |text: &str| mutf8::encode(text).as_bytes().to_vec();
    let wanted = Followed {
        class: bytes(&class.replace('.', "/")),
        name: bytes(name),
        descriptor: bytes(descriptor),
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
        let (owner, name) = (mutf8::encode(&owner.replace('.', "/")), mutf8::encode(&name));
        let descriptor = text(&env, descriptor).map(|descriptor| mutf8::encode(&descriptor));
        let wanted = Wanted {
            class: owner.as_bytes(),
            name: name.as_bytes(),
            descriptor: descriptor.as_ref().map(|descriptor| descriptor.as_bytes()),
        };
        let told = read(session.arena.path()).and_then(|bytes| {
            let contents = Contents::read(&bytes).ok()?;
            env.new_text(&describe(&quipu_arena::work::work(&contents, &wanted))).ok()
        });
        told.map_or(std::ptr::null_mut(), Ref::raw)
    })
}

fn describe(work: &Work) -> String {
    let mut text = format!("{} {} {} {}", work.runs, work.bytecodes, work.calls, work.allocations);
    for (name, executed) in work.hot.iter().take(HOT) {
        text += &format!("\n{executed} {}", mutf8::decode(name).replace('/', "."));
    }
    text
}

/// The part of the arena that is in use; a copy, because the program goes on meanwhile.
fn read(path: &Path) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    let mut bytes = Vec::new();
    file.by_ref().take(layout::HEADER_SIZE).read_to_end(&mut bytes).ok()?;
    let rest = Bytes(&bytes).u64(header::USED)?.checked_sub(bytes.len() as u64)?;
    if rest > LARGEST {
        return None;
    }
    file.take(rest).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
