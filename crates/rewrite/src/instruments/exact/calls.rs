//! The calls a method makes, and the slots its nodes have for them.

use std::collections::HashMap;

use quipu_classfile::opcode::INVOKEDYNAMIC;
use quipu_classfile::{Code, ConstantPool};

use crate::call::{ByTarget, Call, Target, call_of, is_object_constructor};
use crate::{Known, OpaqueCallee};

/// Beyond so many targets slots are shared, so that the nodes of huge methods stay small; sharing only costs time.
/// Those of call sites and of opaque callees are never shared.
const MOST_TARGETS: usize = 64;

/// The native method in which every orderly end of a process ends.
const ENDS_THE_PROCESS: (&[u8], &[u8]) = (b"java/lang/Shutdown", b"halt0");

/// What is inserted at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Site {
    /// The caller publishes this slot.
    Publish {
        /// Where the call is.
        bci: u32,
        /// The slot.
        slot: u32,
    },
    /// The caller counts an opaque callee.
    Opaque {
        /// Where the call is.
        bci: u32,
        /// The callee's slot.
        slot: u32,
        /// The callee.
        id: u32,
        /// Whether the process ends in it, so that what was counted must be stored before.
        ends: bool,
    },
    /// The caller publishes a slot and, after the call, counts an opaque callee if no other has counted itself there.
    Possible {
        /// Where the call is.
        bci: u32,
        /// The instruction behind it.
        next: u32,
        /// The slot for a callee that counts itself.
        slot: u32,
        /// The slot of the opaque callee.
        leaf: u32,
        /// The opaque callee.
        id: u32,
    },
}

/// Slots of callees that count themselves.
#[derive(Default)]
struct Targets<'a> {
    slots: ByTarget<'a>,
    /// In the order in which they were met.
    first: Vec<u32>,
}

/// All calls of a method.
#[derive(Debug, Default)]
pub struct Calls {
    /// What is inserted, in code order.
    pub sites: Vec<Site>,
    /// Number of slots, slot 0 included.
    pub slots: u32,
    /// Bytecode index of each slot from 1 on, if slots are sites.
    pub bcis: Vec<u16>,
    /// Opaque callees that are called before anything can go wrong; they need no code.
    pub derived: Vec<u32>,
    /// Slot and opaque callee of each slot that is an opaque callee's alone.
    pub leaves: Vec<[u32; 2]>,
}

impl Calls {
    /// Leaves every second slot to methods that charge what they execute to the node.
    pub fn leave_every_second_slot(&mut self) {
        for site in &mut self.sites {
            match site {
                Site::Publish { slot, .. } | Site::Opaque { slot, .. } => *slot *= 2,
                Site::Possible { slot, leaf, .. } => (*slot, *leaf) = (*slot * 2, *leaf * 2),
            }
        }
        for [slot, _] in &mut self.leaves {
            *slot *= 2;
        }
        self.slots *= 2;
    }

    /// Finds the calls. `prefix_end` is the first instruction behind those that every run of the method executes; `presume`
    /// whether callees of which nothing is known may turn out to be opaque.
    pub fn find(
        code: &Code<'_>,
        pool: &ConstantPool<'_>,
        sites: bool,
        prefix_end: u32,
        presume: bool,
        known: &dyn Known,
    ) -> Calls {
        let mut calls = Calls { slots: 1, ..Calls::default() };
        let mut targets = Targets::default();
        let mut leaves = HashMap::new();
        for instruction in code.instructions().map_while(Result::ok) {
            let bci = instruction.bci;
            let dynamic = instruction.opcode == INVOKEDYNAMIC;
            let call = call_of(&instruction, pool);
            let (key, opaque) = match call {
                Some(call) => {
                    let opaque = known.opaque(&call).filter(|opaque| presume || !opaque.presumed);
                    ((call, sites.then_some(bci)), opaque)
                }
                None if dynamic => {
                    let none = Call {
                        owner: b"",
                        name: b"",
                        descriptor: b"",
                        is_virtual: false,
                        is_interface: false,
                    };
                    ((none, Some(bci)), None)
                }
                None => continue,
            };
            if let (Some(OpaqueCallee { id, certain: true, .. }), true, false) =
                (opaque, bci < prefix_end, sites)
            {
                calls.derived.push(id);
                continue;
            }
            // Not known to be opaque, but never counted either; leaves call it, and have no cursor to publish in.
            if opaque.is_none() && call.is_some_and(|call| is_object_constructor(&call)) {
                continue;
            }
            let ends = call.is_some_and(|call| (call.owner, call.name) == ENDS_THE_PROCESS);
            let site = match opaque {
                None => Site::Publish { bci, slot: calls.slot_of(&mut targets, key, bci, sites) },
                Some(OpaqueCallee { id, certain: true, .. }) => {
                    Site::Opaque { bci, slot: calls.leaf_of(&mut leaves, id, bci, sites), id, ends }
                }
                Some(OpaqueCallee { id, certain: false, .. }) => {
                    let slot = calls.slot_of(&mut targets, key, bci, sites);
                    let leaf = calls.leaf_of(&mut leaves, id, bci, sites);
                    Site::Possible { bci, next: instruction.end(), slot, leaf, id }
                }
            };
            calls.sites.push(site);
        }
        calls
    }

    /// The slot of a callee that counts itself.
    fn slot_of<'a>(&mut self, targets: &mut Targets<'a>, target: Target<'a>, bci: u32, sites: bool) -> u32 {
        if let Some(&slot) = targets.slots.get(&target) {
            return slot;
        }
        let slot = match targets.first.get(bci as usize % MOST_TARGETS) {
            Some(&shared) if targets.first.len() == MOST_TARGETS && !sites => shared,
            _ => {
                let slot = self.add_slot(bci, sites);
                targets.first.push(slot);
                slot
            }
        };
        targets.slots.insert(target, slot);
        slot
    }

    /// The slot of an opaque callee, which no other callee shares.
    fn leaf_of(
        &mut self,
        leaves: &mut HashMap<(u32, Option<u32>), u32>,
        id: u32,
        bci: u32,
        sites: bool,
    ) -> u32 {
        *leaves.entry((id, sites.then_some(bci))).or_insert_with(|| {
            let slot = self.add_slot(bci, sites);
            self.leaves.push([slot, id]);
            slot
        })
    }

    fn add_slot(&mut self, bci: u32, sites: bool) -> u32 {
        if sites {
            self.bcis.push(bci as u16);
        }
        self.slots += 1;
        self.slots - 1
    }
}
