//! Arenas: from the bytes a target leaves to a profile.

use std::error::Error;

use quipu_arena::layout;
use quipu_arena::record::Record;
use quipu_collector::import;

#[path = "../../../crates/collector/tests/support/arena.rs"]
mod arena;

const METHODS: u32 = 3_000;
const TREES: u32 = 200;
const DEPTH: u32 = 500;

/// Reads an arena of many threads with deep stacks.
pub fn read() -> Result<(), Box<dyn Error>> {
    let mut log = Vec::new();
    for id in 1..=METHODS {
        if id % 10 == 1 {
            let name = format!("com/example/part{}/Service{id}", id % 41);
            Record::Class { id: 1 + id / 10, loader: 0, name: name.as_bytes(), source: b"Service.java" }
                .encode(&mut log);
        }
        Record::Method {
            id,
            class: 1 + (id - 1) / 10,
            flags: 0,
            per_call: id % 60,
            name: format!("operation{id}").as_bytes(),
            descriptor: b"(Ljava/lang/String;I)I",
            lines: &[0, 0, 7, 0, 4, 0, 8, 0],
            sites: &[],
            blocks: &[],
            derived: &[],
            leaves: &[],
            columns: &[],
        }
        .encode(&mut log);
    }
    for tree in 1..=TREES {
        let name = format!("worker-{tree}");
        Record::Group {
            id: tree,
            is_virtual: 0,
            threads: 1,
            first: name.as_bytes(),
            pattern: name.as_bytes(),
        }
        .encode(&mut log);
        Record::Tree { id: tree, group: tree }.encode(&mut log);
    }
    let mut arena = arena::Arena::new();
    arena.chunk(layout::CHUNK_LOG, 0, &log);
    for tree in 1..=TREES {
        let below = (1..DEPTH).map(|depth| 1 + (depth * 7 + tree * 13) % METHODS);
        arena.chain(tree, &[0].into_iter().chain(below).collect::<Vec<u32>>());
    }
    let profile = import::profile(&arena.0)?;
    println!("nodes {}", profile.tree().len());
    Ok(())
}
