//! Test frameworks: a jar with listeners for them is put where they look, and counting begins when a listener says
//! that tests begin. A JVM that runs no tests (Maven's own, Gradle's) is left as it is.

use std::ffi::{CStr, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, PoisonError};

use quipu_arena::follow::{Done, Followed, Follower, Name};
use quipu_arena::layout::header;
use quipu_arena::writer::ArenaWriter;
use quipu_classfile::mutf8;
use quipu_jvm::sys::{self, JNIEnv, jclass, jlong, jobject};
use quipu_jvm::{Env, Error, NativeMethod, Ref};

use crate::classes;
use crate::dialect;
use crate::entry::complain;
use crate::events::Listener;
use crate::guard::guarded;
use crate::pins;
use crate::session::Session;
use crate::start;

mod at_once;

/// What listeners call, which native code is behind.
const LISTENED: &CStr = c"java/quipu/Tests";

/// Hot methods that are named.
const HOT: usize = 5;

/// Keeps the work of tests apart.
static FOLLOWER: LazyLock<Mutex<Follower>> = LazyLock::new(|| Mutex::new(follower()));

/// When classes are initialised depends on what ran before, so their initialisers are no test's.
fn follower() -> Follower {
    Follower::new(|name| name == b"<clinit>")
}

/// What listeners call is there.
static READY: AtomicBool = AtomicBool::new(false);

/// Whether code may call what listeners call.
pub fn are_ready() -> bool {
    READY.load(Relaxed)
}

/// Gets ready for a listener in the jar.
pub fn wait(session: &'static Session, env: &Env<'_>, jar: &Path) -> Result<(), Error> {
    start::prepare(session, env)?;
    for (name, bytes) in classes::TEST.unpack() {
        let class = dialect::define(env, session.jvmti, name, &bytes)?;
        if name != LISTENED {
            continue;
        }
        let method = |name, descriptor, function| NativeMethod { name, descriptor, function };
        let table = [
            method(c"start", c"()V", begin as *mut c_void),
            method(c"begin", c"(Ljava/lang/String;Ljava/lang/String;J)V", begin_test as *mut c_void),
            method(c"end", c"(Ljava/lang/String;Ljava/lang/String;J)V", end_test as *mut c_void),
            method(c"tell", c"(Ljava/lang/String;Ljava/lang/String;)V", tell as *mut c_void),
            method(
                c"work",
                c"(Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;)Ljava/lang/String;",
                work as *mut c_void,
            ),
        ];
        // SAFETY: the table's functions have the signatures that Tests.java declares.
        unsafe { env.register_natives(class, &table)? };
    }
    READY.store(true, Relaxed);
    session.jvmti.add_to_system_class_loader_search(jar)
}

extern "system" fn begin(env: *mut JNIEnv, _: jclass) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment.
        let (Some(session), Some(mut env)) = (Session::get(), unsafe { Env::from_raw(env) }) else { return };
        if session.plan().is_some_and(|plan| plan.counts()) {
            return;
        }
        if let Err(why) = start::start(session, &mut env, &session.options()) {
            complain(&why);
        }
        for event in [sys::JVMTI_EVENT_THREAD_START, sys::JVMTI_EVENT_VIRTUAL_THREAD_START] {
            // Where there are no virtual threads, nobody tells of them.
            let _ = session.listen(Listener::Tests, event, true);
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
        if let Some(most) = at_once::begin() {
            session.note("tests at once", &most.to_string());
        }
        following(session, &method, near, Follower::begin);
        STARTED_BEFORE.store(STARTED.load(Relaxed), Relaxed);
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
            let threads = STARTED.load(Relaxed).saturating_sub(STARTED_BEFORE.load(Relaxed));
            let counts = format!("{bytecodes}\t{calls}\t{allocations}\t{threads}");
            if !session.note("test", &format!("{method}\t{test}\t{counts}\t{}", directory())) {
                session.count(header::REFUSED, 1);
            }
        }
        at_once::end();
        pins::begin_at(session, &env, &["end", &method, &test]);
    });
}

extern "system" fn tell(env: *mut JNIEnv, _: jclass, key: jobject, value: jobject) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment.
        let Some(env) = (unsafe { Env::from_raw(env) }) else { return };
        if let (Some(session), Some(key), Some(value)) = (Session::get(), text(&env, key), text(&env, value))
        {
            session.note(&key, &format!("{value}\t{}", directory()));
        }
    });
}

/// Where the JVM was started: same-named tests of two modules are two tests.
fn directory() -> &'static str {
    static DIRECTORY: LazyLock<String> = LazyLock::new(|| {
        let directory = std::env::current_dir().unwrap_or_default().to_string_lossy().into_owned();
        directory.replace(|c: char| c.is_control(), "\u{fffd}")
    });
    &DIRECTORY
}

/// Threads that have been started so far, and how many that were when the current test began.
static STARTED: AtomicU64 = AtomicU64::new(0);
static STARTED_BEFORE: AtomicU64 = AtomicU64::new(0);

/// A thread begins to run.
pub fn thread_started() {
    STARTED.fetch_add(1, Relaxed);
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
    let class = bytes(&class.replace('.', "/"));
    let wanted = match kind {
        // Not the method, which only makes the tests, but the lambdas in it, which are the tests: javac names them so.
        "dynamic" => {
            let name = Name::Begins(bytes(&format!("lambda${name}$")));
            Followed { class, name, descriptor: None }
        }
        _ => Followed { class, name: Name::Is(bytes(name)), descriptor: Some(bytes(descriptor)) },
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
            name: Name::Is(bytes(&name)),
            descriptor: text(&env, descriptor).as_deref().map(bytes),
        };
        // One of its own: whether the method is below one that is followed for another reason does not matter here.
        let mut follower = follower();
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
