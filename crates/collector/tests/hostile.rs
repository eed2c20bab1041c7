//! Twenty thousand damaged arenas: an answer for each, no panic, no memory out of proportion.
//!
//! One test in a program of its own, because it measures the memory of the whole process.

#[path = "support/arena.rs"]
mod arena;
#[path = "support/exercise.rs"]
mod exercise;
#[path = "support/sampled.rs"]
mod sampled;

use arena::Arena;
use peak_alloc::PeakAlloc;
use quipu_arena::append::{Context, Event, Sample};
use quipu_arena::layout::{self, VIRTUAL, detail, frame, mark, parts, place_word, run_state};
use quipu_arena::record::{NO_GROUP, Record, flag};
use quipu_profile::Profile;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Something of everything: records of all kinds, two trees, sites, blocks, columns, opaque methods, contexts and samples with
/// labels, metrics, details, events, tallies.
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
            // One has a column in place of its second block.
            blocks: if id == 2 { &[0, 0, 5, 0, 1, 0] } else { &[0, 0, 5, 0, 1, 0, 9, 0, 2, 0, 0, 0] },
            derived: &[5, 0, 0, 0],
            leaves: &[1, 0, 0, 0, 5, 0, 0, 0],
            columns: if id == 2 { &[3, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0] } else { &[] },
        }
        .encode(&mut log);
    }
    Record::Group { id: 1, is_virtual: 0, threads: 1, first: b"main", pattern: b"main" }.encode(&mut log);
    Record::Group { id: 2, is_virtual: 1, threads: 9, first: b"w-1", pattern: b"w-#" }.encode(&mut log);
    Record::Tree { id: 1, group: 1 }.encode(&mut log);
    Record::Tree { id: 2, group: 2 }.encode(&mut log);
    Record::Info { key: b"java.vm.name", value: b"a JVM" }.encode(&mut log);
    Record::Info { key: b"kind", value: b"exact" }.encode(&mut log);
    Record::Info { key: b"counts.blocks", value: b"1" }.encode(&mut log);
    Record::Left { what: b"a/D", why: b"too long" }.encode(&mut log);
    for (code, native, name) in [(0x7000u64, 0, &b"run"[..]), (0x7008, 0, b"work"), (0x7010, 1, b"read")] {
        let (class, descriptor, source) = (b"a/B", b"()V", b"B.java");
        let lines: &[u8] = &[0, 0, 7, 0, 4, 0, 8, 0];
        Record::SampledMethod { code, native, class, name, descriptor, source, lines }.encode(&mut log);
    }
    Record::SampledThread { id: 1, java: 1, tid: 77, group: 1, name: b"main" }.encode(&mut log);
    Record::SampledThread { id: VIRTUAL | 30, java: 2, tid: 0, group: NO_GROUP, name: b"" }.encode(&mut log);
    Record::SampledModule { start: 1 << 20, end: 2 << 20, bias: 0, path: b"/nowhere/libx.so" }
        .encode(&mut log);
    Record::SampledLabel { set: 1, before: 0, key: b"request", value: b"a" }.encode(&mut log);
    Record::SampledLabel { set: 2, before: 1, key: b"user", value: b"ann" }.encode(&mut log);
    metric(1, "cpu", parts::TIERS).encode(&mut log);
    metric(2, "wall", parts::STATES).encode(&mut log);
    let (unit, count) = (b"bytes", b"alloc.count");
    Record::Metric { id: 3, aggregation: 0, parts: 0, period: 9, name: b"alloc.bytes", unit, count }
        .encode(&mut log);
    Record::Detail { id: 1, kind: detail::ALLOCATED, identity: 0, name: b"java/lang/String" }
        .encode(&mut log);
    Record::EventKind { id: 1, name: b"gc.pause", values: [b"before", b"after"] }.encode(&mut log);
    let name = b"Ljava/lang/String;";
    Record::ClassSize { loader: 0, bytes: 24, name }.encode(&mut log);
    for (id, met) in [(1, 0), (2, 1)] {
        Record::Site { id, method: 2, bci: 4, metric: 3, kind: detail::ALLOCATED, met, name }
            .encode(&mut log);
    }
    for (key, value) in [("began", "5"), ("walker", "x")] {
        Record::Info { key: format!("sampling.{key}").as_bytes(), value: value.as_bytes() }.encode(&mut log);
    }
    let mut arena = Arena::new();
    arena.chunk(layout::CHUNK_LOG, 0, &log);
    arena.chain(1, &[0, 1, 2, 3, 2, 4]);
    arena.chain(2, &[0, 3, 3, 3, 1]);
    let contexts = arena.contexts(&[
        (None, context(0x7000, frame::INTERPRETED)),
        (Some(0), context(0x7008, frame::C2)),
        (Some(1), context(0x7010, frame::NATIVE)),
        (Some(2), context((1 << 20) + 5, frame::FOREIGN)),
        (Some(1), context(0x7018, frame::C1)),
        (None, context(mark::FAILED + 3, frame::MARK)),
    ]);
    let samples = (0..).zip(&contexts).map(|(i, &context)| {
        let thread = if i % 2 == 0 { 1 } else { VIRTUAL | 30 };
        let (metric, state) = if i < 3 { (1, 0) } else { (2, run_state::PARKED) };
        Sample { metric, state, time: 10 + u64::from(i), ..sample_of(thread, context, i % 3) }
    });
    let mut samples: Vec<Sample> = samples.collect();
    samples.push(Sample { metric: 3, count: 40, detail: 1, ..sample_of(1, contexts[1], 0) });
    arena.samples(&samples);
    let pause = Event { time: 11, duration: 3, values: [7, 5], kind: 1, ..Event::default() };
    arena.events(&[pause, Event { thread: 1, detail: 1, context: contexts[1], ..pause }]);
    let object = Sample { metric: 3, count: 40, detail: 1, ..sample_of(1, contexts[1], 0) };
    arena.objects(&[(object, 0), (object, 2), (Sample { context: contexts[3], ..object }, 70)]);
    // Sites 1 and 2, without a context and in one that may be a slot of some node.
    for (tree, slot) in [(1, 0u32), (2, 600)] {
        let words = [1, slot, 3, 0, 48, 0, 2, slot, 1, 0, 24, 0];
        let entries: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_ne_bytes()).collect();
        arena.chunk(layout::CHUNK_LEDGER, tree, &entries);
    }
    arena.tallies(&[1, 2], &[[1, 5], [0, 0], [9, 90]]);
    arena.0
}

fn context(code: u64, kind: u32) -> Context {
    Context { code, parent: 0, place: place_word(kind, (kind < frame::NATIVE).then_some(4)) }
}

fn chain(depth: usize) -> Vec<(Option<usize>, Context)> {
    (0..depth).map(|i| (i.checked_sub(1), context(0x7000 + 8 * (i as u64 % 3), frame::C2))).collect()
}

fn sample_of(thread: u32, context: u32, labels: u32) -> Sample {
    Sample { time: 1, value: 1000, count: 1, context, thread, labels, metric: 1, detail: 0, state: 0 }
}

fn metric(id: u32, name: &str, parts: u32) -> Record<'_> {
    let (name, unit, count): (_, &[u8], &[u8]) = (name.as_bytes(), b"nanoseconds", b"");
    Record::Metric { id, aggregation: 0, parts, period: 1000, name, unit, count }
}

/// The profile of an arena, which must not take more memory, nor have more nodes, than is fit for its size.
fn bounded(bytes: &[u8]) -> Profile {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let profile = quipu_collector::import::profile(bytes).expect("an arena");
    let used = MEMORY.peak_usage() - before;
    assert!(used < most_memory(bytes), "{used} bytes of memory for {}", bytes.len());
    let nodes = profile.tree().len();
    assert!(nodes <= 2 * bytes.len(), "{nodes} nodes for {} bytes", bytes.len());
    profile
}

/// The table of what nodes have behind their slots, by method id, is the one thing whose size is not that of the bytes.
fn most_memory(bytes: &[u8]) -> usize {
    160 * bytes.len() + 8 * layout::MAX_METHODS as usize * 2
}

fn cpu(profile: &Profile) -> u64 {
    profile.metric("cpu").expect("cpu").total()
}

/// Every one of many threads has been seen deep in the same stack.
fn threads_and_contexts(threads: u32, depth: usize) -> Vec<u8> {
    let mut arena = Arena::new();
    let deepest = arena.contexts(&chain(depth))[depth - 1];
    let samples: Vec<Sample> = (1..=threads).map(|thread| sample_of(thread, deepest, 0)).collect();
    arena.samples(&samples);
    let mut log = Vec::new();
    metric(1, "cpu", parts::TIERS).encode(&mut log);
    for id in 1..=threads {
        Record::SampledThread { id, java: 1, tid: id, group: NO_GROUP, name: format!("t-{id}").as_bytes() }
            .encode(&mut log);
    }
    arena.chunk(layout::CHUNK_LOG, 0, &log);
    arena.0
}

/// Threads are counted and were sampled at each depth of the same recursion: what was walked leads through nodes with counts.
fn counted_and_walked(threads: u32, depth: usize) -> Vec<u8> {
    let mut log = Vec::new();
    let (name, descriptor, source) = (b"m1", b"()V", b"B.java");
    Record::Class { id: 1, loader: 0, name: b"a/B", source }.encode(&mut log);
    let (lines, sites, blocks, derived, leaves, columns) = (&[], &[3, 0, 6, 0], &[], &[], &[], &[]);
    let method = Record::Method {
        id: 1,
        class: 1,
        flags: 0,
        per_call: 1,
        name,
        descriptor,
        lines,
        sites,
        blocks,
        derived,
        leaves,
        columns,
    };
    method.encode(&mut log);
    Record::Info { key: b"kind", value: b"exact" }.encode(&mut log);
    let (code, class) = (0x7000, b"a/B");
    Record::SampledMethod { code, native: 0, class, name, descriptor, source, lines }.encode(&mut log);
    metric(1, "cpu", parts::TIERS).encode(&mut log);
    let mut arena = Arena::new();
    for id in 1..=threads {
        let name = format!("t-{}", char::from(b'a' + id as u8 % 26));
        Record::Group { id, is_virtual: 0, threads: 1, first: name.as_bytes(), pattern: name.as_bytes() }
            .encode(&mut log);
        Record::Tree { id, group: id }.encode(&mut log);
        Record::SampledThread { id, java: 1, tid: id, group: id, name: name.as_bytes() }.encode(&mut log);
    }
    arena.chunk(layout::CHUNK_LOG, 0, &log);
    for id in 1..=threads {
        arena.chain(id, &[0, 1, 1, 1]);
    }
    let frames: Vec<_> = (0..depth).map(|i| (i.checked_sub(1), context(code, frame::C2))).collect();
    let contexts = arena.contexts(&frames);
    let samples = (1..=threads).flat_map(|id| contexts.iter().map(move |&context| sample_of(id, context, 0)));
    arena.samples(&samples.collect::<Vec<_>>());
    arena.0
}

/// Samples of each depth of a stack that says of each frame where it begins, and of none what came before.
fn chained(samples: u32, depth: usize) -> Vec<u8> {
    let mut log = Vec::new();
    metric(1, "cpu", parts::TIERS).encode(&mut log);
    Record::SampledThread { id: 1, java: 1, tid: 1, group: NO_GROUP, name: b"t" }.encode(&mut log);
    let mut arena = Arena::new();
    arena.chunk(layout::CHUNK_LOG, 0, &log);
    let frames = (0..depth).map(|i| match i % 2 {
        0 => (i.checked_sub(1), context(16 * i as u64 + 16, frame::BASE)),
        _ => (i.checked_sub(1), context(0x7000 + 8 * (i as u64 % 3), frame::C2)),
    });
    let contexts = arena.contexts(&frames.collect::<Vec<_>>());
    let at = |i: u32| contexts[(i as usize * 7 + 1) % depth];
    let samples = (0..samples).map(|i| Sample { time: i.into(), ..sample_of(1, at(i), 0) });
    arena.samples(&samples.collect::<Vec<_>>());
    arena.0
}

/// A few bytes of an arena stand for many nodes: as many are made as is fit, and what is left out is told.
fn arenas_that_ask_for_too_much() {
    let profile = bounded(&threads_and_contexts(8_000, 30_000));
    assert_eq!(cpu(&profile), 8_000_000, "all time is charged");
    assert!(profile.meta.lost["arena.damaged.samples"] > 7_000, "{:?}", profile.meta.lost);
    // Stacks of which only the youngest frames should be there.
    for (samples, depth) in [(10_000, 8), (10_000, 20_000), (100, 40_000)] {
        assert_eq!(cpu(&bounded(&chained(samples, depth))), u64::from(samples) * 1000);
    }
    // Sets of labels, each made of all before it.
    let (sets, mut log, mut arena) = (8_000, Vec::new(), Arena::new());
    metric(1, "cpu", parts::TIERS).encode(&mut log);
    for set in 1..=sets {
        let key = format!("key {set}");
        Record::SampledLabel { set, before: set - 1, key: key.as_bytes(), value: b"x" }.encode(&mut log);
    }
    arena.chunk(layout::CHUNK_LOG, 0, &log);
    let contexts = arena.contexts(&chain(1));
    let samples: Vec<Sample> = (1..=sets).map(|set| sample_of(1, contexts[0], set)).collect();
    arena.samples(&samples);
    let profile = bounded(&arena.0);
    assert_eq!(cpu(&profile), u64::from(sets) * 1000);
    assert!(profile.meta.lost["arena.damaged.samples"] > 1_000, "{:?}", profile.meta.lost);
    // What a program can do, in the least that its arena can have: 200 threads that are 2,000 calls deep.
    let mut real = threads_and_contexts(200, 2_000);
    real.resize(1 << 20, 0);
    let profile = bounded(&real);
    assert!(profile.meta.lost.is_empty(), "{:?}", profile.meta.lost);
    assert!(profile.tree().len() > 400_000);
    // Each frame of a thread's stacks is looked at once, however many stacks go through it.
    let profile = bounded(&counted_and_walked(4, 3_000));
    assert_eq!(cpu(&profile), 4 * 3_000_000);
    assert!(profile.meta.lost.is_empty(), "{:?}", profile.meta.lost);
    let (calls, cpu) = (profile.metric("calls").expect("calls"), profile.metric("cpu").expect("cpu"));
    let counted = cpu.values().iter().zip(calls.values()).filter(|(_, calls)| **calls > 0);
    assert_eq!(counted.map(|(cpu, _)| cpu).sum::<u64>(), 4 * 3_000_000, "all of it is in nodes with counts");
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
#[ignore = "run by fuzz/seed, which says where to"]
fn a_seed_for_the_fuzzer() {
    let path = std::env::var_os("QUIPU_SEED").expect("QUIPU_SEED: the file to write");
    std::fs::write(path, sample()).expect("a file");
}

#[test]
fn twenty_thousand_damaged_arenas() {
    let good = sample();
    let profile = quipu_collector::import::profile(&good).unwrap();
    let threads: Vec<_> = profile.threads().iter().map(|thread| profile.str(thread.name)).collect();
    assert_eq!(
        (threads.as_slice(), profile.meta.lost.len()),
        (&["[virtual]", "main", "w-#"][..], 0),
        "{:?}",
        profile.meta.lost
    );
    assert!(profile.has_sites() && profile.methods().iter().any(|method| !method.blocks.is_empty()));

    assert_eq!((cpu(&profile), profile.metric("wall").map(|wall| wall.total())), (3000, Some(3000)));
    assert!(profile.samples().iter().any(|sample| sample.labels != quipu_profile::NO_LABELS));
    let tallied = quipu_arena::reader::Contents::read(&good).expect("an arena");
    assert_eq!(tallied.nodes.iter().filter(|node| node.tallied).count(), 4);

    let random = &mut Random(0x9e37_79b9_7f4a_7c15);
    let mut damaged = 0;
    for round in 0..20_000 {
        let mut bytes = good.clone();
        random.damage(&mut bytes);
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        assert!(exercise::exercise(&bytes), "round {round}: magic and version are right");
        let used = MEMORY.peak_usage() - before;
        assert!(used < most_memory(&bytes), "round {round}: {used} bytes for {}", bytes.len());
        damaged += usize::from(!quipu_collector::import::profile(&bytes).unwrap().meta.lost.is_empty());
    }
    assert!(damaged > 5000, "the damage must reach the reader: it noticed {damaged}");
    arenas_that_ask_for_too_much();
}
