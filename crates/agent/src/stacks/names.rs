//! Names of methods, read while their frames are on a stack.
//!
//! A class cannot be unloaded while one of its methods runs, so whoever meets a method first reads its names, there and
//! then, in a signal handler if need be. Afterwards nobody has to ask what an id was: JVMTI would follow one whose class is
//! gone to wherever it leads. Our own thread tells the names; for those that there was no room for it reads them itself,
//! if they are still there.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use quipu_jvm::hotspot::{MethodNames, Named};

use super::memory::{Zeroed, reserve};

/// Names that can be waiting to be told: a program that starts, with deep stacks at 1,000 samples a second, has met some
/// 1,500 new methods between two rounds of our thread.
const ENTRIES: usize = 4096;
/// Bytes of a method's names; longer ones are left to our thread.
const LONGEST: usize = 472;
/// Methods of which it is remembered that their names were read. One that is forgotten is read again, which harms nothing.
const REMEMBERED: usize = 1 << 14;
/// Entries that a handler looks at for a free one.
const PROBES: usize = 8;

/// States of an entry.
mod state {
    pub const FREE: u32 = 0;
    pub const BUSY: u32 = 1;
    pub const NEW: u32 = 2;
}

struct Entry {
    state: AtomicU32,
    names: UnsafeCell<Noted>,
}

struct Noted {
    code: u64,
    named: Named,
    room: [u8; LONGEST],
}

// SAFETY: `names` is touched only by the one who made the entry busy.
unsafe impl Sync for Entry {}
// SAFETY: an atomic, numbers and bytes, and `false`.
unsafe impl Zeroed for Entry {}
// SAFETY: an atomic.
unsafe impl Zeroed for AtomicU64 {}

/// The names.
pub struct Names {
    reader: Option<MethodNames>,
    entries: &'static [Entry],
    remembered: &'static [AtomicU64],
    next: AtomicUsize,
    waiting: AtomicUsize,
}

impl Names {
    /// None yet; they are read by `reader`, if this VM can be read from. `None` without memory.
    pub fn new(reader: Option<MethodNames>) -> Option<Names> {
        Some(Names {
            reader,
            entries: reserve(ENTRIES)?,
            remembered: reserve(REMEMBERED)?,
            next: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
        })
    }

    /// Who reads names, unless JVMTI must be asked.
    pub fn reader(&self) -> Option<&MethodNames> {
        self.reader.as_ref()
    }

    /// A method was met on a stack. For signal handlers.
    pub fn met(&self, code: u64) {
        let (Some(reader), Ok(id)) = (&self.reader, usize::try_from(code)) else { return };
        self.note(code, |room| reader.read(id, room));
    }

    fn note(&self, code: u64, read: impl FnOnce(&mut [u8]) -> Option<Named>) {
        let Some(remembered) = self.remembered.get((code >> 3) as usize % REMEMBERED) else { return };
        if remembered.load(Ordering::Relaxed) == code {
            return;
        }
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let free = |i: usize| {
            self.entries.get((first + i) % ENTRIES).filter(|entry| {
                let state = &entry.state;
                state.compare_exchange(state::FREE, state::BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok()
            })
        };
        let Some(entry) = (0..PROBES).find_map(free) else { return };
        // SAFETY: the entry is ours while it is busy.
        let noted = unsafe { &mut *entry.names.get() };
        let Some(named) = read(&mut noted.room) else {
            return entry.state.store(state::FREE, Ordering::Release);
        };
        (noted.code, noted.named) = (code, named);
        entry.state.store(state::NEW, Ordering::Release);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        remembered.store(code, Ordering::Relaxed);
    }

    /// Whether [`Names::take`] should be called soon.
    pub fn wants(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > ENTRIES / 4
    }

    /// Takes all names that wait: id, names and the room they are in.
    pub fn take(&self, mut tell: impl FnMut(u64, &Named, &[u8])) {
        for entry in self.entries {
            let state = &entry.state;
            if state.load(Ordering::Relaxed) != state::NEW
                || state
                    .compare_exchange(state::NEW, state::BUSY, Ordering::Acquire, Ordering::Relaxed)
                    .is_err()
            {
                continue;
            }
            // SAFETY: the entry is ours while it is busy.
            let noted = unsafe { &*entry.names.get() };
            tell(noted.code, &noted.named, &noted.room);
            state.store(state::FREE, Ordering::Release);
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(names: &Names) -> Vec<u64> {
        let mut codes = Vec::new();
        names.take(|code, _, _| codes.push(code));
        codes.sort_unstable();
        codes
    }

    #[test]
    fn what_was_read_is_told_once_and_what_there_was_no_room_for_is_read_again() {
        let names = Names::new(None).unwrap();
        let read = |_: &mut [u8]| Some(Named::default());
        for code in [8, 16, 8, 16, 8] {
            names.note(code, read);
        }
        names.note(24, |_| None);
        assert_eq!(taken(&names), [8, 16]);
        assert_eq!(taken(&names), []);
        // More than there is room for: nothing is told twice, and what was not taken can come later.
        let all: Vec<u64> =
            (1..=ENTRIES as u64 + 100).map(|i| i * 8 + 1000 * 8 * REMEMBERED as u64).collect();
        all.iter().for_each(|&code| names.note(code, read));
        assert!(names.wants());
        let first = taken(&names);
        assert!(first.len() <= ENTRIES && first.len() >= ENTRIES - PROBES, "{}", first.len());
        assert!(!names.wants());
        all.iter().for_each(|&code| names.note(code, read));
        let mut both = [first, taken(&names)].concat();
        both.sort_unstable();
        assert_eq!(both, all);
    }
}
