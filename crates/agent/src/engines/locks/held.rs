//! Every lock that is acquired, and how long it is held, told by inserted code.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use quipu_arena::layout::detail;
use quipu_jvm::jni::kind;
use quipu_jvm::{Env, Error, Global, MethodId};
use quipu_kinds::Kind;
use quipu_rewrite::{Acquisitions, Instrument};

use crate::classes;
use crate::dialect;
use crate::options::Options;
use crate::session::Session;
use crate::sites;
use crate::stacks::metrics::{self, Declared};
use crate::start;

/// The runtime's class, which inserted code calls, and what tells it that a profile begins.
static RUNTIME: OnceLock<(Global<kind::Class>, MethodId)> = OnceLock::new();
static ON: AtomicBool = AtomicBool::new(false);

/// Whether everything is counted.
pub fn is_on() -> bool {
    ON.load(Ordering::Acquire)
}

/// What is inserted, and all that it needs.
pub fn instrument(
    session: &'static Session,
    env: &Env<'_>,
    kind: &'static Kind,
) -> Result<Arc<dyn Instrument>, Error> {
    let metric = |name: &str| kind.metrics.iter().find(|metric| metric.name == name);
    if let (Some(hold), Some(entered)) = (metric("lock.hold"), metric("lock.entered")) {
        let declared = Declared { count: entered.name, ..Declared::of(hold, 0) };
        let metric = metrics::declare(&session.arena, &declared);
        session.sites.measure(Acquisitions::NAME, sites::Kind { metric, detail: detail::LOCK });
    }
    if RUNTIME.get().is_none() {
        for (name, bytes) in classes::HELD.unpack() {
            let class = dialect::define(env, session.jvmti, name, &bytes)?;
            // Looking a method up initialises the class: instrumented code must never be the first to do so.
            let begin = env.static_method(class, c"begin", c"()V")?;
            let _ = RUNTIME.set((env.new_global(class)?, begin));
        }
    }
    if !ON.swap(true, Ordering::AcqRel)
        && let Some((class, begin)) = RUNTIME.get()
    {
        // SAFETY: the method takes and returns nothing.
        unsafe { env.call_static_void(class.get(), *begin, &[])? };
    }
    Ok(Arc::new(Acquisitions))
}

/// Begins.
pub fn start(
    session: &'static Session,
    env: &mut Env<'_>,
    options: &Options,
    kind: &'static Kind,
) -> Result<(), Error> {
    start::prepare(session, env)?;
    let instrument = instrument(session, env, kind)?;
    start::insert(session, env, options, instrument)
}

/// Ends.
pub fn stop(session: &'static Session, env: &mut Env<'_>) -> Result<(), Error> {
    match ON.swap(false, Ordering::AcqRel) {
        true => start::take_out(session, env, Acquisitions::NAME),
        false => Ok(()),
    }
}
