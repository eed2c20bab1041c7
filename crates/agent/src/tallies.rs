//! Tallies for methods that have no contexts: what the agent does for the Java class `Tally`.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use quipu_jvm::jni::kind;
use quipu_jvm::{Class, Env, Error, Global, MethodId, Thread, sys};

use crate::session::Session;

struct Tally {
    class: Global<kind::Class>,
    /// Threads have tallies from now on.
    begin: MethodId,
    /// A thread begins.
    start: MethodId,
}

static TALLY: OnceLock<Tally> = OnceLock::new();
static BEGUN: AtomicBool = AtomicBool::new(false);

/// Makes ready what rewritten code will call.
pub fn define(env: &Env<'_>, class: Class<'_>) -> Result<(), Error> {
    // Looking the methods up initialises the class: instrumented code must never be the first to do so.
    let begin = env.static_method(class, c"begin", c"()Z")?;
    let start = env.static_method(class, c"start", c"(Ljava/lang/Thread;)V")?;
    let _ = TALLY.set(Tally { class: env.new_global(class)?, begin, start });
    Ok(())
}

/// Gives every thread a tally, now and when it begins; `false` if there is no room for that.
pub fn begin(session: &Session, env: &Env<'_>) -> Result<bool, Error> {
    let Some(tally) = TALLY.get() else { return Ok(false) };
    // SAFETY: the method takes nothing and returns a boolean.
    if !unsafe { env.call_static_boolean(tally.class.get(), tally.begin, &[])? } {
        return Ok(false);
    }
    BEGUN.store(true, Ordering::Relaxed);
    if !session.is_direct() {
        // A thread that has a cursor finds its tally there.
        return Ok(true);
    }
    session.hear_of_new_threads()?;
    for thread in session.jvmti.all_threads(env)? {
        start(env, thread)?;
    }
    Ok(true)
}

/// A thread begins, or was found running.
pub fn start(env: &Env<'_>, thread: Thread<'_>) -> Result<(), Error> {
    let Some(tally) = TALLY.get().filter(|_| BEGUN.load(Ordering::Relaxed)) else { return Ok(()) };
    // SAFETY: the method takes one thread and returns nothing.
    unsafe { env.call_static_void(tally.class.get(), tally.start, &[sys::jvalue { l: thread.raw() }]) }
}
