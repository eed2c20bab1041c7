//! Java threads that run: those that have used CPU time since they were last looked at.

use std::collections::HashMap;

use quipu_jvm::{Env, Thread};

use super::{Engine, wall};

/// Room for local references.
const REFERENCES: u16 = 4;

/// Looks at threads, time and again. For a thread of ours.
pub struct Busy {
    engine: &'static Engine,
    /// CPU time that was used, by the number of the thread.
    seen: HashMap<u32, u64>,
}

impl Busy {
    /// None was looked at yet. The current thread is ours, and never told of.
    pub fn new() -> Option<Busy> {
        let engine = Engine::get()?;
        engine.forget_own_thread();
        Some(Busy { engine, seen: HashMap::new() })
    }

    /// The kernel's ids of the threads of those that are watched which have run since the last look.
    pub fn look(&mut self) -> Vec<i32> {
        let present = self.engine.threads.java();
        self.seen.retain(|id, _| present.binary_search_by_key(id, |thread| thread.0).is_ok());
        let seen = &mut self.seen;
        let ran = |&(id, _, tid): &(u32, u32, i32)| {
            let cpu = wall::cpu_time(tid)?;
            // One that is new has run.
            (seen.insert(id, cpu) != Some(cpu)).then_some(tid)
        };
        present.iter().filter_map(ran).collect()
    }

    /// Does something with a thread as Java has it, if it is still there.
    pub fn with(&self, env: &mut Env<'_>, tid: i32, body: impl FnOnce(&Env<'_>, Thread<'_>)) {
        // Without memory for references, nothing is done.
        let _ = env.with_frame(REFERENCES, |env| {
            if let Some(thread) = self.engine.threads.thread(env, tid) {
                body(env, thread);
            }
        });
    }
}
