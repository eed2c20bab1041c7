//! The calls a method makes, and the slots its nodes have for them.

use std::collections::HashMap;

use quipu_classfile::opcode::{INVOKEDYNAMIC, INVOKEINTERFACE, INVOKESPECIAL, INVOKESTATIC, INVOKEVIRTUAL};
use quipu_classfile::{Code, ConstantPool, Instruction};

use crate::{Known, OpaqueCallee};

/// Beyond so many targets slots are shared, so that the nodes of huge methods stay small; sharing only costs time.
/// Call sites are never shared.
const MOST_TARGETS: u32 = 64;

/// The native method in which every orderly end of a process ends.
const ENDS_THE_PROCESS: (&[u8], &[u8]) = (b"java/lang/Shutdown", b"halt0");

/// A call as it stands in the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Call<'a> {
    /// Internal name of the class it names.
    pub owner: &'a [u8],
    /// Method name.
    pub name: &'a [u8],
    /// Descriptor.
    pub descriptor: &'a [u8],
    /// Whether the receiver's class decides what runs.
    pub is_virtual: bool,
}

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
        /// The slot of the callee's node.
        slot: u32,
        /// The callee.
        id: u32,
        /// Whether the process ends in it, so that what was counted must be stored before.
        ends: bool,
    },
    /// The caller publishes a slot and, after the call, counts an opaque callee if nobody counted himself there.
    Possible {
        /// Where the call is.
        bci: u32,
        /// The instruction behind it.
        next: u32,
        /// The slot for a callee that counts itself; the opaque one has the slot behind it.
        slot: u32,
        /// The opaque callee.
        id: u32,
    },
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
}

/// The instruction's call; `None` if it is none or is malformed.
pub fn call_of<'a>(instruction: &Instruction<'_>, pool: &ConstantPool<'a>) -> Option<Call<'a>> {
    let is_virtual = match instruction.opcode {
        INVOKEVIRTUAL | INVOKEINTERFACE => true,
        INVOKESTATIC | INVOKESPECIAL => false,
        _ => return None,
    };
    let member = pool.member(instruction.pool_index()?).ok()?;
    Some(Call { owner: member.owner, name: member.name, descriptor: member.descriptor, is_virtual })
}

/// Constructors that throw nothing and call nothing.
pub fn is_object_constructor(call: &Call<'_>) -> bool {
    call.owner == b"java/lang/Object" && call.name == b"<init>"
}

impl Calls {
    /// Leaves every second slot to those who charge what they execute to the node.
    pub fn leave_every_second_slot(&mut self) {
        for site in &mut self.sites {
            match site {
                Site::Publish { slot, .. } | Site::Opaque { slot, .. } | Site::Possible { slot, .. } => {
                    *slot *= 2
                }
            }
        }
        self.slots *= 2;
    }

    /// Finds the calls. `prefix_end` is the first instruction behind those that every run of the method executes.
    pub fn find(
        code: &Code<'_>,
        pool: &ConstantPool<'_>,
        sites: bool,
        prefix_end: u32,
        known: &dyn Known,
    ) -> Calls {
        let mut calls = Calls { slots: 1, ..Calls::default() };
        let mut targets: HashMap<(Call<'_>, Option<u32>), u32> = HashMap::new();
        for instruction in code.instructions().map_while(Result::ok) {
            let bci = instruction.bci;
            let dynamic = instruction.opcode == INVOKEDYNAMIC;
            let call = call_of(&instruction, pool);
            let (key, opaque) = match call {
                Some(call) => ((call, sites.then_some(bci)), known.opaque(&call)),
                None if dynamic => {
                    let none = Call { owner: b"", name: b"", descriptor: b"", is_virtual: false };
                    ((none, Some(bci)), None)
                }
                None => continue,
            };
            if let (Some(OpaqueCallee { id, certain: true }), true, false) = (opaque, bci < prefix_end, sites)
            {
                calls.derived.push(id);
                continue;
            }
            // Not known to be opaque, but never counted either; leaves call it, and have no cursor to publish in.
            if opaque.is_none() && call.is_some_and(|call| is_object_constructor(&call)) {
                continue;
            }
            let ends = call.is_some_and(|call| (call.owner, call.name) == ENDS_THE_PROCESS);
            let possible = opaque.is_some_and(|opaque| !opaque.certain);
            let slot = *targets.entry(key).or_insert_with(|| {
                let width = if possible { 2 } else { 1 };
                if sites {
                    calls.bcis.extend(std::iter::repeat_n(bci as u16, width));
                }
                if !sites && calls.slots > MOST_TARGETS {
                    return 1 + (bci % (MOST_TARGETS - 1));
                }
                calls.slots += width as u32;
                calls.slots - width as u32
            });
            calls.sites.push(match opaque {
                Some(OpaqueCallee { id, certain: true }) => Site::Opaque { bci, slot, id, ends },
                Some(OpaqueCallee { id, certain: false }) => {
                    Site::Possible { bci, next: instruction.end(), slot, id }
                }
                None => Site::Publish { bci, slot },
            });
        }
        calls
    }
}
