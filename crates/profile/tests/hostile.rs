//! Ten thousand damaged files: an answer for each, no panic, no memory out of proportion.
//!
//! One test in a program of its own, because it measures the memory of the whole process.

mod common;

use common::exercise::{Section, assemble};
use peak_alloc::PeakAlloc;
use quipu_profile::{Contents, Profile, ReadError};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

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

    /// Bytes that decoders find interesting more often than not.
    fn byte(&mut self) -> u8 {
        match self.below(4) {
            0 => 0xff,
            1 => 0x80 | self.next() as u8,
            2 => self.below(4) as u8,
            _ => self.next() as u8,
        }
    }

    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(6) {
                0 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                1 if !bytes.is_empty() => bytes[at] = self.byte(),
                2 => bytes.truncate(at),
                3 => bytes.insert(at, self.byte()),
                4 if !bytes.is_empty() => drop(bytes.remove(at)),
                _ => {
                    let to = (at + self.below(40)).min(bytes.len());
                    let copy = bytes[at..to].to_vec();
                    let into = self.below(bytes.len());
                    bytes.splice(into..into, copy);
                }
            }
        }
    }
}

/// Tag, claimed length and expanded bytes of each section.
fn sections(file: &[u8]) -> Vec<Section> {
    let mut found = Vec::new();
    let mut at = 12;
    while at < file.len() {
        let field = |from: usize| u64::from_le_bytes(file[at + from..at + from + 8].try_into().unwrap());
        let stored = &file[at + 28..at + 28 + field(16) as usize];
        let raw = match file[at + 4] {
            0 => stored.to_vec(),
            _ => miniz_oxide::inflate::decompress_to_vec(stored).unwrap(),
        };
        found.push((file[at..at + 4].try_into().unwrap(), field(8), raw));
        at += 28 + stored.len();
    }
    found
}

#[test]
fn ten_thousand_damaged_files() {
    let random = &mut Random(0x9e37_79b9_7f4a_7c15);
    let good = common::everything().to_bytes(Contents::All);
    let parts = sections(&good);
    assert!(Profile::from_bytes(&assemble(&parts, false)).is_ok());
    assert!(Profile::from_bytes(&assemble(&parts, true)).is_ok());

    let (mut accepted, mut malformed) = (0, 0);
    for round in 0..10_000 {
        let file = if round % 4 == 0 {
            let mut file = good.clone();
            random.mutate(&mut file);
            file
        } else {
            let mut parts = parts.clone();
            match random.below(8) {
                0 => drop(parts.remove(random.below(parts.len()))),
                1 => {
                    let (from, to) = (random.below(parts.len()), random.below(parts.len()));
                    let copy = parts[from].clone();
                    parts.insert(to, copy);
                }
                2 => {
                    let at = random.below(parts.len());
                    parts[at].1 = random.next() >> random.below(60);
                }
                _ => {
                    let at = random.below(parts.len());
                    random.mutate(&mut parts[at].2);
                    parts[at].1 = parts[at].2.len() as u64;
                }
            }
            assemble(&parts, random.below(2) == 0)
        };
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let result = Profile::from_bytes(&file);
        let used = MEMORY.peak_usage() - before;
        // 32 times the file and 1 MiB may come out of it; in memory an entry takes at most some 20 times its bytes.
        assert!(
            used < 20 * (32 * file.len() + (1 << 20)),
            "round {round}: {used} bytes for a file of {}",
            file.len()
        );
        match result {
            // Nothing but canonical profiles ever comes out.
            Ok(profile) => {
                accepted += 1;
                common::check(&profile);
            }
            Err(error) => {
                malformed += usize::from(matches!(error, ReadError::Malformed { .. }));
                assert!(!error.to_string().contains('\n') && error.to_string().len() < 300, "{error}");
            }
        }
    }
    // The damage must reach all the way: some is harmless, much is found by the decoders and not by checksums.
    assert!(accepted > 500 && malformed > 3000, "{accepted} accepted, {malformed} malformed");
}
