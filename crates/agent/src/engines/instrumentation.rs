//! Kinds that rewrite classes: everything is counted, or sampled each time a thread has executed so many bytecodes. One of
//! them at a time, since a method is rewritten in one way.

use quipu_arena::layout::header;
use quipu_jvm::{Env, Thread};
use quipu_kinds::{Chosen, Kind};

use crate::bytecodes;
use crate::engine::Engine;
use crate::options::Options;
use crate::session::Session;
use crate::start;
use crate::tallies;

/// Rewritten classes.
pub struct Instrumentation {
    kind: &'static Kind,
    /// Whether methods take samples instead of counting.
    samples: bool,
}

/// Everything is counted.
pub static EXACT: Instrumentation = Instrumentation { kind: &quipu_kinds::EXACT, samples: false };
/// A sample every so many bytecodes.
pub static BYTECODES: Instrumentation = Instrumentation { kind: &quipu_kinds::BYTECODES, samples: true };

impl Instrumentation {
    fn is_on(&self, session: &Session) -> bool {
        let samples = session.plan().and_then(|plan| plan.counts().then(|| plan.samples_bytecodes()));
        samples == Some(self.samples)
    }
}

impl Engine for Instrumentation {
    fn kind(&self) -> &'static Kind {
        self.kind
    }

    fn start(&self, session: &'static Session, env: &mut Env<'_>, options: &Options) -> Result<(), String> {
        if self.is_on(session) {
            return self.change(session, env, self.kind.name(), &options.chosen);
        }
        if session.plan().is_some_and(|plan| plan.counts()) {
            return Err("exact and bytecodes cannot be on at the same time: stop the other first".to_owned());
        }
        start::instrument(session, env, options).map_err(|e| e.to_string())
    }

    fn change(
        &self,
        session: &'static Session,
        _: &mut Env<'_>,
        name: &str,
        chosen: &Chosen,
    ) -> Result<(), String> {
        if self.samples && name == self.kind.name() {
            if !self.is_on(session) {
                return Err("no samples are taken every so many bytecodes: start bytecodes first".to_owned());
            }
            chosen.number(name).into_iter().for_each(|every| bytecodes::set_granularity(session, every));
        }
        Ok(())
    }

    fn stop(&self, session: &'static Session, env: &mut Env<'_>) -> Result<(), String> {
        if !self.is_on(session) {
            return Ok(());
        }
        start::stop_counting(session, env).map_err(|e| e.to_string())
    }

    fn status(&self, session: &Session) -> Option<String> {
        let value = if self.samples { session.arena.read(header::EVERY).to_string() } else { String::new() };
        self.is_on(session).then_some(value)
    }

    fn thread_began(&self, env: &Env<'_>, thread: Thread<'_>) {
        // An exception here can only be a lack of memory; the thread is then not counted. Where threads have tallies or
        // stacks, it gets its own, whether they are used now or not.
        let _ = if self.samples { bytecodes::start_thread(env, thread) } else { tallies::start(env, thread) };
    }

    fn thread_ended(&self, env: &Env<'_>, thread: Thread<'_>) {
        // Its tree can go to the next one; that is not the business of both.
        if !self.samples {
            start::end_thread(env, thread);
        }
    }
}
