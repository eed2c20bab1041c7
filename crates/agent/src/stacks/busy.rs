//! Java threads that run: those that have used CPU time since they were last looked at.

use std::collections::HashMap;
use std::time::Instant;

use quipu_jvm::{Env, Thread};

use super::{Engine, wall};

/// Looks at threads, time and again. For a thread of ours.
pub struct Busy {
    engine: &'static Engine,
    /// CPU time that was used, by the number of the thread.
    seen: HashMap<u32, u64>,
    looked: Instant,
}

/// A thread that has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran {
    /// The number that it has as long as it is watched; no other thread gets it.
    pub id: u32,
    /// The kernel's id of it.
    pub tid: i32,
    /// Nanoseconds of CPU time that it has used since the last look.
    pub used: u64,
}

impl Busy {
    /// What threads have used so far does not count. The current thread is ours, and never told of.
    pub fn new() -> Option<Busy> {
        let engine = Engine::get()?;
        engine.forget_own_thread();
        let mut busy = Busy { engine, seen: HashMap::new(), looked: Instant::now() };
        busy.look();
        Some(busy)
    }

    /// The threads of those that are watched which have run since the last look.
    pub fn look(&mut self) -> Vec<Ran> {
        let elapsed = u64::try_from(self.looked.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.looked = Instant::now();
        let present = self.engine.threads.java();
        self.seen.retain(|id, _| present.binary_search_by_key(id, |thread| thread.0).is_ok());
        let seen = &mut self.seen;
        let ran = |&(id, _, tid): &(u32, u32, i32)| {
            let now = wall::cpu_time(tid)?;
            // One that is watched for the first time may be old.
            let used = seen.insert(id, now).map_or(now.min(elapsed), |before| now.saturating_sub(before));
            (used > 0).then_some(Ran { id, tid, used })
        };
        present.iter().filter_map(ran).collect()
    }

    /// Whether the thread with this number was there at the last look.
    pub fn knows(&self, id: u32) -> bool {
        self.seen.contains_key(&id)
    }

    /// A thread as Java has it, if it is still there.
    pub fn thread<'e>(&self, env: &Env<'e>, tid: i32) -> Option<Thread<'e>> {
        self.engine.threads.thread(env, tid)
    }
}

/// Nanoseconds of CPU time that a thread of this process has used; `None` if it is gone.
pub fn cpu_time(tid: i32) -> Option<u64> {
    wall::cpu_time(tid)
}
