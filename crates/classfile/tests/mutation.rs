//! Mutated class files: nothing may panic, whatever the bytes.
//!
//! Seeded, so a failure is a number to run again: `QUIPU_SEED=n QUIPU_MUTANTS=1`. A quick run makes 20,000 mutants, a
//! full one (`QUIPU_FULL=1`) a million.

mod support;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use quipu_classfile::ClassFile;
use support::exercise::exercise;
use support::shapes::Rewriter;

/// Xorshift: small, seedable, good enough to pick bytes.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// A class to start from, and where its code attributes are: half of all mutations go there.
struct Seed {
    bytes: Vec<u8>,
    code: Vec<Range<usize>>,
}

impl Seed {
    fn new(bytes: Vec<u8>) -> Self {
        let class = ClassFile::parse(&bytes).expect("seed parses");
        let attributes = class.methods().filter_map(|m| m.code_attribute());
        let code = attributes.map(|a| a.offset..a.offset + 6 + a.data.len()).collect();
        Seed { bytes, code }
    }
}

fn mutate(seed: u64, seeds: &[Seed]) -> Vec<u8> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..4 {
        random.next();
    }
    let start = &seeds[random.below(seeds.len())];
    let mut bytes = start.bytes.clone();
    for _ in 0..=random.below(6) {
        let mut at = random.below(bytes.len());
        if !start.code.is_empty() && random.below(2) == 0 {
            let code = &start.code[random.below(start.code.len())];
            at = (code.start + random.below(code.len())).min(bytes.len() - 1);
        }
        match random.below(9) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, 0xc4, 0xaa, 0xab][random.below(8)],
            3 if at + 2 <= bytes.len() => {
                let value = [0u16, 1, 0x7fff, 0x8000, 0xffff, random.next() as u16][random.below(6)];
                bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
            }
            4 if at + 4 <= bytes.len() => {
                let value = [0u32, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 65_536][random.below(5)];
                bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
            }
            5 => bytes.truncate(at.max(10)),
            6 => {
                let len = random.below(16).min(bytes.len() - at);
                bytes.drain(at..at + len);
            }
            7 => {
                let from = random.below(bytes.len());
                let len = random.below(64).min(bytes.len() - from);
                let piece = bytes[from..from + len].to_vec();
                bytes.splice(at..at, piece);
            }
            // Small steps keep most of the structure valid and reach furthest in.
            _ => bytes[at] = bytes[at].wrapping_add(random.below(5) as u8).wrapping_sub(2),
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[test]
fn mutants_never_panic() {
    let mut seeds: Vec<Seed> = Vec::new();
    for jdk in support::jdks() {
        let files = support::class_files(&jdk.classes());
        let classes = files.iter().step_by(101).map(|f| std::fs::read(f).expect("class"));
        // Small ones: a mutation in a large class usually hits a string.
        seeds.extend(classes.filter(|b| b.len() < 6_000).map(Seed::new));
    }
    if seeds.is_empty() {
        return;
    }
    let first = number("QUIPU_SEED", 1);
    let count = number("QUIPU_MUTANTS", if support::full() { 1_000_000 } else { 20_000 });
    let threads =
        if count < 1000 { 1 } else { std::thread::available_parallelism().map_or(1, |n| n.get() as u64) };
    let (mut parsed, mut failed) = (0u64, Vec::new());
    std::thread::scope(|scope| {
        let seeds = &seeds;
        let workers: Vec<_> = (0..threads)
            .map(|t| {
                scope.spawn(move || {
                    let mut rewriter = Rewriter::default();
                    let (mut parsed, mut failed) = (0u64, Vec::new());
                    for seed in (first + t..first + count).step_by(threads as usize) {
                        let bytes = mutate(seed, seeds);
                        match catch_unwind(AssertUnwindSafe(|| exercise(&bytes, &mut rewriter))) {
                            Ok(valid) => parsed += u64::from(valid),
                            Err(_) => {
                                failed.push(seed);
                                rewriter = Rewriter::default();
                            }
                        }
                    }
                    (parsed, failed)
                })
            })
            .collect();
        for worker in workers {
            let (p, f) = worker.join().expect("worker");
            parsed += p;
            failed.extend(f);
        }
    });
    println!("{count} mutants, {parsed} of them parsed");
    assert!(failed.is_empty(), "panics with seeds {failed:?}");
    assert!(
        parsed * 20 > count || count < 1000,
        "too few mutants parse to test the editor: {parsed} of {count}"
    );
}
