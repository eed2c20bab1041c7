//! Names of virtual threads, from the signal handlers that meet them to the log.
//!
//! A handler writes a name into the entry of its thread's id, unless it is there already or somebody else's has not
//! been told yet; then it is written at another sample. Our own thread tells what is new.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use quipu_arena::layout::VIRTUAL;
use quipu_arena::record::Record;
use quipu_arena::writer::ArenaWriter;

use super::memory::{Zeroed, reserve};
use super::threads::group_of;

/// Virtual threads whose names can be waiting to be told.
const ENTRIES: usize = 4096;
/// Bytes of a name; the rest is cut off.
const LONGEST: usize = 104;

/// States of an entry.
mod state {
    pub const FREE: u32 = 0;
    pub const BUSY: u32 = 1;
    pub const NEW: u32 = 2;
}

struct Entry {
    /// Whose name it is, or was.
    id: AtomicU64,
    state: AtomicU32,
    length: AtomicU32,
    name: UnsafeCell<[u8; LONGEST]>,
}

// SAFETY: `name` is touched only by the one who made the entry busy.
unsafe impl Sync for Entry {}
// SAFETY: atomics and bytes.
unsafe impl Zeroed for Entry {}

/// The names.
pub struct VirtualThreads(&'static [Entry]);

/// The number that a virtual thread has in samples.
pub fn number(id: u64) -> u32 {
    VIRTUAL | id as u32
}

impl VirtualThreads {
    /// None yet; `None` without memory.
    pub fn new() -> Option<VirtualThreads> {
        reserve(ENTRIES).map(VirtualThreads)
    }

    /// A virtual thread was met; `name` writes its name and says how long it is, if it can. For signal handlers.
    pub fn met(&self, id: u64, name: impl FnOnce(&mut [u8]) -> Option<usize>) {
        let Some(entry) = self.0.get(id as usize % ENTRIES) else { return };
        if entry.id.load(Ordering::Acquire) == id
            || entry
                .state
                .compare_exchange(state::FREE, state::BUSY, Ordering::Acquire, Ordering::Relaxed)
                .is_err()
        {
            return;
        }
        // SAFETY: the entry is ours while it is busy.
        let room = unsafe { &mut *entry.name.get() };
        let Some(length) = name(room) else { return entry.state.store(state::FREE, Ordering::Release) };
        let length = length.min(LONGEST);
        entry.length.store(length as u32, Ordering::Relaxed);
        entry.id.store(id, Ordering::Release);
        entry.state.store(state::NEW, Ordering::Release);
    }

    /// Tells the names that are new.
    pub fn tell(&self, arena: &ArenaWriter) {
        for entry in self.0 {
            if entry
                .state
                .compare_exchange(state::NEW, state::BUSY, Ordering::Acquire, Ordering::Relaxed)
                .is_err()
            {
                continue;
            }
            // SAFETY: the entry is ours while it is busy.
            let name = unsafe { &*entry.name.get() };
            let name = name.get(..entry.length.load(Ordering::Relaxed) as usize).unwrap_or_default();
            let id = number(entry.id.load(Ordering::Relaxed));
            // When the arena is full, the thread stays nameless.
            let group = group_of(arena, name, true);
            let _ = arena.log(&Record::SampledThread { id, java: 2, tid: 0, group, name });
            entry.state.store(state::FREE, Ordering::Release);
        }
    }
}
