//! Tallies: methods that are counted without contexts.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::{Contents, Header, Node};
use crate::layout::{header, tally};

impl Contents<'_> {
    /// Adds a node below its root for each method that was counted in a tally.
    pub(super) fn read_tallies(&mut self, named: &HashSet<u32>) {
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
            // There is no tree 0: the tally was not given to a thread.
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
                    columns: (0, 0),
                });
            }
        }
    }
}
