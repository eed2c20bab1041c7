//! Arenas that are well formed and mean harm.

#[path = "support/arena.rs"]
mod arena;

use arena::Arena;
use quipu_arena::layout;
use quipu_arena::record::Record;

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
