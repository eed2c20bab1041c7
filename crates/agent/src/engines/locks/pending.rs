//! Threads that wait, by the number that they have in samples. A virtual thread may end its wait on another carrier than the one
//! it began it on.
//!
//! A thread that waits very often does not have its stack walked each time: of so many waits one is chosen, by chance, and those
//! that follow it for the same lock have its context. Each is counted all the same, with its own time. The chance is such that a
//! thread has [`STACKS`] walks a second; one that waits less often has all.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use crate::locks::lock;
use crate::stacks::record::Here;

/// A thread that waits.
#[derive(Debug, Clone, Copy)]
pub struct Pending {
    pub here: Here,
    /// Whether that is where it is now, and not where it was when it waited for the same lock before.
    pub is_fresh: bool,
    /// Whether it keeps the carrier that it runs on.
    pub pins: bool,
    /// Whether its end may come without anybody being told.
    pub is_unseen: bool,
    pub detail: u32,
    pub is_lock: bool,
    /// Where the lock is held, if that was looked up.
    pub held: Option<Here>,
    /// Tells one attempt to get a lock from the next: a thread may have to park several times for one. 0 if it is not known.
    pub attempt: u32,
    /// When the wait began, on the machine's monotonic clock.
    pub began: u64,
}

/// Stacks of a thread that waits very often, in a second.
const STACKS: u64 = 1000;
const BETWEEN: u64 = 1_000_000_000 / STACKS;
/// A thread that had no stack walked for so long does not wait often.
const SELDOM: u64 = 4 * BETWEEN;
/// Locks for which a thread's context is kept.
const CONTEXTS: usize = 16;
/// Threads in one part that are kept in mind while they do not wait.
const IDLE: usize = 1024;
/// So that threads that begin and end their waits do not wait for each other here.
const SHARDS: usize = 256;

/// What is known of one thread.
#[derive(Default)]
struct Waits {
    now: Option<Pending>,
    /// Since when it waits to be notified.
    notification: Option<u64>,
    /// The attempt that was counted last.
    counted: u32,
    /// Where it was when it waited for a lock, the latest last.
    contexts: Vec<(u32, Here)>,
    chosen: Chosen,
}

/// Which waits have their stacks walked.
#[derive(Default)]
struct Chosen {
    /// When the last one was.
    at: u64,
    /// Waits since.
    since: u32,
    /// Waits that go without one as yet.
    skip: u32,
    random: u64,
}

impl Chosen {
    /// Whether this wait is chosen.
    fn next(&mut self, now: u64) -> bool {
        self.since = self.since.saturating_add(1);
        let passed = now.saturating_sub(self.at);
        // It waited often, and does so no more.
        if self.skip > 0 && passed < SELDOM {
            self.skip -= 1;
            return false;
        }
        let waits = u64::from(self.since);
        // As many waits as there would be from one stack to the next, if there were as many as now.
        let between = BETWEEN.saturating_mul(waits) / passed.max(1);
        self.random = (self.random | 1).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(now | 1);
        // From none to twice as many: chosen by chance, so that no pattern of the program's is met again and again.
        self.skip = u32::try_from((self.random >> 33) % (2 * between + 1)).unwrap_or(0);
        if passed >= BETWEEN && waits == 1 {
            self.skip = 0;
        }
        (self.at, self.since) = (now, 0);
        true
    }
}

type Shard = HashMap<u32, Waits>;

static WAITING: LazyLock<Box<[Mutex<Shard>]>> =
    LazyLock::new(|| (0..SHARDS).map(|_| Mutex::default()).collect());

fn with<T: Default>(thread: u32, look: impl FnOnce(&mut Waits) -> T) -> T {
    let Some(shard) = WAITING.get(thread as usize % SHARDS) else { return T::default() };
    let mut shard = lock(shard);
    if shard.len() >= IDLE && !shard.contains_key(&thread) {
        shard.retain(|_, waits| waits.now.is_some() || waits.notification.is_some());
    }
    look(shard.entry(thread).or_default())
}

/// Where the thread is that is about to wait, if that need not be looked up.
pub fn known(thread: u32, detail: u32, now: u64) -> Option<Here> {
    with(thread, |waits| {
        let chosen = waits.chosen.next(now);
        let known = waits.contexts.iter().find(|(of, _)| *of == detail).map(|(_, here)| *here);
        known.filter(|_| !chosen)
    })
}

/// The thread begins to wait.
pub fn put(thread: u32, pending: Pending) {
    with(thread, |waits| {
        if pending.is_fresh {
            waits.contexts.retain(|(of, _)| *of != pending.detail);
            if waits.contexts.len() >= CONTEXTS {
                waits.contexts.remove(0);
            }
            waits.contexts.push((pending.detail, pending.here));
        }
        waits.now = Some(pending);
    });
}

/// It has ended to. Also says how many waits that is: none if it goes on with an attempt that was counted.
pub fn take(thread: u32, counts: impl FnOnce(&Pending) -> bool) -> Option<(Pending, u32)> {
    with(thread, |waits| waits.take(counts))
}

/// Threads that still wait, as if they had ended to.
pub fn drain(counts: impl Fn(&Pending) -> bool) -> Vec<(Pending, u32)> {
    let shards = WAITING.iter().flat_map(|shard| {
        let mut shard = lock(shard);
        shard.values_mut().filter_map(|waits| waits.take(&counts)).collect::<Vec<_>>()
    });
    shards.collect()
}

impl Waits {
    fn take(&mut self, counts: impl FnOnce(&Pending) -> bool) -> Option<(Pending, u32)> {
        let pending = self.now.take().filter(counts)?;
        let is_same = pending.attempt != 0 && pending.attempt == self.counted;
        self.counted = pending.attempt;
        Some((pending, u32::from(!is_same)))
    }
}

/// The thread begins to wait to be notified.
pub fn begin(thread: u32, now: u64) {
    with(thread, |waits| waits.notification = Some(now));
}

/// It has ended to; returns when it began.
pub fn ended(thread: u32) -> Option<u64> {
    with(thread, |waits| waits.notification.take())
}

/// The thread is no more.
pub fn forget(thread: u32) {
    if let Some(shard) = WAITING.get(thread as usize % SHARDS) {
        lock(shard).remove(&thread);
    }
}

/// Nobody is asked any more.
pub fn clear() {
    for shard in WAITING.iter() {
        *lock(shard) = Shard::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many waits are chosen, each so many nanoseconds after the one before.
    fn chosen(waits: u64, apart: u64) -> u64 {
        let mut chosen = Chosen::default();
        (1..=waits).filter(|i| chosen.next(1_000_000_000 + i * apart)).count() as u64
    }

    #[test]
    fn who_waits_seldom_has_every_stack_walked() {
        assert_eq!(chosen(1000, 2 * BETWEEN), 1000);
        assert_eq!(chosen(1000, BETWEEN), 1000);
    }

    #[test]
    fn who_waited_often_and_does_no_more_has_all() {
        let mut chosen = Chosen::default();
        let often = (1..=1000).filter(|i| chosen.next(1_000_000_000 + i * 1000)).count();
        assert!(often < 1000);
        assert!((1..=100).all(|i| chosen.next(1_001_000_000 + i * 2 * SELDOM)));
    }

    #[test]
    fn who_waits_often_has_some() {
        // 100,000 waits in a second, and a million.
        for waits in [100_000, 1_000_000] {
            let found = chosen(waits, 1_000_000_000 / waits);
            assert!((STACKS / 2..=STACKS * 2).contains(&found), "{found} of {waits}");
        }
    }

    #[test]
    fn one_attempt_is_one_wait() {
        let here = Here { context: 1, thread: 1, labels: 0 };
        let pending = |attempt| Pending {
            here,
            is_fresh: true,
            pins: false,
            is_unseen: false,
            detail: 1,
            is_lock: true,
            held: None,
            attempt,
            began: 1,
        };
        let thread = 1_000_001;
        let counted = |attempt, counts: bool| {
            put(thread, pending(attempt));
            take(thread, |_| counts).map(|(_, count)| count)
        };
        assert_eq!(counted(5, false), None, "shorter than the threshold");
        assert_eq!((counted(5, true), counted(5, true), counted(6, true)), (Some(1), Some(0), Some(1)));
        assert_eq!((counted(0, true), counted(0, true)), (Some(1), Some(1)), "it is not known");
        put(thread, pending(9));
        assert_eq!(drain(|_| true).len(), 1, "it still waits");
        assert_eq!(take(thread, |_| true).map(|(_, count)| count), None, "it was counted");
        forget(thread);
    }
}
