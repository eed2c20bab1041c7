use super::{Contents, Damage, NotAnArena};
use crate::layout::{self, chunk, header, node, slot, tally};
use crate::record::Record;
use proptest::prelude::*;

fn put(bytes: &mut [u8], at: u64, value: &[u8]) {
    bytes[at as usize..at as usize + value.len()].copy_from_slice(value);
}

/// An arena with one log chunk and one tree: root → method 1 → method 2.
fn sample() -> Vec<u8> {
    let mut log = Vec::new();
    Record::Class { id: 1, loader: 0, name: b"A", source: b"" }.encode(&mut log);
    Record::opaque_method(3, 1, b"m", b"()V").encode(&mut log);
    let log_size = (chunk::HEADER + log.len() as u64).next_multiple_of(layout::CHUNK_ALIGN);
    let nodes_at = layout::HEADER_SIZE + log_size;
    let size = nodes_at + 256;
    let mut bytes = vec![0; size as usize];
    put(&mut bytes, header::MAGIC, &layout::MAGIC.to_ne_bytes());
    put(&mut bytes, header::VERSION, &layout::VERSION.to_ne_bytes());
    put(&mut bytes, header::USED, &size.to_ne_bytes());
    let mut chunk_at = |at: u64, kind: u32, size: u64, used: u64| {
        put(&mut bytes, at + chunk::KIND, &kind.to_ne_bytes());
        put(&mut bytes, at + chunk::TREE, &5u32.to_ne_bytes());
        put(&mut bytes, at + chunk::SIZE, &size.to_ne_bytes());
        put(&mut bytes, at + chunk::USED, &used.to_ne_bytes());
    };
    chunk_at(layout::HEADER_SIZE, layout::CHUNK_LOG, log_size, chunk::HEADER + log.len() as u64);
    chunk_at(nodes_at, layout::CHUNK_NODES, 256, chunk::HEADER + 56 * 3);
    put(&mut bytes, layout::HEADER_SIZE + chunk::HEADER, &log);
    let mut parent = 0u32;
    for i in 0..3u32 {
        let at = nodes_at + chunk::HEADER + 56 * u64::from(i);
        put(&mut bytes, at + node::METHOD, &layout::method_word(i).to_ne_bytes());
        put(&mut bytes, at + node::PARENT, &parent.to_ne_bytes());
        put(&mut bytes, at + node::CALLS, &u64::from(i * 10).to_ne_bytes());
        put(&mut bytes, at + node::STRIDE, &7u16.to_ne_bytes());
        parent = (at / layout::ID_UNIT) as u32;
    }
    bytes
}

#[test]
fn a_tree_is_read_with_its_log() {
    let bytes = sample();
    let contents = Contents::read(&bytes).unwrap();
    assert_eq!(contents.damage, Damage::default());
    assert_eq!(contents.records.len(), 2);
    let shape: Vec<_> = contents.nodes.iter().map(|n| (n.parent, n.method, n.calls, n.tree)).collect();
    assert_eq!(shape, [(None, 0, 0, 5), (Some(0), 1, 10, 5), (Some(1), 2, 20, 5)]);
}

#[test]
fn records_of_newer_versions_are_skipped() {
    let mut bytes = sample();
    let (known, first) = (Contents::read(&bytes).unwrap().records.len(), layout::HEADER_SIZE + chunk::HEADER);
    put(&mut bytes, first, &(crate::record::tag::LAST + 1).to_ne_bytes());
    let contents = Contents::read(&bytes).unwrap();
    assert_eq!((contents.damage, contents.records.len()), (Damage::default(), known - 1));
    // A record of a kind that is known, and cannot be read, is another matter; so is one of no kind.
    for tag in [crate::record::tag::SAMPLED_MODULE, 0] {
        put(&mut bytes, first, &tag.to_ne_bytes());
        let contents = Contents::read(&bytes).unwrap();
        assert_eq!(contents.damage, Damage { records: 1, ..Damage::default() });
    }
}

#[test]
fn calls_in_slots_belong_to_the_child() {
    let mut bytes = sample();
    let nodes_at = bytes.len() as u64 - 256 + chunk::HEADER;
    let slot_at = nodes_at + 56 + node::SLOTS;
    let child = (nodes_at + 112 - slot_at) as i32 / layout::LINK_UNIT as i32;
    put(&mut bytes, slot_at + slot::METHOD, &layout::method_word(2).to_ne_bytes());
    put(&mut bytes, slot_at + slot::NODE, &child.to_ne_bytes());
    put(&mut bytes, slot_at + slot::CALLS, &7u64.to_ne_bytes());
    let contents = Contents::read(&bytes).unwrap();
    assert_eq!(contents.nodes[2].calls, 27);
    // A slot with another method's word than the node it points to is not believed.
    put(&mut bytes, slot_at + slot::METHOD, &layout::method_word(9).to_ne_bytes());
    let contents = Contents::read(&bytes).unwrap();
    assert_eq!((contents.nodes[2].calls, contents.damage.slots), (20, 1));
}

#[test]
fn tallied_methods_stand_below_their_root() {
    let mut bytes = sample();
    let used = bytes.len();
    let mut tally = vec![0; 64];
    put(&mut tally, tally::TREE, &5u32.to_ne_bytes());
    put(&mut tally, 3 * tally::CELL, &11u64.to_ne_bytes());
    put(&mut tally, 3 * tally::CELL + tally::BYTECODES, &12u64.to_ne_bytes());
    bytes.extend_from_slice(&tally);
    put(&mut bytes, header::LIMIT, &(1u64 << 20).to_ne_bytes());
    put(&mut bytes, header::TALLY_USED, &64u64.to_ne_bytes());
    put(&mut bytes, header::TALLIES, &1u64.to_ne_bytes());
    let contents = Contents::read(&bytes).unwrap();
    let node = contents.nodes[3];
    assert_eq!((node.parent, node.method, node.calls, node.bytecodes), (Some(0), 3, 11, 12));
    assert_eq!(node.at, (1 << 20) + 48, "where it is in the file");
    // One that is cut off, and one of a tree that is not there.
    let cut = Contents::read(&bytes[..bytes.len() - 1]).unwrap();
    assert_eq!((cut.nodes.len(), cut.damage.chunks), (3, 1));
    put(&mut bytes, used as u64 + tally::TREE, &6u32.to_ne_bytes());
    let foreign = Contents::read(&bytes).unwrap();
    assert_eq!((foreign.nodes.len(), foreign.damage.nodes), (3, 1));
}

#[test]
fn other_files_are_refused_by_name() {
    assert_eq!(Contents::read(b"").err(), Some(NotAnArena::Truncated));
    assert_eq!(Contents::read(b"ELF and more").err(), Some(NotAnArena::Magic));
    let mut newer = sample();
    newer[4] = 9;
    assert_eq!(Contents::read(&newer).err(), Some(NotAnArena::Version(9)));
}

#[test]
fn an_orphan_is_counted_not_attached() {
    let mut bytes = sample();
    let at = bytes.len() as u64 - 256 + chunk::HEADER + 112;
    put(&mut bytes, at + node::PARENT, &12u32.to_ne_bytes());
    let contents = Contents::read(&bytes).unwrap();
    assert_eq!((contents.nodes.len(), contents.damage.nodes), (2, 1));
}

proptest! {
    #[test]
    fn any_bytes_are_survived(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40), cut in any::<prop::sample::Index>()) {
        let mut bytes = sample();
        for (at, value) in flips {
            let at = at.index(bytes.len() - 8) + 8;
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        if let Ok(contents) = Contents::read(&bytes) {
            for (i, node) in contents.nodes.iter().enumerate() {
                prop_assert!(node.parent.is_none_or(|p| (p as usize) < i));
                let _ = contents.block_counts(node).count();
            }
        }
    }
}
