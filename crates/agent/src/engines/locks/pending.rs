//! Threads that wait just now, by the number that they have in samples. A virtual thread may end its wait on another carrier
//! than the one it began it on.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use crate::locks::lock;
use crate::stacks::record::Here;

/// A thread that waits.
#[derive(Debug, Clone, Copy)]
pub struct Pending {
    pub here: Here,
    pub detail: u32,
    pub is_lock: bool,
    /// When the wait began, on the machine's monotonic clock.
    pub began: u64,
}

/// So that threads that begin and end their waits do not wait for each other here.
const SHARDS: usize = 64;

#[derive(Default)]
struct Shard {
    waits: HashMap<u32, Pending>,
    /// Those that wait to be notified, and since when.
    notifications: HashMap<u32, u64>,
}

static WAITING: LazyLock<[Mutex<Shard>; SHARDS]> =
    LazyLock::new(|| std::array::from_fn(|_| Mutex::default()));

fn with<T>(thread: u32, look: impl FnOnce(&mut Shard) -> T) -> Option<T> {
    WAITING.get(thread as usize % SHARDS).map(|shard| look(&mut lock(shard)))
}

/// The thread begins to wait.
pub fn put(thread: u32, pending: Pending) {
    with(thread, |shard| shard.waits.insert(thread, pending));
}

/// It has ended to.
pub fn take(thread: u32) -> Option<Pending> {
    with(thread, |shard| shard.waits.remove(&thread))?
}

/// The thread begins to wait to be notified.
pub fn begin(thread: u32, now: u64) {
    with(thread, |shard| shard.notifications.insert(thread, now));
}

/// It has ended to; returns when it began.
pub fn ended(thread: u32) -> Option<u64> {
    with(thread, |shard| shard.notifications.remove(&thread))?
}

/// Nobody is asked any more.
pub fn clear() {
    for shard in WAITING.iter() {
        *lock(shard) = Shard::default();
    }
}
