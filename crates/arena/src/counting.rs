//! How nodes of a method are read: where their parts are, and what was counted, of which they have in memory only what
//! does not follow from something else. All readers of nodes go by this.

use std::ops::Range;

use crate::layout::node;
use crate::record::Record;

/// What the record of a rewritten method says about its nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counting {
    /// Bytecodes that every call executes and that are not counted otherwise.
    pub per_call: u64,
    /// The blocks that have counters.
    pub blocks: Vec<CountedBlock>,
    /// How many columns there are.
    pub columns: u32,
    /// Opaque methods that every call calls once.
    pub derived: Vec<u32>,
    /// Slots that count calls of an opaque method, and the method. One without a record of its own was only presumed to be
    /// opaque: what such a slot has counted is nothing.
    pub leaves: Vec<(u32, u32)>,
}

/// A block that has a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedBlock {
    /// Where it begins.
    pub bci: u16,
    /// Its instructions; none if the other blocks of the method have no counters.
    pub instructions: u16,
    /// How many of them make objects or arrays.
    pub allocations: u16,
}

/// Where the parts of a node are, as offsets in the arena.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// What it has for callees.
    pub slots: Range<u64>,
    /// A counter for each block.
    pub blocks: Range<u64>,
    /// A value for each column.
    pub columns: Range<u64>,
}

impl Parts {
    /// Of a node of this size. One that is too small for what its method has now is of an earlier profile, and has fewer.
    pub fn of(at: u64, size: u64, blocks: u32, columns: u32) -> Parts {
        let behind = size.saturating_sub(node::SLOTS) / 8;
        let columns = u64::from(columns).min(behind);
        let blocks = u64::from(blocks).min(behind - columns);
        let end = at + size;
        let (columns_at, blocks_at) = (end - 8 * columns, end - 8 * (columns + blocks));
        Parts { slots: at + node::SLOTS..blocks_at, blocks: blocks_at..columns_at, columns: columns_at..end }
    }
}

impl Counting {
    /// What a record says, with the method's id; `None` if it is not a method's.
    pub fn of(record: &Record<'_>) -> Option<(u32, Counting)> {
        let Record::Method { id, per_call, blocks, derived, leaves, columns, .. } = *record else {
            return None;
        };
        let counting = Counting {
            per_call: per_call.into(),
            blocks: blocks.as_chunks().0.iter().map(CountedBlock::of).collect(),
            columns: (columns.len() / 12) as u32,
            derived: derived.as_chunks().0.iter().map(|id| u32::from_ne_bytes(*id)).collect(),
            leaves: leaves.as_chunks().0.iter().map(leaf).collect(),
        };
        Some((id, counting))
    }

    /// The parts of a node of this size.
    pub fn parts(&self, at: u64, size: u64) -> Parts {
        Parts::of(at, size, self.blocks.len() as u32, self.columns)
    }

    /// Bytecodes that calls have executed, of which so many were counted. It wraps, as the counters do: differences are then
    /// right whatever they have reached.
    pub fn executed(&self, calls: u64, counted: u64) -> u64 {
        self.per_call.wrapping_mul(calls).wrapping_add(counted)
    }

    /// Those calls, and those of opaque methods that they made and nothing counted.
    pub fn calls_and_derived(&self, calls: u64) -> u64 {
        calls.wrapping_mul(1 + self.derived.len() as u64)
    }

    /// What allocated, given how often each block was executed.
    pub fn allocations(&self, executed: impl Iterator<Item = u64>) -> u64 {
        let each = self.blocks.iter().zip(executed).map(|(block, times)| block.allocated(times));
        each.fold(0, u64::wrapping_add)
    }
}

impl CountedBlock {
    fn of(&[a, b, c, d, e, f]: &[u8; 6]) -> CountedBlock {
        let [bci, instructions, allocations] = [[a, b], [c, d], [e, f]].map(u16::from_ne_bytes);
        CountedBlock { bci, instructions, allocations }
    }

    /// Executions of its instructions that make objects or arrays.
    pub fn allocated(&self, executed: u64) -> u64 {
        executed.wrapping_mul(self.allocations.into())
    }
}

fn leaf(&[a, b, c, d, e, f, g, h]: &[u8; 8]) -> (u32, u32) {
    (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{node_size, slot};

    #[test]
    fn columns_lie_behind_blocks_behind_slots() {
        let parts = Parts::of(1000, node_size(2, 5), 3, 2);
        let slots_end = 1000 + node::SLOTS + 2 * slot::SIZE;
        assert_eq!(parts.slots, 1000 + node::SLOTS..slots_end);
        assert_eq!(parts.blocks, slots_end..slots_end + 24);
        assert_eq!(parts.columns, slots_end + 24..1000 + node_size(2, 5));
    }

    #[test]
    fn a_node_that_is_too_small_has_fewer() {
        let end = node_size(0, 3);
        assert_eq!(Parts::of(0, end, 3, 2).blocks, node::SLOTS..node::SLOTS + 8);
        assert_eq!(Parts::of(0, end, 9, 9).columns, node::SLOTS..end);
        assert_eq!(Parts::of(0, 8, 9, 9).columns, 8..8);
    }

    #[test]
    fn some_of_what_was_done_follows_from_calls() {
        let triples: Vec<u8> = [4u16, 3, 2, 9, 1, 0].iter().flat_map(|n| n.to_ne_bytes()).collect();
        let ids: Vec<u8> = [7u32, 8].iter().flat_map(|n| n.to_ne_bytes()).collect();
        let record = Record::Method {
            id: 5,
            class: 1,
            flags: 0,
            per_call: 10,
            name: b"",
            descriptor: b"",
            lines: b"",
            sites: b"",
            blocks: &triples,
            derived: &ids,
            leaves: &ids,
            columns: &[0; 24],
        };
        let (id, counting) = Counting::of(&record).unwrap();
        assert_eq!((id, counting.columns, &counting.leaves[..]), (5, 2, &[(7, 8)][..]));
        assert_eq!((counting.executed(3, 4), counting.calls_and_derived(3)), (34, 9));
        assert_eq!(counting.allocations([6, 100].into_iter()), 12);
        assert_eq!(Counting::of(&Record::Start { time: 0 }), None);
    }
}
