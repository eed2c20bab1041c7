//! Tallies, on the target's side: address space for all of them is reserved when the first is needed, pages are given to
//! the file as ids are handed out. So inserted code can count without looking whether there is room.
#![allow(unsafe_code)] // Maps a file that the JVM's threads write to as well; see each block.

use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;

use crate::layout::{header, tally};
use crate::writer::ArenaWriter;

/// Where the tallies are, and how many.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    /// Address of the first; 0 while there is none.
    base: usize,
    count: u64,
    /// Bytes of each that have pages.
    used: u64,
}

impl Tallies {
    /// Bytes that have pages behind them.
    pub(crate) fn committed(&self) -> u64 {
        self.count * self.used
    }
}

impl ArenaWriter {
    /// A new tally for a root of a tree, or, for tree 0, one that is never read; returns its address. `None` if the limit or
    /// the disk has no room for it.
    pub fn add_tally(&self, tree: u32, root: u32) -> Option<*mut u8> {
        let mut tallies = self.tallies();
        if tallies.base == 0 {
            tallies.base = self.map_tallies()?;
            tallies.used = tally::STEP;
        }
        let at = tallies.count * tally::STRIDE;
        let used = tallies.used;
        let room = tallies.count < tally::MOST
            && self.has_room(tallies.committed() + used)
            && self.allocate_pages(self.limit() + at, self.limit() + at + used);
        if !room {
            return None;
        }
        let address = (tallies.base as *mut u8).wrapping_add(at as usize);
        // SAFETY: the pages were given to the file just now; no other thread has the address yet, and a reader waits for the
        // number of tallies.
        unsafe {
            address.add(tally::TREE as usize).cast::<u32>().write(tree);
            address.add(tally::ROOT as usize).cast::<u32>().write(root);
        }
        tallies.count += 1;
        self.long(header::TALLY_USED).store(used, Ordering::Relaxed);
        self.long(header::TALLIES).store(tallies.count, Ordering::Release);
        Some(address)
    }

    /// Makes sure that methods with ids below `ids` have a cell in every tally, now and later.
    pub fn cover(&self, ids: u32) -> bool {
        if ids > tally::METHODS {
            return false;
        }
        let mut tallies = self.tallies();
        let needed = (u64::from(ids) * tally::CELL).next_multiple_of(tally::STEP);
        if needed <= tallies.used {
            return true;
        }
        if tallies.base != 0 {
            if !self.has_room(tallies.count * needed) {
                return false;
            }
            for i in 0..tallies.count {
                let at = self.limit() + i * tally::STRIDE;
                if !self.allocate_pages(at + tallies.used, at + needed) {
                    return false;
                }
            }
            self.long(header::TALLY_USED).store(needed, Ordering::Release);
            tallies.used = needed;
        }
        true
    }

    /// Sets the cells of all tallies to zero.
    pub(crate) fn forget_tallies(&self) {
        let tallies = self.tallies();
        let first = tallies.base as *mut u8;
        for i in 0..tallies.count {
            let cells = first.wrapping_add((i * tally::STRIDE + tally::CELL) as usize);
            // SAFETY: this part of the tally has pages; the VM's code, which may count there, is nothing that Rust knows of.
            unsafe { std::ptr::write_bytes(cells, 0, (tallies.used - tally::CELL) as usize) };
        }
    }

    fn map_tallies(&self) -> Option<usize> {
        let length = tally::STRIDE * tally::MOST;
        self.file().set_len(self.limit() + length).ok()?;
        let at = libc::off_t::try_from(self.limit()).ok()?;
        // SAFETY: a fresh shared mapping of our own file, at an address of the kernel's choice. It is never unmapped.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                self.file().as_raw_fd(),
                at,
            )
        };
        (base != libc::MAP_FAILED).then_some(base as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

    #[test]
    fn tallies_grow_together_within_the_limit() {
        let path = std::env::temp_dir().join(format!("quipu-test-{}-tally", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let arena = ArenaWriter::create(&path, 8 << 20).unwrap();
        arena.log(&Record::Info { key: b"k", value: b"v" }).unwrap();
        let first = arena.add_tally(1, 0).unwrap();
        let second = arena.add_tally(2, 1).unwrap();
        assert_eq!(second as usize - first as usize, tally::STRIDE as usize);
        assert!(arena.cover(100_000), "3.2 MB in 8 MB");
        // SAFETY: the cell of a method below what was just covered.
        unsafe { second.add(99_999 * tally::CELL as usize).cast::<u64>().write(7) };
        assert!(!arena.cover(200_000), "two tallies of 3.2 MB and 4 MB of chunks do not fit into 8 MB");
        assert!(!arena.cover(tally::METHODS + 1), "no tally has a cell for it");
        let more = (0..10).filter(|_| arena.add_tally(3, 0).is_some()).count();
        assert_eq!(more, 0, "a third tally does not fit");
        assert!(arena.commit(4 << 20));
        assert!(!arena.commit(6 << 20), "chunks do not get what tallies have");
        std::fs::remove_file(path).unwrap();
    }
}
