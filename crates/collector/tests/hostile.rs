//! Twenty thousand damaged arenas: an answer for each, no panic, no memory out of proportion.
//!
//! One test in a program of its own, because it measures the memory of the whole process.

#[path = "support/arena.rs"]
mod arena;
#[path = "support/exercise.rs"]
mod exercise;

use arena::Arena;
use peak_alloc::PeakAlloc;
use quipu_arena::layout;
use quipu_arena::record::{Record, flag};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Something of everything: records of all kinds, two trees, sites, blocks, opaque methods.
fn sample() -> Vec<u8> {
    let mut log = Vec::new();
    for (id, name) in [(1u32, &b"a/B"[..]), (2, b"a/C$1")] {
        Record::Class { id, loader: 0, name, source: b"B.java" }.encode(&mut log);
    }
    for id in 1..6u32 {
        Record::Method {
            id,
            class: 1 + id % 2,
            flags: if id == 5 { flag::OPAQUE } else { 0 },
            per_call: id,
            name: &[b'm', b'0' + id as u8],
            descriptor: b"()V",
            lines: &[0, 0, 7, 0, 4, 0, 8, 0],
            sites: &[3, 0, 6, 0],
            blocks: &[0, 0, 5, 0, 1, 0, 9, 0, 2, 0, 0, 0],
            derived: &[5, 0, 0, 0],
            leaves: &[1, 0, 0, 0, 5, 0, 0, 0],
        }
        .encode(&mut log);
    }
    Record::Group { id: 1, is_virtual: 0, threads: 1, first: b"main", pattern: b"main" }.encode(&mut log);
    Record::Group { id: 2, is_virtual: 1, threads: 9, first: b"w-1", pattern: b"w-#" }.encode(&mut log);
    Record::Tree { id: 1, group: 1 }.encode(&mut log);
    Record::Tree { id: 2, group: 2 }.encode(&mut log);
    Record::Info { key: b"java.vm.name", value: b"a JVM" }.encode(&mut log);
    Record::Left { what: b"a/D", why: b"too long" }.encode(&mut log);
    let mut arena = Arena::new();
    arena.chunk(layout::CHUNK_LOG, 0, &log);
    arena.chain(1, &[0, 1, 2, 3, 2, 4]);
    arena.chain(2, &[0, 3, 3, 3, 1]);
    arena.0
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 8
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// Damages the bytes behind magic and version, which would only be refused.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(8) {
            // Most of the header's page is empty: aim at what is behind it more often.
            let from = if self.below(8) == 0 { 8 } else { layout::HEADER_SIZE as usize };
            let at = from + self.below(bytes.len() - from);
            match self.below(5) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = self.next() as u8,
                2 => {
                    // A whole field, with a value that lengths and ids are wrong with.
                    let at = at & !3;
                    let value = [0, 1, 0x7fff_ffff, u32::MAX, self.next() as u32 & 0xffff][self.below(5)];
                    if let Some(field) = bytes.get_mut(at..at + 4) {
                        field.copy_from_slice(&value.to_ne_bytes());
                    }
                }
                3 => {
                    let (to, length) = (from + self.below(bytes.len() - from), self.below(64));
                    let end = (at + length).min(bytes.len());
                    let copy = bytes[at..end].to_vec();
                    let end = (to + copy.len()).min(bytes.len());
                    bytes[to..end].copy_from_slice(&copy[..end - to]);
                }
                _ if self.below(4) == 0 => bytes.truncate(at.max(layout::HEADER_SIZE as usize + 1)),
                _ => {}
            }
        }
    }
}

#[test]
fn twenty_thousand_damaged_arenas() {
    let good = sample();
    let profile = quipu_collector::import::profile(&good).unwrap();
    assert_eq!((profile.threads().len(), &profile.meta.lost.len()), (2, &0), "{:?}", profile.meta.lost);
    assert!(profile.has_sites() && profile.methods().iter().any(|method| !method.blocks.is_empty()));

    let random = &mut Random(0x9e37_79b9_7f4a_7c15);
    let mut damaged = 0;
    for round in 0..20_000 {
        let mut bytes = good.clone();
        random.damage(&mut bytes);
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        assert!(exercise::exercise(&bytes), "round {round}: magic and version are right");
        let used = MEMORY.peak_usage() - before;
        // The table of block counts by method id is the one thing whose size is not that of the bytes.
        let most = 64 * bytes.len() + 4 * layout::MAX_METHODS as usize * 2;
        assert!(used < most, "round {round}: {used} bytes for {}", bytes.len());
        damaged += usize::from(!quipu_collector::import::profile(&bytes).unwrap().meta.lost.is_empty());
    }
    assert!(damaged > 5000, "the damage must reach the reader: it noticed {damaged}");
}
