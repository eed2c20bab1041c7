//! Stacks by a clock: CPU time and elapsed time. They share what [`stacks`] has, and differ in what makes a sample due.

use quipu_jvm::{Class, Env, Thread};
use quipu_kinds::{Chosen, Kind};

use crate::engine::Engine;
use crate::options::Options;
use crate::session::Session;
use crate::stacks::{self, Wanted};
use crate::start;

/// Samples by one clock.
pub struct Clock {
    kind: &'static Kind,
    rate: fn(&mut Wanted) -> &mut Option<u32>,
}

/// By the CPU time that threads use.
pub static CPU: Clock = Clock { kind: &quipu_kinds::CPU, rate: |wanted| &mut wanted.cpu };
/// By the time that goes by.
pub static WALL: Clock = Clock { kind: &quipu_kinds::WALL, rate: |wanted| &mut wanted.wall };

impl Clock {
    /// Threads and classes are looked after by one of the two, for both.
    fn looks_after_threads(&self) -> bool {
        self.kind.name() == quipu_kinds::CPU.name()
    }

    fn set(&self, session: &'static Session, env: &mut Env<'_>, chosen: &Chosen) -> Result<(), String> {
        let mut wanted = stacks::current();
        *(self.rate)(&mut wanted) = chosen.number(self.kind.name()).and_then(|rate| u32::try_from(rate).ok());
        wanted.threads = chosen.all("threads").map(str::to_owned).collect();
        start::sample(session, env, &wanted)
    }
}

impl Engine for Clock {
    fn kind(&self) -> &'static Kind {
        self.kind
    }

    fn start(&self, session: &'static Session, env: &mut Env<'_>, options: &Options) -> Result<(), String> {
        let running = stacks::current();
        let mut chosen = options.chosen.clone();
        if running.any() {
            // Threads may have been chosen again since the profile began; the clocks have the same ones.
            chosen.leave_out("threads");
            for name in &running.threads {
                chosen.set("threads", name).map_err(|wrong| wrong.0)?;
            }
        }
        self.set(session, env, &chosen)
    }

    fn change(
        &self,
        session: &'static Session,
        env: &mut Env<'_>,
        name: &str,
        chosen: &Chosen,
    ) -> Result<(), String> {
        let concerned = name == self.kind.name() || (name == "threads" && self.status(session).is_some());
        if concerned { self.set(session, env, chosen) } else { Ok(()) }
    }

    fn stop(&self, session: &'static Session, env: &mut Env<'_>) -> Result<(), String> {
        let mut wanted = stacks::current();
        *(self.rate)(&mut wanted) = None;
        start::sample(session, env, &wanted)
    }

    fn status(&self, _: &Session) -> Option<String> {
        (self.rate)(&mut stacks::current()).map(|rate| rate.to_string())
    }

    fn thread_began(&self, env: &Env<'_>, thread: Thread<'_>) {
        if self.looks_after_threads() && !env.is_virtual(thread) {
            stacks::thread_began(env, thread);
        }
    }

    fn thread_ended(&self, env: &Env<'_>, thread: Thread<'_>) {
        if self.looks_after_threads() && !env.is_virtual(thread) {
            stacks::thread_ended();
        }
    }

    fn class_prepared(&self, class: Class<'_>) {
        if self.looks_after_threads() {
            stacks::class_prepared(class);
        }
    }
}
