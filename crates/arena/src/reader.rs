//! Reads an arena, running or left behind, from its bytes.
//!
//! Nothing here trusts a length or an id: what does not fit is left out and counted in
//! [`Damage`]. The work is linear in the size of the arena, whatever is in it.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;

use crate::bytes::Bytes;
use crate::layout::{self, chunk, header, node, slot, tally};
use crate::record::{RECORD_HEADER, Record};
use crate::sampled::Sampled;

/// Why bytes are not an arena.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAnArena {
    /// The first word is something else.
    Magic,
    /// Shorter than a header.
    Truncated,
    /// Written by another version of Quipu.
    Version(u32),
}

impl fmt::Display for NotAnArena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotAnArena::Magic => write!(f, "is not a Quipu arena"),
            NotAnArena::Truncated => write!(f, "is shorter than an arena's header"),
            NotAnArena::Version(v) => write!(
                f,
                "is an arena of format version {v}; this program reads version {}: use the Quipu that made it",
                layout::VERSION
            ),
        }
    }
}

impl std::error::Error for NotAnArena {}

/// What could not be used, by cause.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Damage {
    /// Chunks whose header makes no sense; everything behind one is unreadable.
    pub chunks: u64,
    /// Records that could not be decoded.
    pub records: u64,
    /// Nodes without a parent, or cut off.
    pub nodes: u64,
    /// Slots that count calls of no node.
    pub slots: u64,
    /// Sampled contexts without a caller, and samples without a context.
    pub samples: u64,
}

/// The numbers of the header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// Process id of the target.
    pub pid: u32,
    /// Whether the target ended in an orderly way.
    pub ended: bool,
    /// Nanoseconds since 1970.
    pub created: u64,
    /// Nanoseconds since 1970, 0 while running.
    pub ended_at: u64,
    /// End of the last chunk.
    pub used: u64,
    /// Bytes of all tallies together.
    pub tallied: u64,
    /// The size the arena may grow to.
    pub limit: u64,
    /// Calls whose context could not be opened: the arena was full.
    pub refused: u64,
    /// Nanoseconds spent in rewriting classes.
    pub rewrite_nanos: u64,
    /// Classes and methods rewritten and left alone.
    pub classes: u64,
    /// Methods rewritten.
    pub methods: u64,
    /// Methods that had to be left as they were.
    pub methods_left: u64,
    /// Classes that had to be left as they were.
    pub classes_left: u64,
    /// Stacks that were walked, or tried to be.
    pub walks: u64,
    /// Samples that threads took of themselves.
    pub samples: u64,
    /// Nanoseconds that took them.
    pub sampling_nanos: u64,
    /// What samplers lost, in the order of [`layout::CAUSES`].
    pub lost: [u64; layout::CAUSES.len()],
}

/// A context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Its offset in the arena, which never changes.
    pub at: u64,
    /// Index in [`Contents::nodes`] of the parent; `None` for the root of a tree.
    pub parent: Option<u32>,
    /// Method id; [`layout::ROOT_METHOD`] for roots.
    pub method: u32,
    /// The tree it is in.
    pub tree: u32,
    /// The parent's slot it was first reached through.
    pub site: u16,
    /// Calls.
    pub calls: u64,
    /// Bytecodes, as stored.
    pub bytecodes: u64,
    /// What methods without contexts executed on its behalf.
    pub charged: u64,
    /// Whether it is a method in a tally, which stands below the root whoever called it.
    pub tallied: bool,
    /// Where its slots are.
    slots: (u64, u64),
    /// File offset and number of the block counters behind the slots.
    pub blocks: (u64, u32),
}

impl Node {
    /// Offset of the last byte of its slots; 0 if it has none.
    pub fn last_slot(&self) -> u64 {
        let (first, end) = self.slots;
        if end > first { end - 1 } else { 0 }
    }
}

/// Everything in an arena.
pub struct Contents<'a> {
    /// The header's numbers.
    pub header: Header,
    /// The log, in order.
    pub records: Vec<Record<'a>>,
    /// The nodes of all trees, parents before children.
    pub nodes: Vec<Node>,
    /// What samplers saw.
    pub sampled: Sampled,
    /// What could not be used.
    pub damage: Damage,
    bytes: Bytes<'a>,
}

impl<'a> Contents<'a> {
    /// Reads the whole arena.
    pub fn read(bytes: &'a [u8]) -> Result<Contents<'a>, NotAnArena> {
        let bytes = Bytes(bytes);
        let header = read_header(bytes)?;
        let mut contents = Contents {
            header,
            records: Vec::new(),
            nodes: Vec::new(),
            sampled: Sampled::default(),
            damage: Damage::default(),
            bytes,
        };
        let mut method_blocks = BlockCounts::default();
        let mut node_chunks = Vec::new();
        let mut sample_chunks = Vec::new();
        let end = contents.header.used.min(bytes.len());
        let mut at = layout::HEADER_SIZE;
        while at < end {
            let Some((kind, tree, size, used)) = read_chunk_header(bytes, at, end) else {
                contents.damage.chunks += 1;
                break;
            };
            match kind {
                layout::CHUNK_LOG => contents.read_log(at + chunk::HEADER, at + used, &mut method_blocks),
                layout::CHUNK_NODES => node_chunks.push((at, at + used, tree)),
                layout::CHUNK_CONTEXTS => {
                    contents.damage.samples +=
                        contents.sampled.read_contexts(bytes, at + chunk::HEADER, at + used);
                }
                layout::CHUNK_SAMPLES => sample_chunks.push((at + chunk::HEADER, at + used)),
                _ => {}
            }
            at += size;
        }
        // Nodes come after the whole log: a method's number of block counters must be known.
        let mut index = NodeIndex::new(end);
        for (at, end, tree) in node_chunks {
            contents.read_nodes(at + chunk::HEADER, end, tree, &mut index, &method_blocks);
        }
        contents.add_counts_in_slots(&index);
        let named = contents.named_methods();
        contents.read_leaves(&named);
        contents.read_tallies(&named);
        for (at, end) in sample_chunks {
            contents.damage.samples += contents.sampled.read_samples(bytes, at, end);
        }
        Ok(contents)
    }

    /// The log since the profile began.
    pub fn of_this_profile(&self) -> &[Record<'a>] {
        let start = self.records.iter().rposition(|record| matches!(record, Record::Start { .. }));
        start.and_then(|start| self.records.get(start..)).unwrap_or(&self.records)
    }

    /// What was said under a key since the profile began, in order.
    pub fn facts<'c>(&'c self, key: &'c [u8]) -> impl Iterator<Item = &'a [u8]> + 'c {
        self.of_this_profile().iter().filter_map(move |record| match *record {
            Record::Info { key: found, value } => (found == key).then_some(value),
            _ => None,
        })
    }

    /// When the profile began, in nanoseconds of the target's monotonic clock; 0 if that is not known.
    pub fn began(&self) -> u64 {
        match self.of_this_profile().first() {
            Some(&Record::Start { time }) => time,
            _ => 0,
        }
    }

    /// How many bytes were read.
    pub fn size(&self) -> u64 {
        self.bytes.len()
    }

    /// The counts of a node's blocks, in the order of the method's block table.
    pub fn block_counts(&self, node: &Node) -> impl Iterator<Item = u64> + '_ {
        let (at, n) = node.blocks;
        (0..u64::from(n)).filter_map(move |i| self.bytes.u64(at + 8 * i))
    }

    fn read_log(&mut self, mut at: u64, end: u64, method_blocks: &mut BlockCounts) {
        while at + RECORD_HEADER <= end {
            let (Some(tag), Some(len)) = (self.bytes.u32(at), self.bytes.u32(at + 4)) else { break };
            let next = at + (RECORD_HEADER + u64::from(len)).next_multiple_of(8);
            let payload = self.bytes.slice(at + RECORD_HEADER, len.into());
            let (Some(payload), true) = (payload, next <= end) else {
                self.damage.records += 1;
                break;
            };
            match Record::decode(tag, payload) {
                Some(record) => {
                    if let Record::Method { id, blocks, .. } = record {
                        method_blocks.set(id, (blocks.len() / 6) as u32);
                    }
                    self.records.push(record);
                }
                None if !Record::is_known(tag) => {}
                None => self.damage.records += 1,
            }
            at = next;
        }
    }

    fn read_nodes(&mut self, mut at: u64, end: u64, tree: u32, index: &mut NodeIndex, blocks: &BlockCounts) {
        while at + node::SLOTS <= end {
            let Some(stride) = self.bytes.u16(at + node::STRIDE).map(|units| 8 * u64::from(units)) else {
                break;
            };
            if stride < node::SLOTS || at + stride > end {
                self.damage.nodes += 1;
                break;
            }
            match self.read_node(at, stride, tree, index, blocks) {
                Some(node) => {
                    index.set(at, self.nodes.len() as u32);
                    self.nodes.push(node);
                }
                None => self.damage.nodes += 1,
            }
            at += stride;
        }
        if at < end && at + node::SLOTS > end {
            self.damage.nodes += 1;
        }
    }

    /// Adds what slots have counted to the children they hold.
    fn add_counts_in_slots(&mut self, index: &NodeIndex) {
        for owner in 0..self.nodes.len() {
            let Some(&Node { slots: (mut at, end), .. }) = self.nodes.get(owner) else { break };
            while at + slot::SIZE <= end {
                let word = self.bytes.u32(at + slot::METHOD).unwrap_or(0);
                let distance = self.bytes.u32(at + slot::NODE).unwrap_or(0).cast_signed();
                let there = at.checked_add_signed(i64::from(distance) * layout::LINK_UNIT.cast_signed());
                let calls = self.bytes.u64(at + slot::CALLS).unwrap_or(0);
                let bytecodes = self.bytes.u64(at + slot::BYTECODES).unwrap_or(0);
                at += slot::SIZE;
                if (calls | bytecodes) == 0 {
                    continue;
                }
                if word == 0 {
                    if let Some(owner) = self.nodes.get_mut(owner) {
                        owner.charged = owner.charged.saturating_add(bytecodes);
                    }
                    continue;
                }
                let child = there.and_then(|there| index.get(there));
                match child.and_then(|i| self.nodes.get_mut(i as usize)) {
                    // In another tree, if its caller was called before the threads got new ones.
                    Some(child) if layout::method_word(child.method) == word => {
                        child.calls = child.calls.saturating_add(calls);
                        child.bytecodes = child.bytecodes.saturating_add(bytecodes);
                    }
                    _ => self.damage.slots += 1,
                }
            }
        }
    }

    /// Methods that have a name. Who was only presumed to be opaque gets none unless he is, and his calls are no damage.
    fn named_methods(&self) -> HashSet<u32> {
        let names = self.records.iter().filter_map(|record| match *record {
            Record::Method { id, .. } => Some(id),
            _ => None,
        });
        names.collect()
    }

    /// Adds a node for each opaque method that was counted in a slot of its caller.
    fn read_leaves(&mut self, named: &HashSet<u32>) {
        let mut leaves: HashMap<u32, &[u8]> = HashMap::new();
        for record in &self.records {
            if let Record::Method { id, leaves: table, .. } = *record
                && !table.is_empty()
            {
                leaves.insert(id, table);
            }
        }
        for owner in 0..self.nodes.len() {
            let Some(&Node { method, tree, slots: (first, end), .. }) = self.nodes.get(owner) else { break };
            let Some(table) = leaves.get(&method) else { continue };
            // No more than the node has slots, whatever the record says.
            let most = (end.saturating_sub(first) / slot::SIZE) as usize;
            for pair in table.chunks_exact(8).take(most) {
                let table = Bytes(pair);
                let (Some(number), Some(method)) = (table.u32(0), table.u32(4)) else { continue };
                let at = first + slot::SIZE * u64::from(number);
                let calls = self.bytes.u64(at + slot::CALLS).unwrap_or(0);
                let empty = self.bytes.u32(at + slot::METHOD) == Some(0);
                if at + slot::SIZE > end || calls == 0 || !empty || !named.contains(&method) {
                    continue;
                }
                self.nodes.push(Node {
                    at,
                    parent: Some(owner as u32),
                    method,
                    tree,
                    site: number as u16,
                    calls,
                    bytecodes: 0,
                    charged: 0,
                    tallied: false,
                    slots: (0, 0),
                    blocks: (0, 0),
                });
            }
        }
    }

    /// Adds a node below its root for each method that was counted in a tally.
    fn read_tallies(&mut self, named: &HashSet<u32>) {
        let Header { used: mut at, limit, .. } = self.header;
        let count = self.bytes.u64(header::TALLIES).unwrap_or(0);
        let used = self.bytes.u64(header::TALLY_USED).unwrap_or(0).min(tally::STRIDE);
        if used < tally::CELL {
            return;
        }
        let roots: HashMap<(u32, u32), u32> = (0..)
            .zip(&self.nodes)
            .filter(|(_, node)| node.parent.is_none())
            .map(|(i, root)| ((root.tree, root.site.into()), i))
            .collect();
        for i in 0..count {
            let Some(end) = at.checked_add(used).filter(|&end| end <= self.bytes.len()) else {
                self.damage.chunks += 1;
                break;
            };
            let root = (|| Some((self.bytes.u32(at + tally::TREE)?, self.bytes.u32(at + tally::ROOT)?)))();
            let cells = at + tally::CELL..end;
            let from_image_to_file = limit.wrapping_add(i.wrapping_mul(tally::STRIDE)).wrapping_sub(at);
            at = end;
            // Tree 0 is nobody's.
            let Some(root) = root.filter(|(tree, _)| *tree != 0) else { continue };
            match roots.get(&root) {
                Some(&parent) => self.read_cells(cells, from_image_to_file, (root.0, parent), named),
                None => self.damage.nodes += 1,
            }
        }
    }

    fn read_cells(
        &mut self,
        cells: Range<u64>,
        from_image_to_file: u64,
        (tree, parent): (u32, u32),
        named: &HashSet<u32>,
    ) {
        for (method, at) in (1..).zip(cells.step_by(tally::CELL as usize)) {
            let calls = self.bytes.u64(at).unwrap_or(0);
            let bytecodes = self.bytes.u64(at + tally::BYTECODES).unwrap_or(0);
            if calls | bytecodes != 0 && named.contains(&method) {
                self.nodes.push(Node {
                    at: at.wrapping_add(from_image_to_file),
                    parent: Some(parent),
                    method,
                    tree,
                    site: 0,
                    calls,
                    bytecodes,
                    charged: 0,
                    tallied: true,
                    slots: (0, 0),
                    blocks: (0, 0),
                });
            }
        }
    }

    fn read_node(
        &self,
        at: u64,
        stride: u64,
        tree: u32,
        index: &NodeIndex,
        blocks: &BlockCounts,
    ) -> Option<Node> {
        let word = self.bytes.u32(at + node::METHOD)?;
        let parent = self.bytes.u32(at + node::PARENT)?;
        let method = (word & 1 == 1).then_some(word >> 1)?;
        let parent = match (method, parent) {
            (layout::ROOT_METHOD, 0) => None,
            (layout::ROOT_METHOD, _) => return None,
            // In another tree, if the caller was called before the threads got new ones.
            _ => Some(index.get(u64::from(parent) * layout::ID_UNIT)?),
        };
        let n = u64::from(blocks.get(method)).min((stride - node::SLOTS) / 8);
        Some(Node {
            at,
            parent,
            method,
            tree,
            site: self.bytes.u16(at + node::SITE)?,
            calls: self.bytes.u64(at + node::CALLS)?,
            bytecodes: self.bytes.u64(at + node::BYTECODES)?,
            charged: 0,
            tallied: false,
            slots: (at + node::SLOTS, at + stride - 8 * n),
            blocks: (at + stride - 8 * n, n as u32),
        })
    }
}

fn read_header(bytes: Bytes<'_>) -> Result<Header, NotAnArena> {
    let truncated = NotAnArena::Truncated;
    let magic = bytes.u32(header::MAGIC).ok_or(NotAnArena::Truncated)?;
    if magic != layout::MAGIC {
        return Err(NotAnArena::Magic);
    }
    let version = bytes.u32(header::VERSION).ok_or(NotAnArena::Truncated)?;
    if version != layout::VERSION {
        return Err(NotAnArena::Version(version));
    }
    if bytes.len() < layout::HEADER_SIZE {
        return Err(truncated);
    }
    let u64_at = |at| bytes.u64(at).ok_or(NotAnArena::Truncated);
    let u32_at = |at| bytes.u32(at).ok_or(NotAnArena::Truncated);
    Ok(Header {
        pid: u32_at(header::PID)?,
        ended: u32_at(header::STATE)? == layout::state::ENDED,
        created: u64_at(header::CREATED)?,
        ended_at: u64_at(header::ENDED)?,
        used: u64_at(header::USED)?,
        tallied: u64_at(header::TALLIES)?.saturating_mul(u64_at(header::TALLY_USED)?),
        limit: u64_at(header::LIMIT)?,
        refused: u64_at(header::REFUSED)?,
        rewrite_nanos: u64_at(header::REWRITE_NANOS)?,
        classes: u64_at(header::CLASSES)?,
        methods: u64_at(header::METHODS)?,
        methods_left: u64_at(header::METHODS_LEFT)?,
        classes_left: u64_at(header::CLASSES_LEFT)?,
        walks: u64_at(header::WALKS)?,
        samples: u64_at(header::SAMPLES)?,
        sampling_nanos: u64_at(header::SAMPLING_NANOS)?,
        lost: std::array::from_fn(|cause| bytes.u64(header::LOST + 8 * cause as u64).unwrap_or(0)),
    })
}

/// Kind, tree, size and used bytes of the chunk at `at`, if they make sense.
fn read_chunk_header(bytes: Bytes<'_>, at: u64, end: u64) -> Option<(u32, u32, u64, u64)> {
    let kind = bytes.u32(at + chunk::KIND)?;
    let tree = bytes.u32(at + chunk::TREE)?;
    let size = bytes.u64(at + chunk::SIZE)?;
    let used = bytes.u64(at + chunk::USED)?;
    let sound = size >= chunk::HEADER
        && size % layout::CHUNK_ALIGN == 0
        && at.checked_add(size)? <= end
        && (chunk::HEADER..=size).contains(&used);
    sound.then_some((kind, tree, size, used))
}

/// From a node's offset to its number: a table over the arena in steps of a node's alignment,
/// because a hash map of ten million nodes is several times slower and larger.
struct NodeIndex(Vec<u32>);

impl NodeIndex {
    fn new(end: u64) -> Self {
        // Sized by bytes that are really there, so it is bounded by half the input's size.
        NodeIndex(vec![0; usize::try_from(end / 8 + 1).unwrap_or(0)])
    }

    fn set(&mut self, at: u64, number: u32) {
        if let Some(entry) = self.0.get_mut((at / 8) as usize) {
            *entry = number + 1;
        }
    }

    fn get(&self, at: u64) -> Option<u32> {
        let entry = *self.0.get(usize::try_from(at / 8).ok()?)?;
        at.is_multiple_of(8).then_some(entry)?.checked_sub(1)
    }
}

/// Number of block counters by method id.
#[derive(Default)]
struct BlockCounts(Vec<u32>);

impl BlockCounts {
    fn set(&mut self, method: u32, blocks: u32) {
        if blocks == 0 || method >= layout::MAX_METHODS {
            return;
        }
        let i = method as usize;
        if self.0.len() <= i {
            self.0.resize(i + 1, 0);
        }
        if let Some(entry) = self.0.get_mut(i) {
            *entry = blocks;
        }
    }

    fn get(&self, method: u32) -> u32 {
        self.0.get(method as usize).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let (known, first) =
            (Contents::read(&bytes).unwrap().records.len(), layout::HEADER_SIZE + chunk::HEADER);
        put(&mut bytes, first, &(crate::record::tag::START + 1).to_ne_bytes());
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
}
