//! Samples every so many bytecodes: what the agent does for the Java class `Sampler`, defined when it is first needed.

use std::cell::UnsafeCell;
use std::sync::OnceLock;

use quipu_arena::layout::{header, stack};
use quipu_jvm::jni::kind;
use quipu_jvm::{Env, Error, Global, MethodId, Thread, sys};

use crate::classes;
use crate::dialect;
use crate::options::BytecodeSampling;
use crate::session::Session;

struct Sampler {
    class: Global<kind::Class>,
    /// A thread begins, or runs already.
    start: MethodId,
    /// The current thread does something that is not the program's.
    aside: MethodId,
}

static SAMPLER: OnceLock<Sampler> = OnceLock::new();

/// Takes the frames that are never looked at. Threads without a stack write to it all at once; of what is in front of the frames
/// `ReifiedStack` sets where the record is, and the rest stays 0: no sample is written down, and there is no other chunk.
#[repr(C, align(4096))]
struct Scratch(UnsafeCell<[u8; stack::CHUNK as usize]>);

// SAFETY: Rust code only takes its address; what the VM's machine code does to it is no matter to Rust.
unsafe impl Sync for Scratch {}

static SCRATCH: Scratch = Scratch(UnsafeCell::new([0; stack::CHUNK as usize]));

/// Address of the chunk for frames that are never looked at.
pub fn scratch() -> i64 {
    SCRATCH.0.get() as i64
}

/// Where the frames of threads go that have no stack.
pub fn nowhere() -> i64 {
    scratch() + stack::FRAMES as i64
}

/// Makes ready what rewritten code will call.
pub fn define(session: &Session, env: &Env<'_>, wanted: &BytecodeSampling) -> Result<(), Error> {
    let BytecodeSampling { every, jitter, seed } = *wanted;
    session.arena.set(header::SEED, seed);
    session.arena.set(header::JITTER, jitter);
    set_granularity(session, every);
    if SAMPLER.get().is_some() {
        return Ok(());
    }
    let mut last = None;
    for (name, bytes) in classes::BYTECODES.unpack() {
        last = Some(dialect::define(env, session.jvmti, name, &bytes)?);
    }
    let Some(class) = last else { return Ok(()) };
    // Looking the methods up initialises the class: instrumented code must never be the first to do so.
    let aside = env.static_method(class, c"aside", c"(Z)V")?;
    let start = env.static_method(class, c"start", c"(Ljava/lang/Thread;)V")?;
    let _ = SAMPLER.set(Sampler { class: env.new_global(class)?, start, aside });
    Ok(())
}

/// Gives every thread an empty stack; and where threads have fields for that, every thread that begins.
pub fn start_all(session: &Session, env: &Env<'_>) -> Result<(), Error> {
    if session.is_direct() {
        session.hear_of_new_threads()?;
    }
    for thread in session.jvmti.all_threads(env)? {
        start_thread(env, thread)?;
    }
    Ok(())
}

/// The thread begins, or was found running.
pub fn start_thread(env: &Env<'_>, thread: Thread<'_>) -> Result<(), Error> {
    let Some(sampler) = SAMPLER.get() else { return Ok(()) };
    // SAFETY: the method takes one thread and returns nothing.
    unsafe { env.call_static_void(sampler.class.get(), sampler.start, &[sys::jvalue { l: thread.raw() }]) }
}

/// Changes the number of bytecodes from one sample to the next. A thread heeds it from its next sample on.
pub fn set_granularity(session: &Session, every: u64) {
    session.arena.set(header::EVERY, every.max(1));
}

/// The VM runs Java code on this thread while it rewrites classes, some of it rewritten already. That is not sampled.
pub fn aside(env: &Env<'_>, begin: bool) -> Result<(), Error> {
    let Some(sampler) = SAMPLER.get() else { return Ok(()) };
    // SAFETY: the method takes one boolean and returns nothing.
    unsafe { env.call_static_void(sampler.class.get(), sampler.aside, &[sys::jvalue { z: begin }]) }
}
