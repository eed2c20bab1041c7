//! Stacks as a tree of contexts that many signal handlers grow at once, without a lock.
//!
//! A hash table leads from (caller, code, place) to the context in the arena. Handlers only ever add to it, with one
//! compare-and-swap; an ordinary thread puts a larger table in place in time. What is added to the old table meanwhile
//! may be missing from the new one, and is then made again: two contexts that are the same become one when the profile
//! is built, so that costs a little memory and no truth.

use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use quipu_arena::append::{Appender, Context};
use quipu_arena::layout::frame;
use quipu_arena::writer::ArenaWriter;

use super::names::Names;

/// Entries of the first table.
const FIRST: usize = 1 << 14;
/// The largest table: 64 MB, for 12 million contexts.
const LARGEST: usize = 1 << 24;
/// How far a handler looks before it gives up; a table that is half full needs a handful.
const PROBES: usize = 256;

/// The contexts met so far.
pub struct Contexts {
    appender: Appender,
    table: AtomicPtr<Table>,
    count: AtomicU32,
    names: Names,
}

/// A power of two of context ids; 0 where there is none.
struct Table(Box<[AtomicU32]>);

impl Table {
    fn new(size: usize) -> Table {
        Table((0..size).map(|_| AtomicU32::new(0)).collect())
    }
}

impl Contexts {
    /// None yet; what methods in them are called goes to `names`.
    pub fn new(names: Names) -> Contexts {
        let table = AtomicPtr::new(Box::into_raw(Box::new(Table::new(FIRST))));
        Contexts { appender: Appender::contexts(), table, count: AtomicU32::new(0), names }
    }

    /// Names of methods in contexts.
    pub fn names(&self) -> &Names {
        &self.names
    }

    fn table(&self) -> &Table {
        // SAFETY: the pointer is always that of a table, and tables are never freed.
        unsafe { &*self.table.load(Ordering::Acquire) }
    }

    /// The context of `wanted`, made if it is not there; `None` if there is no room. For signal handlers.
    pub fn find(&self, arena: &ArenaWriter, wanted: Context) -> Option<u32> {
        let Table(entries) = self.table();
        let mask = entries.len() - 1;
        let mut at = hash(wanted) as usize;
        let mut made = None;
        for _ in 0..PROBES {
            at &= mask;
            let entry = entries.get(at)?;
            let mut id = entry.load(Ordering::Acquire);
            if id == 0 {
                let new = match made {
                    Some(new) => new,
                    None => arena.append_context(&self.appender, wanted)?,
                };
                match entry.compare_exchange(0, new, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => {
                        self.count.fetch_add(1, Ordering::Relaxed);
                        if (frame::JAVA..=frame::NATIVE).contains(&(wanted.place >> 24)) {
                            self.names.met(wanted.code);
                        }
                        return Some(new);
                    }
                    // Another handler was faster, perhaps with the very same.
                    Err(theirs) => {
                        made = Some(new);
                        id = theirs;
                    }
                }
            }
            if arena.context(id) == wanted {
                return Some(id);
            }
            at += 1;
        }
        None
    }

    /// The context of `wanted`, if it is there. For signal handlers.
    pub fn known(&self, arena: &ArenaWriter, wanted: Context) -> Option<u32> {
        let Table(entries) = self.table();
        let begin = hash(wanted) as usize;
        let places = (begin..begin.saturating_add(PROBES)).map(|at| at & (entries.len() - 1));
        let mut ids =
            places.map_while(|at| Some(entries.get(at)?.load(Ordering::Acquire)).filter(|&id| id != 0));
        ids.find(|&id| arena.context(id) == wanted)
    }

    /// Whether [`Contexts::upkeep`] has something to do soon.
    pub fn wants(&self) -> bool {
        self.appender.wants() || self.crowded() || self.names.wants()
    }

    fn crowded(&self) -> bool {
        let size = self.table().0.len();
        size < LARGEST && self.count.load(Ordering::Relaxed) as usize > size / 2
    }

    /// Makes room ahead of the handlers; new chunks are told in `made`. Called by one thread at a time.
    pub fn upkeep(&self, arena: &ArenaWriter, made: &mut Vec<u64>) -> bool {
        let room = arena.provide(&self.appender, made);
        if self.crowded() {
            let Table(old) = self.table();
            let new = Table::new(old.len() * 4);
            let mask = new.0.len() - 1;
            for id in old.iter().map(|entry| entry.load(Ordering::Acquire)).filter(|&id| id != 0) {
                let mut at = hash(arena.context(id)) as usize & mask;
                while let Some(entry) = new.0.get(at) {
                    if entry.load(Ordering::Relaxed) == 0 {
                        entry.store(id, Ordering::Relaxed);
                        break;
                    }
                    at = (at + 1) & mask;
                }
            }
            // The old one stays: a handler may be looking into it. All old ones together are a third of the new.
            self.table.store(Box::into_raw(Box::new(new)), Ordering::Release);
        }
        room
    }

    /// Whether a chunk of contexts is full.
    pub fn is_full(&self, arena: &ArenaWriter, chunk: u64) -> bool {
        arena.is_full(&self.appender, chunk)
    }
}

fn hash(context: Context) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = context.code.wrapping_mul(ODD);
    hash = (hash.rotate_left(29) ^ u64::from(context.parent)).wrapping_mul(ODD);
    hash = (hash.rotate_left(29) ^ u64::from(context.place)).wrapping_mul(ODD);
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_found_again_whatever_the_table() {
        let path = std::env::temp_dir().join(format!("quipu-test-{}-contexts", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let arena = ArenaWriter::create(&path, 64 << 20).unwrap();
        let contexts = Contexts::new(Names::new(None).unwrap());
        let one = |code| Context { code, parent: 0, place: 1 };
        assert_eq!(contexts.find(&arena, one(1)), None, "no room yet");
        assert!(contexts.upkeep(&arena, &mut Vec::new()));
        let first = contexts.find(&arena, one(1)).unwrap();
        for code in 1..40_000 {
            if contexts.wants() {
                contexts.upkeep(&arena, &mut Vec::new());
            }
            assert!(contexts.find(&arena, one(code)).is_some());
        }
        assert_eq!(contexts.find(&arena, one(1)), Some(first));
        assert_ne!(contexts.find(&arena, Context { parent: first, ..one(1) }), Some(first));
        std::fs::remove_file(path).unwrap();
    }
}
