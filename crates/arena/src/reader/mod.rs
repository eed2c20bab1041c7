//! Reads an arena, running or left behind, from its bytes.
//!
//! Nothing here trusts a length or an id: what does not fit is left out and counted in
//! [`Damage`]. The work is linear in the size of the arena, whatever is in it.
//!
//! The header comes first, then chunk after chunk: the log, which says how large nodes are; the nodes, and what is counted in
//! their slots; tallies; what samplers wrote.

mod header;
mod ledgers;
mod nodes;
mod tallies;
#[cfg(test)]
mod tests;

pub use header::{Header, NotAnArena};
pub use ledgers::Entry;
pub use nodes::Node;

use crate::bytes::Bytes;
use crate::layout::{self, chunk};
use crate::record::{RECORD_HEADER, Record};
use crate::sampled::Sampled;
use nodes::{NodeIndex, Tails};

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
    /// Sampled contexts without a caller, samples and events without the context that they name.
    pub samples: u64,
}

/// Everything in an arena.
pub struct Contents<'a> {
    /// The header's numbers.
    pub header: Header,
    /// The log, in order.
    pub records: Vec<Record<'a>>,
    /// The nodes of all trees, parents before children.
    pub nodes: Vec<Node>,
    /// What instructions that are told apart have done.
    pub ledgers: Vec<Entry>,
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
        let header = header::read(bytes)?;
        let mut contents = Contents {
            header,
            records: Vec::new(),
            nodes: Vec::new(),
            ledgers: Vec::new(),
            sampled: Sampled::default(),
            damage: Damage::default(),
            bytes,
        };
        let mut tails = Tails::default();
        let mut node_chunks = Vec::new();
        let mut sample_chunks = Vec::new();
        let mut event_chunks = Vec::new();
        let mut ledger_chunks = Vec::new();
        let (mut object_chunks, mut growth_chunks) = (Vec::new(), Vec::new());
        let end = contents.header.used.min(bytes.len());
        let mut at = layout::HEADER_SIZE;
        while at < end {
            let Some((kind, tree, size, used)) = read_chunk_header(bytes, at, end) else {
                contents.damage.chunks += 1;
                break;
            };
            match kind {
                layout::CHUNK_LOG => contents.read_log(at + chunk::HEADER, at + used, &mut tails),
                layout::CHUNK_NODES => node_chunks.push((at, at + used, tree)),
                layout::CHUNK_CONTEXTS => {
                    contents.damage.samples +=
                        contents.sampled.read_contexts(bytes, at + chunk::HEADER, at + used);
                }
                layout::CHUNK_SAMPLES => sample_chunks.push((at + chunk::HEADER, at + used)),
                layout::CHUNK_LEDGER => ledger_chunks.push((at, at + used, tree)),
                layout::CHUNK_EVENTS => event_chunks.push((at + chunk::HEADER, at + used)),
                layout::CHUNK_OBJECTS => object_chunks.push((at + chunk::HEADER, at + used)),
                layout::CHUNK_GROWTH => growth_chunks.push((at + chunk::HEADER, at + used)),
                _ => {}
            }
            at += size;
        }
        // Nodes come after the whole log: a method's number of block counters must be known.
        let mut index = NodeIndex::new(end);
        for (at, end, tree) in node_chunks {
            contents.read_nodes(at + chunk::HEADER, end, tree, &mut index, &tails);
        }
        contents.add_counts_in_slots(&index);
        let named = contents.named_methods();
        contents.read_leaves(&named);
        contents.read_tallies(&named);
        contents.read_ledgers(&ledger_chunks);
        for (at, end) in sample_chunks {
            contents.damage.samples += contents.sampled.read_samples(bytes, at, end);
        }
        for (at, end) in event_chunks {
            contents.damage.samples += contents.sampled.read_events(bytes, at, end);
        }
        for (at, end) in object_chunks {
            contents.damage.samples += contents.sampled.read_objects(bytes, at, end);
        }
        for (at, end) in growth_chunks {
            contents.damage.samples += contents.sampled.read_growth(bytes, at, end);
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
        self.longs(node.blocks)
    }

    /// The values of a node's columns, in the order of the method's table of them.
    pub fn columns(&self, node: &Node) -> impl Iterator<Item = u64> + '_ {
        self.longs(node.columns)
    }

    fn longs(&self, (at, n): (u64, u32)) -> impl Iterator<Item = u64> + '_ {
        (0..u64::from(n)).filter_map(move |i| self.bytes.u64(at + 8 * i))
    }

    fn read_log(&mut self, mut at: u64, end: u64, tails: &mut Tails) {
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
                    if let Record::Method { id, blocks, columns, .. } = record {
                        tails.set(id, (blocks.len() / 6) as u32, (columns.len() / 12) as u32);
                    }
                    self.records.push(record);
                }
                None if !Record::is_known(tag) => {}
                None => self.damage.records += 1,
            }
            at = next;
        }
    }
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
