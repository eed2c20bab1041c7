//! Arenas that are well formed and mean harm.

#[path = "support/arena.rs"]
mod arena;

use arena::Arena;
use quipu_arena::layout;
use quipu_arena::record::Record;
use quipu_collector::import::Baseline;
use quipu_profile::Profile;

/// One record that gives ten thousand callees to every node would make millions of contexts of a few kilobytes.
#[test]
fn what_one_record_says_of_every_node_is_bounded() {
    let mut log = Vec::new();
    Record::Class { id: 1, loader: 0, name: b"A", source: b"" }.encode(&mut log);
    for id in [1, 2] {
        Record::Method {
            id,
            class: 1,
            flags: 0,
            per_call: 0,
            name: b"m",
            descriptor: b"()V",
            lines: b"",
            sites: b"",
            blocks: b"",
            derived: &2u32.to_ne_bytes().repeat(10_000),
            leaves: &[],
            columns: &[],
        }
        .encode(&mut log);
    }
    let mut arena = Arena::new();
    arena.chunk(layout::CHUNK_LOG, 0, &log);
    arena.chain(1, &[&[0][..], &[1].repeat(3000)].concat());
    let profile = quipu_collector::import::profile(&arena.0).unwrap();
    assert!(profile.tree().len() < arena.0.len());
    assert!(profile.meta.lost["arena.damaged.nodes"] > 1_000_000);
}

const BYTES: u32 = 1;
const COUNT: u32 = 2;
const NOT_MEASURED: u32 = 3;

/// A log in which methods 1 and 2 have two columns: bytes of strings, and something that is about nothing in particular.
fn log_of_columns(kind: &[u8], second: u32) -> Vec<u8> {
    let mut log = Vec::new();
    Record::Start { time: 1 }.encode(&mut log);
    Record::Info { key: b"kind", value: kind }.encode(&mut log);
    Record::Class { id: 1, loader: 0, name: b"A", source: b"" }.encode(&mut log);
    for (id, name) in [(BYTES, b"bytes"), (COUNT, b"count")] {
        let (aggregation, parts) = (layout::aggregation::SUM, layout::parts::NONE);
        let (unit, count) = (&b"bytes"[..], &b""[..]);
        Record::Metric { id, aggregation, parts, period: 0, name, unit, count }.encode(&mut log);
    }
    let (kind, name) = (layout::detail::ALLOCATED, b"Ljava/lang/String;");
    Record::Detail { id: 9, kind, identity: 0, name }.encode(&mut log);
    let columns: Vec<u8> =
        [BYTES, 9, 4, second, 0, 6].iter().flat_map(|number| number.to_ne_bytes()).collect();
    for (id, name) in [(1, b"one"), (2, b"two")] {
        let none = b"";
        Record::Method {
            id,
            class: 1,
            flags: 0,
            per_call: 0,
            name,
            descriptor: b"()V",
            lines: none,
            sites: none,
            blocks: none,
            derived: none,
            leaves: none,
            columns: &columns,
        }
        .encode(&mut log);
    }
    log
}

/// Root → one → two → two, whose columns have 7 each (as chains have it) and `second`, but for the last node.
fn arena_of_columns(log: &[u8], second: u64) -> Arena {
    let mut arena = Arena::new();
    arena.chunk(layout::CHUNK_LOG, 0, log);
    let first = arena.len() + layout::chunk::HEADER;
    arena.chain(1, &[0, 1, 2, 2]);
    let stride = layout::node_size(2, 2);
    for node in [1, 2] {
        arena.put(first + stride * node + stride - 8, &second.to_ne_bytes());
    }
    arena
}

/// Contexts and their own values of a metric that are not 0.
fn values(profile: &Profile, metric: &str) -> Vec<(String, u64)> {
    let Some(metric) = profile.metric(metric) else { return Vec::new() };
    let tree = profile.tree();
    let path = |node| {
        let methods = tree.path(node).into_iter().filter_map(|node| tree.method(node));
        methods.map(|method| profile.method_name(method)).collect::<Vec<_>>().join(" > ")
    };
    let nodes = (0..).zip(metric.values()).map(|(node, value)| (path(node), *value));
    let mut values: Vec<_> = nodes.filter(|(_, value)| *value > 0).collect();
    values.sort();
    values
}

/// What instruments count beside calls is in the same nodes, and below them what it is about.
#[test]
fn columns_are_metrics_of_their_nodes() {
    let arena = arena_of_columns(&log_of_columns(b"exact", COUNT), 5);
    let profile = quipu_collector::import::profile(&arena.0).unwrap();
    let string = "java.lang.String [allocated]";
    let expected = ["A.one", "A.one > A.two", "A.one > A.two > A.two"];
    let mut bytes = expected.map(|path| (format!("{path} > {string}"), 7));
    bytes.sort();
    assert_eq!(values(&profile, "bytes"), bytes);
    let counts: Vec<_> = expected[..2].iter().map(|path| ((*path).to_owned(), 5)).collect();
    assert_eq!(values(&profile, "count"), counts);
    assert_eq!(values(&profile, "calls").len(), 3, "calls are there as well");
}

/// An instrument without exact counts has its columns, and no counts that nobody asked for.
#[test]
fn columns_need_no_exact_counts() {
    let arena = arena_of_columns(&log_of_columns(b"alloc", NOT_MEASURED), 5);
    let profile = quipu_collector::import::profile(&arena.0).unwrap();
    assert_eq!(values(&profile, "bytes").len(), 3);
    // One of a metric of an earlier profile is none of this one.
    let names: Vec<&str> = profile.metrics().iter().map(|metric| metric.name()).collect();
    assert_eq!(names, ["bytes"]);
}

/// What was in columns at one moment is taken off what is in them later.
#[test]
fn columns_since_a_moment_are_what_came_after_it() {
    let log = log_of_columns(b"exact", COUNT);
    let before = Baseline::read(&arena_of_columns(&log, 5).0).unwrap();
    let later = arena_of_columns(&log, 8);
    let profile = quipu_collector::import::profile_since(&later.0, Some(&before)).unwrap();
    let values: Vec<u64> = values(&profile, "count").into_iter().map(|(_, value)| value).collect();
    assert_eq!(values, [3, 3]);
    assert_eq!(profile.metric("bytes").unwrap().total(), 0);
}

/// What a method has for blocks may be of an earlier profile, whose code is still there: then this one does not tell of it.
#[test]
fn blocks_are_told_where_this_profile_counts_them() {
    let metrics = |facts: &[&[u8]]| {
        let mut log = Vec::new();
        Record::Start { time: 1 }.encode(&mut log);
        for key in facts {
            Record::Info { key, value: b"exact" }.encode(&mut log);
        }
        Record::Class { id: 1, loader: 0, name: b"A", source: b"" }.encode(&mut log);
        let none = b"";
        Record::Method {
            id: 1,
            class: 1,
            flags: 0,
            per_call: 0,
            name: b"m",
            descriptor: b"()V",
            lines: none,
            sites: none,
            blocks: &[0, 0, 5, 0, 1, 0, 9, 0, 2, 0, 0, 0],
            derived: none,
            leaves: none,
            columns: none,
        }
        .encode(&mut log);
        let mut arena = Arena::new();
        arena.chunk(layout::CHUNK_LOG, 0, &log);
        arena.chain(1, &[0, 1]);
        let profile = quipu_collector::import::profile(&arena.0).unwrap();
        assert!(profile.meta.extra.is_empty());
        let blocks: usize = profile.methods().iter().map(|method| method.blocks.len()).sum();
        (profile.metric("allocations").map(|metric| metric.total()), blocks)
    };
    assert_eq!(metrics(&[b"kind", b"counts.blocks"]), (Some(7), 2));
    assert_eq!(metrics(&[b"kind"]), (None, 0));
    // Without an agent.
    assert_eq!(metrics(&[]), (Some(7), 2));
}

/// Code of an earlier profile that still runs counts in its nodes: of that there is nothing in a profile that measures something else.
#[test]
fn what_code_of_an_earlier_profile_counts_is_left_out() {
    use quipu_arena::record::flag;
    let of = |kind: &[u8], flags: [u32; 2]| {
        let mut log = Vec::new();
        Record::Start { time: 1 }.encode(&mut log);
        Record::Info { key: b"kind", value: kind }.encode(&mut log);
        Record::Class { id: 1, loader: 0, name: b"A", source: b"" }.encode(&mut log);
        for (id, name, flags) in [(1, &b"old"[..], flags[0]), (2, b"new", flags[1])] {
            let none = b"";
            Record::Method {
                id,
                class: 1,
                flags,
                per_call: 0,
                name,
                descriptor: b"()V",
                lines: none,
                sites: none,
                blocks: none,
                derived: none,
                leaves: none,
                columns: none,
            }
            .encode(&mut log);
        }
        let mut arena = Arena::new();
        arena.chunk(layout::CHUNK_LOG, 0, &log);
        // Two trees: of one nothing is left.
        arena.chain(1, &[0, 1, 1]);
        arena.chain(2, &[0, 2]);
        let profile = quipu_collector::import::profile(&arena.0).unwrap();
        let metrics: Vec<String> = profile.metrics().iter().map(|metric| metric.name().to_owned()).collect();
        let methods: Vec<String> = (0..profile.tree().len() as u32)
            .filter_map(|node| profile.tree().method(node))
            .map(|m| profile.method_name(m))
            .collect();
        (metrics, methods)
    };
    let cases = [
        (&b"bytecodes"[..], [0, flag::SAMPLED], &["samples.bytecodes"][..]),
        (b"exact", [flag::SAMPLED, 0], &["bytecodes", "calls"]),
        (b"root", [0, flag::TIMED], &["calls", "time", "time.error", "time.probes", "time.raw"]),
    ];
    for (kind, flags, metrics) in cases {
        let (mut found, methods) = of(kind, flags);
        found.sort();
        let what = String::from_utf8_lossy(kind);
        assert_eq!(found, metrics, "{what}");
        assert_eq!(methods, ["A.new"], "{what}");
    }
}
