//! Basic blocks after Binder's bytecode counting (the paper's section 4.2), and the control-flow graph between them.
//!
//! A block is counted at its start. In the default analysis only non-sequential control flow ends a block, so an
//! exception in the middle counts instructions that did not run; in the precise one everything that may throw ends a
//! block too, the thrower included in it, and the count equals what was executed.

use crate::code::Code;
use crate::error::Error;
use crate::instruction::{Instruction, Instructions};
use crate::opcode::{InstructionClass, InstructionClasses, opcode};
use crate::pool::{ConstantPool, tag};
use crate::scan::{AFTER, HANDLER, LOOP, START, Scan, TARGET};

/// Which instructions end a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockAnalysis {
    /// Jumps, branches, switches, returns, `ret` and `athrow`.
    #[default]
    Default,
    /// The same and everything that may throw.
    Precise,
    /// The default's and these classes of instructions.
    Custom(InstructionClasses),
}

impl BlockAnalysis {
    fn enders(self) -> InstructionClasses {
        let extra = match self {
            BlockAnalysis::Default => InstructionClasses::EMPTY,
            BlockAnalysis::Precise => InstructionClasses::MAY_THROW,
            BlockAnalysis::Custom(classes) => classes,
        };
        extra.union(InstructionClasses::CONTROL)
    }
}

/// A run of instructions that is entered at its start only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// First instruction.
    pub start: u32,
    /// First byte after the last instruction.
    pub end: u32,
    /// Number of instructions.
    pub instructions: u32,
    /// Some branch at or after `start` goes back to it.
    pub is_loop_header: bool,
    /// It is the start of an exception handler.
    pub is_handler: bool,
    /// Some branch or switch goes to its start.
    pub is_branch_target: bool,
}

impl Block {
    /// The block's instructions, for weighted counts.
    pub fn iter<'a>(&self, code: &Code<'a>) -> Instructions<'a> {
        Instructions::between(code.bytes, self.start, self.end)
    }
}

/// How control gets from one block to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowKind {
    /// To the next instruction.
    FallThrough,
    /// A taken branch, `goto` or `jsr`.
    Branch,
    /// A case or the default of a switch.
    Switch,
    /// An exception thrown in the block.
    Exception,
}

/// An edge of the control-flow graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Index of the block it leads to.
    pub to: usize,
    /// Kind of transfer.
    pub kind: FlowKind,
}

/// The blocks of a method in code order; together they cover every instruction once.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    list: Vec<Block>,
}

impl Blocks {
    /// Analyses a method's code.
    pub fn analyse(code: &Code<'_>, pool: &ConstantPool<'_>, analysis: BlockAnalysis) -> Result<Self, Error> {
        let mut scan = Scan::default();
        scan.run(code)?;
        let mut blocks = Blocks::default();
        blocks.fill(&scan, code, pool, analysis);
        Ok(blocks)
    }

    /// Computes the blocks of scanned code, reusing this list's memory.
    pub(crate) fn fill(
        &mut self,
        scan: &Scan,
        code: &Code<'_>,
        pool: &ConstantPool<'_>,
        analysis: BlockAnalysis,
    ) {
        self.list.clear();
        if analysis == BlockAnalysis::Default {
            return self.fill_default(scan);
        }
        let enders = analysis.enders();
        let mut current = new_block(0, scan.flags_at(0));
        let mut leader = false;
        for bci in scan.starts() {
            let flags = scan.flags_at(bci);
            if bci != 0 && (leader || flags & (TARGET | HANDLER) != 0) {
                current.end = bci;
                self.list.push(current);
                current = new_block(bci, flags);
            }
            current.instructions += 1;
            let op = code.bytes.get(bci as usize).copied().unwrap_or(0);
            let class = scan.class_of(op, bci, code.bytes);
            leader = class == InstructionClass::Jsr
                || (enders.contains(class)
                    && (class != InstructionClass::Constant || constant_may_throw(code.bytes, bci, pool)));
        }
        current.end = code.bytes.len() as u32;
        self.list.push(current);
    }

    /// The default analysis from the scan's flags alone, eight bytes of code at a time.
    #[inline(never)]
    fn fill_default(&mut self, scan: &Scan) {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const { assert!(START == 1 && TARGET == 1 << 1 && HANDLER == 1 << 2 && AFTER == 1 << 5) };
        let mut current = new_block(0, scan.flags_at(0));
        let mut base = 0u32;
        for chunk in scan.flags().chunks(8) {
            let word = match chunk.first_chunk::<8>() {
                Some(eight) => u64::from_le_bytes(*eight),
                None => chunk.iter().rev().fold(0, |word, &f| (word << 8) | u64::from(f)),
            };
            let mut starts = word & ONES;
            let mut leaders = ((word >> 1) | (word >> 2) | (word >> 5)) & ONES;
            if base == 0 {
                leaders &= !1;
            }
            while leaders != 0 {
                let bit = leaders.trailing_zeros();
                let before = starts & ((1 << bit) - 1);
                starts ^= before;
                current.instructions += sum_bytes(before);
                current.end = base + bit / 8;
                self.list.push(current);
                current = new_block(current.end, (word >> bit) as u8);
                leaders &= leaders - 1;
            }
            current.instructions += sum_bytes(starts);
            base += 8;
        }
        current.end = scan.flags().len() as u32;
        self.list.push(current);
    }

    /// The blocks in code order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Block> {
        self.list.iter()
    }

    /// The blocks in code order.
    pub fn as_slice(&self) -> &[Block] {
        &self.list
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Never true for analysed code: there is at least one block.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// One block: every invocation executes all instructions once, so calls times length is the count.
    pub fn is_straight_line(&self) -> bool {
        self.list.len() == 1 && !self.list.iter().any(|b| b.is_loop_header)
    }

    /// Does any branch go backwards?
    pub fn has_loops(&self) -> bool {
        self.list.iter().any(|b| b.is_loop_header)
    }

    /// Index of the block holding the instruction at `bci`.
    pub fn containing(&self, bci: u32) -> Option<usize> {
        let after = self.list.partition_point(|b| b.start <= bci);
        let index = after.checked_sub(1)?;
        self.list.get(index).filter(|b| bci < b.end).map(|_| index)
    }

    /// Where control can go from a block. An exception edge is listed once per table row that covers an instruction
    /// of the block that may throw; the `ret` of a subroutine has no successors here (its `jsr`s fall through).
    pub fn successors(&self, index: usize, code: &Code<'_>) -> Vec<Flow> {
        let mut edges = Vec::new();
        let Some(block) = self.list.get(index) else { return edges };
        let mut add = |bci: u32, kind| {
            if let Some(to) = self.containing(bci) {
                edges.push(Flow { to, kind });
            }
        };
        if let Some(Ok(last)) = block.iter(code).last() {
            if let Some(target) = last.branch_target() {
                add(target, FlowKind::Branch);
            }
            if let Some(switch) = last.switch() {
                switch.cases().for_each(|(_, target)| add(target, FlowKind::Switch));
                add(switch.default, FlowKind::Switch);
            }
            if last.info().falls_through() {
                add(block.end, FlowKind::FallThrough);
            }
        }
        for entry in code.exceptions() {
            let covered =
                |i: &Instruction<'_>| i.bci >= u32::from(entry.start) && i.bci < u32::from(entry.end);
            if block.iter(code).flatten().any(|i| covered(&i) && i.info().may_throw()) {
                add(u32::from(entry.handler), FlowKind::Exception);
            }
        }
        edges
    }
}

/// Sum of bytes that are 0 or 1.
#[inline]
fn sum_bytes(word: u64) -> u32 {
    (word.wrapping_mul(0x0101_0101_0101_0101) >> 56) as u32
}

fn new_block(start: u32, flags: u8) -> Block {
    Block {
        start,
        end: start,
        instructions: 0,
        is_loop_header: flags & LOOP != 0,
        is_handler: flags & HANDLER != 0,
        is_branch_target: flags & TARGET != 0,
    }
}

/// Numbers and strings are there when asked for; classes, method types and dynamic constants are resolved by code
/// that may throw.
fn constant_may_throw(code: &[u8], bci: u32, pool: &ConstantPool<'_>) -> bool {
    let index = Instruction::at(code, bci).ok().and_then(|i| i.pool_index());
    !matches!(
        index.and_then(|i| pool.tag(i)),
        Some(tag::INTEGER | tag::FLOAT | tag::LONG | tag::DOUBLE | tag::STRING)
    )
}

impl Scan {
    #[inline]
    fn class_of(&self, op: u8, bci: u32, code: &[u8]) -> InstructionClass {
        match op {
            crate::opcode::WIDE => opcode(code.get(bci as usize + 1).copied().unwrap_or(0)).class,
            op => opcode(op).class,
        }
    }
}
