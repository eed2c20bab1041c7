//! On whose behalf threads work: sets of labels, by number, and the one of each thread where signal handlers see it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use quipu_arena::record::Record;
use quipu_arena::writer::ArenaWriter;

use super::memory::reserve;
use crate::locks::lock;

/// The kernel's ids of threads are below this (`PID_MAX_LIMIT` of 64-bit machines).
const MOST_THREADS: usize = 1 << 22;
/// Sets that are kept apart: a label that is different every time must not fill the arena.
const MOST_SETS: usize = 1 << 16;

/// The set of each thread, by the kernel's id; 0 is the empty one.
static CURRENT: OnceLock<Option<&'static [AtomicU32]>> = OnceLock::new();

/// A set: another one, with a label added.
type Key = (u32, String, String);

static SETS: Mutex<Option<HashMap<Key, u32>>> = Mutex::new(None);

/// The labels of a thread. For signal handlers.
pub fn of(tid: i32) -> u32 {
    let Some(Some(current)) = CURRENT.get() else { return 0 };
    slot(current, tid).map_or(0, |slot| slot.load(Ordering::Relaxed))
}

/// Adds a label to those of the current thread; returns what it had.
pub fn begin(arena: &ArenaWriter, key: &str, value: &str) -> u32 {
    let Some(slot) = own_slot() else { return 0 };
    let before = slot.load(Ordering::Relaxed);
    if let Some(set) = with(arena, before, key, value) {
        slot.store(set, Ordering::Relaxed);
    }
    before
}

/// The current thread has the labels that it had.
pub fn end(before: u32) {
    if let Some(slot) = own_slot() {
        slot.store(before, Ordering::Relaxed);
    }
}

/// A thread is gone; its id will be another's.
pub fn forget(tid: i32) {
    if let Some(Some(current)) = CURRENT.get()
        && let Some(slot) = slot(current, tid)
    {
        slot.store(0, Ordering::Relaxed);
    }
}

fn own_slot() -> Option<&'static AtomicU32> {
    let current = (*CURRENT.get_or_init(|| reserve(MOST_THREADS)))?;
    // SAFETY: a plain query.
    slot(current, unsafe { libc::gettid() })
}

fn slot(current: &'static [AtomicU32], tid: i32) -> Option<&'static AtomicU32> {
    current.get(usize::try_from(tid).ok()?)
}

/// The set of another with a label added; `None` if there are too many, or the arena is full.
fn with(arena: &ArenaWriter, before: u32, key: &str, value: &str) -> Option<u32> {
    let mut sets = lock(&SETS);
    let sets = sets.get_or_insert_default();
    let wanted = (before, key.to_owned(), value.to_owned());
    if let Some(&set) = sets.get(&wanted) {
        return Some(set);
    }
    if sets.len() >= MOST_SETS {
        return None;
    }
    let set = sets.len() as u32 + 1;
    arena.log(&Record::SampledLabel { set, before, key: key.as_bytes(), value: value.as_bytes() })?;
    sets.insert(wanted, set);
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_nested_and_the_same_are_one() {
        let path = std::env::temp_dir().join(format!("quipu-test-{}-labels", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let arena = ArenaWriter::create(&path, 1 << 20).unwrap();
        // SAFETY: a plain query.
        let tid = unsafe { libc::gettid() };
        assert_eq!(of(tid), 0);
        assert_eq!(begin(&arena, "request", "a"), 0);
        let outer = of(tid);
        assert_eq!(begin(&arena, "user", "b"), outer);
        let inner = of(tid);
        assert!(outer != 0 && inner != outer);
        end(outer);
        begin(&arena, "user", "b");
        assert_eq!(of(tid), inner, "the same again");
        std::thread::spawn(|| {
            // SAFETY: a plain query.
            assert_eq!(of(unsafe { libc::gettid() }), 0);
        })
        .join()
        .unwrap();
        end(0);
        assert_eq!(of(tid), 0);
        std::fs::remove_file(path).unwrap();
    }
}
