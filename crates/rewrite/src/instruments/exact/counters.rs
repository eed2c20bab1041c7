//! Which blocks of a method have counters, and what the reader must know of each.

use quipu_classfile::opcode::InstructionClass;
use quipu_classfile::{Block, Blocks, Code};

use super::Exact;

/// The counters of a method.
pub(crate) struct Counters {
    /// By block, the number of its counter.
    pub(crate) of_block: Vec<Option<u32>>,
    /// Bytecode index, instructions and allocations of each counted block, in turn. No instructions where only
    /// allocations are wanted: what is missing then are the other blocks.
    pub(crate) table: Vec<u16>,
}

impl Counters {
    pub(crate) fn new(exact: &Exact, blocks: &Blocks, code: &Code<'_>) -> Counters {
        let mut counters = Counters { of_block: Vec::new(), table: Vec::new() };
        if !exact.blocks && !exact.allocations {
            return counters;
        }
        let mut next = 0;
        for block in blocks.iter() {
            let allocations = allocations(&block, code);
            let counted = exact.blocks || allocations > 0;
            counters.of_block.push(counted.then_some(next));
            if counted {
                next += 1;
                let instructions = if exact.blocks { block.instructions } else { 0 };
                counters.table.extend([block.start as u16, instructions as u16, allocations]);
            }
        }
        counters
    }
}

/// How many instructions of a block make objects or arrays.
fn allocations(block: &Block, code: &Code<'_>) -> u16 {
    let all = block.iter(code).map_while(Result::ok);
    all.filter(|i| i.info().class == InstructionClass::Allocation).count() as u16
}
