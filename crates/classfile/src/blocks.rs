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
use crate::scan::{Marks, Scan};

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
    /// What ends a block besides transfers of control.
    fn more_enders(self) -> Option<InstructionClasses> {
        match self {
            BlockAnalysis::Default => None,
            BlockAnalysis::Precise => Some(InstructionClasses::MAY_THROW),
            BlockAnalysis::Custom(classes) => Some(classes),
        }
    }
}

/// A run of instructions that is entered at its start only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    list: Vec<Start>,
    /// Which blocks have too many instructions for the list, and how many.
    long: Vec<(u16, u16)>,
    end: u32,
}

/// A block but for its end, which is where the next one starts. Small: the precise analysis makes one of every few bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Start {
    bci: u16,
    /// Flags, and below them the number of instructions.
    word: u16,
}

const LOOP_HEADER: u16 = 1 << 15;
const HANDLER: u16 = 1 << 14;
const BRANCH_TARGET: u16 = 1 << 13;
/// As many instructions as this, or more: see [`Blocks::long`].
const MANY: u16 = BRANCH_TARGET - 1;

impl Start {
    #[inline]
    fn new(bci: u32, marks: &Marks) -> Self {
        let flag = |kind: u64, flag: u16| if kind >> (bci % 64) & 1 != 0 { flag } else { 0 };
        Start {
            bci: bci as u16,
            word: flag(marks.loops, LOOP_HEADER)
                | flag(marks.handlers, HANDLER)
                | flag(marks.targets, BRANCH_TARGET),
        }
    }
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
        self.long.clear();
        self.end = code.bytes.len() as u32;
        let has_room = self.list.capacity() >= code.bytes.len();
        let Some(classes) = analysis.more_enders() else {
            if !has_room {
                self.reserve(scan, |_, _| 0);
            }
            return self.collect(scan, |_, _| 0);
        };
        if !has_room {
            let mut ended = false;
            self.reserve(scan, |starts, base| leaders_after(classes, starts, base, code, pool, &mut ended));
        }
        let mut ended = false;
        self.collect(scan, |starts, base| leaders_after(classes, starts, base, code, pool, &mut ended));
    }

    /// Makes room for as many blocks as there will be.
    fn reserve(&mut self, scan: &Scan, mut more: impl FnMut(u64, u32) -> u64) {
        let count =
            |(marks, base): (&Marks, u32)| (marks.leaders() | more(marks.starts, base)).count_ones() as usize;
        let count: usize = scan.marks().iter().zip((0..).step_by(64)).map(count).sum();
        self.list.reserve_exact(count + 1);
    }

    /// Lists the blocks that start where control comes from elsewhere, and where `more` says.
    #[inline]
    fn collect(&mut self, scan: &Scan, mut more: impl FnMut(u64, u32) -> u64) {
        let (mut current, mut instructions) = (Start::default(), 0);
        for (marks, base) in scan.marks().iter().zip((0..).step_by(64)) {
            let mut starts = marks.starts;
            let mut leaders = marks.leaders() | more(starts, base);
            if base == 0 {
                // The first block starts in any case.
                current = Start::new(0, marks);
                leaders &= !1;
            }
            while leaders != 0 {
                let bit = leaders.trailing_zeros();
                let before = starts & ((1 << bit) - 1);
                starts ^= before;
                self.add(current, instructions + before.count_ones());
                (current, instructions) = (Start::new(base + bit, marks), 0);
                leaders &= leaders - 1;
            }
            instructions += starts.count_ones();
        }
        self.add(current, instructions);
    }

    #[inline]
    fn add(&mut self, start: Start, instructions: u32) {
        // Code is shorter than 64 KB.
        let instructions = instructions as u16;
        if instructions >= MANY {
            self.long.push((start.bci, instructions));
        }
        self.list.push(Start { word: start.word | instructions.min(MANY), ..start });
    }

    /// Instructions of a block that has many.
    #[cold]
    fn many(&self, start: &Start) -> u16 {
        let found = self.long.binary_search_by_key(&start.bci, |(bci, _)| *bci);
        found.ok().and_then(|at| self.long.get(at)).map_or(MANY, |(_, instructions)| *instructions)
    }

    /// The blocks in code order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Block> + DoubleEndedIterator {
        (0..self.list.len()).map(|index| self.get(index).unwrap_or_default())
    }

    /// A block by its position in code order.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Block> {
        let start = self.list.get(index)?;
        let instructions = match start.word & MANY {
            MANY => self.many(start),
            few => few,
        };
        Some(Block {
            start: start.bci.into(),
            end: self.list.get(index + 1).map_or(self.end, |next| next.bci.into()),
            instructions: instructions.into(),
            is_loop_header: start.word & LOOP_HEADER != 0,
            is_handler: start.word & HANDLER != 0,
            is_branch_target: start.word & BRANCH_TARGET != 0,
        })
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
        self.list.len() == 1 && !self.has_loops()
    }

    /// Does any branch go backwards?
    pub fn has_loops(&self) -> bool {
        self.list.iter().any(|start| start.word & LOOP_HEADER != 0)
    }

    /// Index of the block holding the instruction at `bci`.
    pub fn containing(&self, bci: u32) -> Option<usize> {
        let after = self.list.partition_point(|start| u32::from(start.bci) <= bci);
        after.checked_sub(1).filter(|_| bci < self.end)
    }

    /// Where control can go from a block. An exception edge is listed once per table row that covers an instruction
    /// of the block that may throw; the `ret` of a subroutine has no successors here (its `jsr`s fall through).
    pub fn successors(&self, index: usize, code: &Code<'_>) -> Vec<Flow> {
        let mut edges = Vec::new();
        let Some(block) = self.get(index) else { return edges };
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

/// Which of these 64 bytes follow an instruction of one of the classes; `ended` is carried from one call to the next.
fn leaders_after(
    classes: InstructionClasses,
    mut starts: u64,
    base: u32,
    code: &Code<'_>,
    pool: &ConstantPool<'_>,
    ended: &mut bool,
) -> u64 {
    let mut leaders = 0;
    while starts != 0 {
        let bit = starts.trailing_zeros();
        leaders |= u64::from(*ended) << bit;
        let bci = base + bit;
        let op = code.bytes.get(bci as usize).copied().unwrap_or(0);
        let class = opcode(op).class;
        *ended = classes.contains(class)
            && (class != InstructionClass::Constant || constant_may_throw(code.bytes, bci, pool));
        starts &= starts - 1;
    }
    leaders
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opcode::{GOTO, NOP, RETURN};

    #[test]
    fn blocks_of_any_length_are_counted() {
        let pool = ConstantPool::parse(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 1], Vec::new()).unwrap();
        for first in [1, 8_190, 8_191, 8_192, 30_000] {
            for second in [1, 8_190, 8_191, 35_000] {
                let mut code = vec![NOP; first - 1];
                code.extend([GOTO, 0, 3]);
                code.resize(first + 2 + second - 1, NOP);
                code.push(RETURN);
                let mut data = vec![0; 4];
                data.extend((code.len() as u32).to_be_bytes());
                data.extend(code);
                data.extend([0; 4]);
                let code = Code::parse(&data, 0).unwrap();
                let blocks = Blocks::analyse(&code, &pool, BlockAnalysis::Default).unwrap();
                let found: Vec<_> =
                    blocks.iter().map(|b| (b.instructions as usize, b.is_branch_target)).collect();
                assert_eq!(found, [(first, false), (second, true)]);
            }
        }
    }
}
