//! Samples every so many bytecodes: what the agent does for the Java class `Sampler`, defined when it is first needed.

use std::ffi::CStr;
use std::sync::OnceLock;

use quipu_arena::layout::header;
use quipu_jvm::jni::kind;
use quipu_jvm::{Env, Error, Global, MethodId, Thread, sys};

use crate::options::BytecodeSampling;
use crate::session::Session;

/// In the order in which they can be defined; the last is the sampler.
const CLASSES: &[(&CStr, &[u8])] = include!(concat!(env!("OUT_DIR"), "/sampling_classes.rs"));

struct Sampler {
    class: Global<kind::Class>,
    /// A thread has ended.
    end: MethodId,
    /// The current thread does something that is not the program's.
    aside: MethodId,
}

static SAMPLER: OnceLock<Sampler> = OnceLock::new();

/// Makes ready what rewritten code will call.
pub fn install(session: &Session, env: &Env<'_>, wanted: &BytecodeSampling) -> Result<(), Error> {
    let BytecodeSampling { every, jitter, seed } = *wanted;
    session.arena.set(header::SEED, seed);
    session.arena.set(header::JITTER, jitter);
    set_granularity(session, every);
    if SAMPLER.get().is_some() {
        return Ok(());
    }
    let mut last = None;
    for (name, bytes) in CLASSES {
        last = Some(env.define_class(name, None, bytes)?);
    }
    let Some(class) = last else { return Ok(()) };
    // Looking the methods up initialises the class: instrumented code must never be the first to do so.
    let end = env.static_method(class, c"end", c"(Ljava/lang/Thread;)V")?;
    let aside = env.static_method(class, c"aside", c"(Z)V")?;
    let _ = SAMPLER.set(Sampler { class: env.new_global(class)?, end, aside });
    Ok(())
}

/// Changes the number of bytecodes from one sample to the next. A thread heeds it from its next sample on.
pub fn set_granularity(session: &Session, every: u64) {
    session.arena.set(header::EVERY, every.clamp(1, BytecodeSampling::MOST));
}

/// The thread has ended: its stack can go to the next one.
pub fn end_thread(env: &Env<'_>, thread: Thread<'_>) {
    let Some(sampler) = SAMPLER.get() else { return };
    // SAFETY: the method takes one thread and returns nothing.
    let ended =
        unsafe { env.call_static_void(sampler.class.get(), sampler.end, &[sys::jvalue { l: thread.raw() }]) };
    // It allocates nothing, so there is nothing that could go wrong.
    let _ = ended;
}

/// The VM runs Java code on this thread while it rewrites classes, some of it rewritten already. That is not sampled.
pub fn aside(env: &Env<'_>, begin: bool) -> Result<(), Error> {
    let Some(sampler) = SAMPLER.get() else { return Ok(()) };
    // SAFETY: the method takes one boolean and returns nothing.
    unsafe { env.call_static_void(sampler.class.get(), sampler.aside, &[sys::jvalue { z: begin }]) }
}
