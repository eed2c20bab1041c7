//! Which nodes belong to which followed method. Parents come before their children, so a node is looked at once: it
//! belongs where its parent does, or begins a share of its own.

use std::collections::HashMap;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use super::methods::Methods;
use super::{Done, Progress, size};
use crate::layout::{self, chunk, node};
use crate::writer::ArenaWriter;

/// No two nodes begin in the same so many bytes.
const CELL: u64 = node::SLOTS;

/// All nodes that were read, and the shares that they make.
#[derive(Default)]
pub(super) struct Shares {
    chunks: Vec<Nodes>,
    shares: Vec<Share>,
    by_method_and_tree: HashMap<(u32, u32), u32>,
}

/// A chunk of nodes.
struct Nodes {
    chunk: Progress,
    tree: u32,
    /// By cell: the share that the node which begins there belongs to, plus one.
    owners: Vec<u32>,
}

/// The nodes of one followed method in one tree.
pub(super) struct Share {
    method: u32,
    /// Those of the method itself.
    pub(super) outermost: Vec<u64>,
    /// All of them.
    pub(super) nodes: Vec<u64>,
    /// What had been done when it was asked for last.
    pub(super) told: Done,
}

impl Shares {
    /// The shares of a followed method.
    pub(super) fn of(&self, number: u32) -> Vec<u32> {
        let is = |at: &u32| self.get(*at).is_some_and(|share| share.method == number);
        (0..self.shares.len() as u32).filter(is).collect()
    }

    /// Its share in the tree around an offset.
    pub(super) fn near(&self, number: u32, offset: u64) -> Option<u32> {
        let tree = self.chunk_at(offset)?.tree;
        self.by_method_and_tree.get(&(number, tree)).copied()
    }

    pub(super) fn get(&self, at: u32) -> Option<&Share> {
        self.shares.get(at as usize)
    }

    pub(super) fn get_mut(&mut self, at: u32) -> Option<&mut Share> {
        self.shares.get_mut(at as usize)
    }

    pub(super) fn add_chunk(&mut self, chunk: Progress, tree: u32) {
        let owners = vec![0; (chunk.size / CELL + 1) as usize];
        self.chunks.push(Nodes { chunk, tree, owners });
    }

    fn chunk_at(&self, offset: u64) -> Option<&Nodes> {
        // In the order in which they were added, which is that of their offsets.
        let after = self.chunks.partition_point(|nodes| nodes.chunk.at <= offset);
        self.chunks.get(after.checked_sub(1)?).filter(|nodes| offset < nodes.chunk.at + nodes.chunk.size)
    }

    /// Reads nodes that are new.
    pub(super) fn read(&mut self, arena: &ArenaWriter, methods: &Methods) {
        for number in 0..self.chunks.len() {
            self.read_chunk(arena, methods, number);
        }
    }

    fn read_chunk(&mut self, arena: &ArenaWriter, methods: &Methods, number: usize) {
        let Some(&Nodes { chunk: Progress { at, size: all, mut read }, tree, .. }) = self.chunks.get(number)
        else {
            return;
        };
        if read + CELL > all {
            return;
        }
        let used = arena.long(at + chunk::USED).load(Acquire).min(all);
        while read + CELL <= used {
            let here = at + read;
            let stride = size(arena, here);
            if stride < CELL || read + stride > used {
                break;
            }
            // A node whose parent was added to another chunk meanwhile: next time.
            let Some(owner) = self.owner(arena, methods, here, at, tree) else { break };
            if let Some(cell) =
                self.chunks.get_mut(number).and_then(|n| n.owners.get_mut((read / CELL) as usize))
            {
                *cell = owner;
            }
            read += stride;
        }
        if let Some(nodes) = self.chunks.get_mut(number) {
            nodes.chunk.read = read;
        }
    }

    /// The share, plus one, that a new node belongs to; none if its parent has not been read yet.
    fn owner(
        &mut self,
        arena: &ArenaWriter,
        methods: &Methods,
        at: u64,
        chunk: u64,
        tree: u32,
    ) -> Option<u32> {
        let id = arena.word(at + node::METHOD).load(Relaxed) >> 1;
        if id == layout::ROOT_METHOD {
            return Some(0);
        }
        let parent = u64::from(arena.word(at + node::PARENT).load(Relaxed)) * layout::ID_UNIT;
        let around = self.chunk_at(parent)?;
        let offset = parent - around.chunk.at;
        let read = if around.chunk.at == chunk { parent < at } else { offset < around.chunk.read };
        if !read {
            return None;
        }
        let above = *around.owners.get((offset / CELL) as usize)?;
        let Some(method) = methods.get(id) else { return Some(0) };
        let (share, outermost) = match (above.checked_sub(1), method.begins) {
            (Some(_), _) if method.left_out => return Some(0),
            (Some(share), _) => (share, false),
            (None, Some(number)) => (self.share_of(number, tree), true),
            (None, None) => return Some(0),
        };
        let entry = self.shares.get_mut(share as usize)?;
        entry.nodes.push(at);
        if outermost {
            entry.outermost.push(at);
        }
        Some(share + 1)
    }

    fn share_of(&mut self, method: u32, tree: u32) -> u32 {
        let shares = &mut self.shares;
        *self.by_method_and_tree.entry((method, tree)).or_insert_with(|| {
            shares.push(Share { method, outermost: Vec::new(), nodes: Vec::new(), told: Done::default() });
            shares.len() as u32 - 1
        })
    }
}
