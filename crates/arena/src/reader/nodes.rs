//! Nodes of trees, and what is counted in their slots.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::Contents;
use crate::bytes::Bytes;
use crate::counting::Parts;
use crate::layout::{self, node, slot};
use crate::record::Record;

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
    pub(super) slots: (u64, u64),
    /// File offset and number of the block counters behind the slots.
    pub blocks: (u64, u32),
    /// The same of the columns behind those.
    pub columns: (u64, u32),
}

impl Node {
    /// Offset of the last byte of its slots; 0 if it has none.
    pub fn last_slot(&self) -> u64 {
        let (first, end) = self.slots;
        if end > first { end - 1 } else { 0 }
    }
}

impl Contents<'_> {
    pub(super) fn read_nodes(
        &mut self,
        mut at: u64,
        end: u64,
        tree: u32,
        index: &mut NodeIndex,
        tails: &Tails,
    ) {
        while at + node::SLOTS <= end {
            let Some(stride) = self.bytes.u16(at + node::STRIDE).map(|units| 8 * u64::from(units)) else {
                break;
            };
            if stride < node::SLOTS || at + stride > end {
                self.damage.nodes += 1;
                break;
            }
            match self.read_node(at, stride, tree, index, tails) {
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
    pub(super) fn add_counts_in_slots(&mut self, index: &NodeIndex) {
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

    /// Methods that have a name. One that was only presumed to be opaque gets a name only if it is, and its calls are no damage.
    pub(super) fn named_methods(&self) -> HashSet<u32> {
        let names = self.records.iter().filter_map(|record| match *record {
            Record::Method { id, .. } => Some(id),
            _ => None,
        });
        names.collect()
    }

    /// Adds a node for each opaque method that was counted in a slot of its caller.
    pub(super) fn read_leaves(&mut self, named: &HashSet<u32>) {
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
                    columns: (0, 0),
                });
            }
        }
    }

    fn read_node(&self, at: u64, stride: u64, tree: u32, index: &NodeIndex, tails: &Tails) -> Option<Node> {
        let word = self.bytes.u32(at + node::METHOD)?;
        let parent = self.bytes.u32(at + node::PARENT)?;
        let method = (word & 1 == 1).then_some(word >> 1)?;
        let parent = match (method, parent) {
            (layout::ROOT_METHOD, 0) => None,
            (layout::ROOT_METHOD, _) => return None,
            // In another tree, if the caller was called before the threads got new ones.
            _ => Some(index.get(u64::from(parent) * layout::ID_UNIT)?),
        };
        let (blocks, columns) = tails.get(method);
        let Parts { slots, blocks, columns } = Parts::of(at, stride, blocks, columns);
        let longs = |range: Range<u64>| (range.start, ((range.end - range.start) / 8) as u32);
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
            slots: (slots.start, slots.end),
            blocks: longs(blocks),
            columns: longs(columns),
        })
    }
}

/// From a node's offset to its number: a table over the arena in steps of a node's alignment,
/// because a hash map of ten million nodes is several times slower and larger.
pub(super) struct NodeIndex(Vec<u32>);

impl NodeIndex {
    pub(super) fn new(end: u64) -> Self {
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

/// Numbers of block counters and of columns by method id: what nodes have behind their slots.
#[derive(Default)]
pub(super) struct Tails(Vec<(u32, u32)>);

impl Tails {
    pub(super) fn set(&mut self, method: u32, blocks: u32, columns: u32) {
        if blocks | columns == 0 || method >= layout::MAX_METHODS {
            return;
        }
        let i = method as usize;
        if self.0.len() <= i {
            self.0.resize(i + 1, (0, 0));
        }
        if let Some(entry) = self.0.get_mut(i) {
            *entry = (blocks, columns);
        }
    }

    fn get(&self, method: u32) -> (u32, u32) {
        self.0.get(method as usize).copied().unwrap_or((0, 0))
    }
}
