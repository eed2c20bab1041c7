//! What nodes have counted, added up.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

use super::methods::Methods;
use super::shares::Share;
use super::{Done, size};
use crate::layout::{self, node, slot};
use crate::writer::ArenaWriter;

/// A sum over nodes.
pub(super) struct Sum<'a> {
    arena: &'a ArenaWriter,
    methods: &'a Methods,
    done: Done,
    /// What each method executed itself, by id, if that is wanted.
    hot: Option<HashMap<u32, u64>>,
}

/// What a slot has counted of the node it holds.
struct Held {
    method: u32,
    node: u64,
    calls: u64,
    bytecodes: u64,
}

impl<'a> Sum<'a> {
    pub(super) fn new(arena: &'a ArenaWriter, methods: &'a Methods) -> Sum<'a> {
        Sum { arena, methods, done: Done::default(), hot: None }
    }

    /// Also for each method.
    pub(super) fn of_each_method(self) -> Sum<'a> {
        Sum { hot: Some(HashMap::new()), ..self }
    }

    /// The sum, and what each method executed itself.
    pub(super) fn finish(self) -> (Done, HashMap<u32, u64>) {
        (self.done, self.hot.unwrap_or_default())
    }

    /// Adds the nodes of a share.
    pub(super) fn add(mut self, share: &Share) -> Sum<'a> {
        let arena = self.arena;
        for &at in &share.outermost {
            let parent = u64::from(arena.word(at + node::PARENT).load(Relaxed)) * layout::ID_UNIT;
            let mut calls = arena.long(at + node::CALLS).load(Relaxed);
            for held in self.slots(parent).filter(|held| held.node == at) {
                self.add_calls(held.method, held.calls, held.bytecodes);
                calls = calls.wrapping_add(held.calls);
            }
            self.done.runs = self.done.runs.wrapping_add(calls);
        }
        for &at in &share.nodes {
            self.add_node(at);
        }
        self
    }

    fn add_node(&mut self, at: u64) {
        let arena = self.arena;
        let id = arena.word(at + node::METHOD).load(Relaxed) >> 1;
        let (calls, bytecodes) =
            (arena.long(at + node::CALLS).load(Relaxed), arena.long(at + node::BYTECODES).load(Relaxed));
        self.add_calls(id, calls, bytecodes);
        for held in self.slots(at) {
            self.add_calls(held.method, held.calls, held.bytecodes);
        }
        let Some(method) = self.methods.get(id) else { return };
        let leaves = method.counting.leaves.iter();
        for &(number, _) in leaves.filter(|(_, callee)| self.methods.get(*callee).is_some()) {
            let leaf = at + node::SLOTS + u64::from(number) * slot::SIZE;
            if arena.word(leaf + slot::METHOD).load(Relaxed) == 0 {
                let calls = arena.long(leaf + slot::CALLS).load(Relaxed);
                self.done.calls = self.done.calls.wrapping_add(calls);
            }
        }
        let blocks = method.counting.parts(at, size(arena, at)).blocks;
        let executed = blocks.step_by(8).map(|at| arena.long(at).load(Relaxed));
        let allocations = method.counting.allocations(executed);
        self.done.allocations = self.done.allocations.wrapping_add(allocations);
    }

    fn add_calls(&mut self, id: u32, calls: u64, bytecodes: u64) {
        let Some(method) = self.methods.get(id).filter(|method| !method.left_out) else { return };
        let executed = method.counting.executed(calls, bytecodes);
        self.done.bytecodes = self.done.bytecodes.wrapping_add(executed);
        if let Some(hot) = &mut self.hot {
            let here = hot.entry(id).or_insert(0);
            *here = executed.wrapping_add(*here);
        }
        self.done.calls = self.done.calls.wrapping_add(method.counting.calls_and_derived(calls));
    }

    /// The slots of a node that hold something.
    fn slots(&self, owner: u64) -> impl Iterator<Item = Held> + use<'a> {
        let arena = self.arena;
        let id = arena.word(owner + node::METHOD).load(Relaxed) >> 1;
        let size = size(arena, owner);
        let slots = match self.methods.get(id) {
            Some(method) => method.counting.parts(owner, size).slots,
            None => owner + node::SLOTS..owner + size,
        };
        let places = slots.clone().step_by(slot::SIZE as usize);
        places.take_while(move |at| at + slot::SIZE <= slots.end).filter_map(move |at| {
            let word = arena.word(at + slot::METHOD).load(Relaxed);
            let distance = arena.word(at + slot::NODE).load(Relaxed).cast_signed();
            Some(Held {
                method: (word != 0).then_some(word >> 1)?,
                node: at.checked_add_signed(i64::from(distance) * layout::LINK_UNIT.cast_signed())?,
                calls: arena.long(at + slot::CALLS).load(Relaxed),
                bytecodes: arena.long(at + slot::BYTECODES).load(Relaxed),
            })
        })
    }
}
