//! Ledgers: what instructions that are told apart have done, in which contexts.

use std::collections::HashSet;

use super::Contents;
use crate::layout::{self, chunk, ledger};

/// What one instruction has done on one thread, in one context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Its offset in the arena.
    pub at: u64,
    /// The tree of the thread.
    pub tree: u32,
    /// The instruction, as a [`crate::record::Record::Site`] names it.
    pub site: u32,
    /// Offset of the slot that was published; 0 if contexts are not kept.
    pub slot: u64,
    /// How often it was executed.
    pub count: u64,
    /// What was added up.
    pub value: u64,
}

impl Contents<'_> {
    /// Reads all ledgers but those that others stand in for.
    pub(super) fn read_ledgers(&mut self, chunks: &[(u64, u64, u32)]) {
        let replaced: HashSet<u64> =
            chunks.iter().filter_map(|&(at, ..)| self.bytes.u64(at + chunk::REPLACES)).collect();
        for &(at, end, tree) in chunks.iter().filter(|(at, ..)| !replaced.contains(at)) {
            let entries = (at + chunk::HEADER..end).step_by(ledger::SIZE as usize);
            self.ledgers.extend(entries.filter_map(|at| {
                let entry = Entry {
                    at,
                    tree,
                    site: self.bytes.u32(at + ledger::SITE)?,
                    slot: u64::from(self.bytes.u32(at + ledger::SLOT)?) * layout::LINK_UNIT,
                    count: self.bytes.u64(at + ledger::COUNT)?,
                    value: self.bytes.u64(at + ledger::VALUE)?,
                };
                (entry.site != 0 && entry.count | entry.value != 0).then_some(entry)
            }));
        }
    }
}

#[cfg(test)]
#[allow(unsafe_code, reason = "what the thread of a ledger does is done by hand")]
mod tests {
    use super::*;
    use crate::writer::ArenaWriter;

    #[test]
    fn a_ledger_stands_in_for_the_one_that_it_replaces() {
        let path = std::env::temp_dir().join(format!("quipu-test-{}-ledger", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let arena = ArenaWriter::create(&path, 8 << 20).unwrap();
        let offset = |address: *mut u8| address as u64 - arena.base() as u64;
        let fill = |address: *mut u8, count: u64| {
            // SAFETY: a chunk with room for an entry, which nothing else writes to.
            unsafe {
                let entry = address.add(chunk::HEADER as usize);
                entry.cast::<[u32; 2]>().write([7, 100]);
                entry.add(ledger::COUNT as usize).cast::<[u64; 2]>().write([count, 64]);
            }
        };
        let publish = |address: *mut u8| {
            // SAFETY: the first word of a chunk of ours.
            unsafe { address.add(chunk::KIND as usize).cast::<u32>().write(layout::CHUNK_LEDGER) }
        };
        let counts = || {
            let bytes = std::fs::read(&path).unwrap();
            let contents = Contents::read(&bytes).unwrap();
            assert!(contents.ledgers.iter().all(|entry| (entry.tree, entry.site, entry.slot) == (3, 7, 800)));
            contents.ledgers.iter().map(|entry| entry.count).collect::<Vec<_>>()
        };
        let first = arena.add_ledger(3, 2, 0).unwrap();
        fill(first, 5);
        assert_eq!(counts(), [], "it is not ready");
        publish(first);
        assert_eq!(counts(), [5]);
        let second = arena.add_ledger(3, 4, offset(first)).unwrap();
        fill(second, 5);
        assert_eq!(counts(), [5]);
        publish(second);
        fill(second, 6);
        assert_eq!(counts(), [6], "the first has ended");
        arena.forget(&[], &|_| 0);
        assert_eq!(counts(), []);
        std::fs::remove_file(path).unwrap();
    }
}
