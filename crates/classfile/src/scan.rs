//! One pass over a method's code that finds instruction starts, branch targets and what has to be relocated.
//!
//! Where an instruction starts follows from the length of the one before: a chain of dependent loads. The lengths of 64
//! bytes are therefore looked up first, as if every byte were an opcode, which leaves one load per link of the chain.

use crate::code::Code;
use crate::error::{Error, ErrorKind};
use crate::instruction::{Instruction, branch_target_at, length_at};
use crate::opcode::{self, InstructionClass, STOP, opcode, step};

/// Where control goes in 64 bytes of code, a bit for each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// A branch, switch or `jsr` goes here.
    pub(crate) targets: u64,
    /// An exception handler starts here.
    pub(crate) handlers: u64,
    /// A branch from here or further down goes back here.
    pub(crate) loops: u64,
    /// The instruction before transfers control, or is a `jsr`.
    pub(crate) after: u64,
    /// Control never comes here from the instruction before.
    pub(crate) apart: u64,
}

impl Marks {
    /// Where blocks start in every analysis.
    #[inline]
    pub(crate) fn leaders(&self) -> u64 {
        self.targets | self.handlers | self.after
    }
}

/// Marks of all code bytes (and one past the end), and the instructions that hold code offsets.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// A bit for each byte at which an instruction starts.
    starts: Vec<u64>,
    /// As many, or none if nothing is marked: most methods are straight to their end.
    marks: Vec<Marks>,
    /// Length of the code.
    len: usize,
    /// Branches and switches in code order.
    pub(crate) jumps: Vec<u16>,
    /// All returns in code order.
    pub(crate) returns: Vec<u16>,
    /// Number of switches.
    pub(crate) switches: usize,
}

impl Scan {
    /// Scans `code`. On success every branch, handler and range of the exception table names an instruction.
    #[inline(never)]
    pub(crate) fn run(&mut self, code: &Code<'_>) -> Result<(), Error> {
        let bytes = code.bytes;
        self.len = bytes.len();
        self.starts.clear();
        self.starts.reserve_exact(bytes.len() / 64 + 1);
        self.marks.clear();
        self.jumps.clear();
        self.returns.clear();
        self.switches = 0;
        // Where the next instruction is, seen from each of some bytes as if they all were instructions.
        let mut next = [0; 256];
        let mut bci = 0;
        for (i, chunk) in bytes.chunks(64).enumerate() {
            for ((next, &op), at) in next.iter_mut().zip(chunk).zip(0u8..) {
                *next = at.wrapping_add(step(op));
            }
            let base = i * 64;
            let mut starts = 0;
            let mut at = bci - base;
            while at < chunk.len() {
                let mut place = at as u8;
                while place < chunk.len() as u8 {
                    starts |= 1 << (place % 64);
                    place = next.get(usize::from(place)).copied().unwrap_or(0);
                }
                at = place.into();
                if place >= STOP {
                    at -= usize::from(STOP);
                    at += self.control(bytes, base + at)?;
                }
            }
            bci = base + at;
            self.starts.push(starts);
        }
        if bci != bytes.len() {
            return Err(Error::malformed(bci, "last instruction cut short"));
        }
        // The end of the code has a place as well.
        self.starts.resize(bytes.len() / 64 + 1, 0);
        self.exceptions(code)?;
        self.check()
    }

    /// Bytes kept for the next method.
    pub(crate) fn memory(&self) -> usize {
        size_of::<u64>() * self.starts.capacity()
            + size_of::<Marks>() * self.marks.capacity()
            + size_of::<u16>() * (self.jumps.capacity() + self.returns.capacity())
    }

    /// The marks of 64 bytes of code, to be changed.
    #[inline]
    fn marks_at(&mut self, bci: usize) -> Option<&mut Marks> {
        if self.marks.is_empty() {
            self.mark();
        }
        self.marks.get_mut(bci / 64)
    }

    #[cold]
    fn mark(&mut self) {
        self.marks.reserve_exact(self.len / 64 + 1);
        self.marks.resize(self.len / 64 + 1, Marks::default());
    }

    /// Notes an instruction that transfers control or has no fixed length; returns its length.
    #[inline]
    fn control(&mut self, code: &[u8], bci: usize) -> Result<usize, Error> {
        // Code is shorter than 64 KB.
        let place = bci as u16;
        match code.get(bci..).unwrap_or_default() {
            [opcode::IRETURN..=opcode::RETURN, ..] => {
                push(&mut self.returns, place);
                self.ends(bci + 1, false);
                Ok(1)
            }
            [op @ (opcode::IFEQ..=opcode::GOTO | opcode::IFNULL | opcode::IFNONNULL), hi, lo, ..] => {
                push(&mut self.jumps, place);
                let offset = i16::from_be_bytes([*hi, *lo]);
                self.target(bci, (bci as u32).wrapping_add_signed(offset.into()))?;
                self.ends(bci + 3, *op != opcode::GOTO);
                Ok(3)
            }
            [opcode::ATHROW, ..] => {
                self.ends(bci + 1, false);
                Ok(1)
            }
            _ => self.rare_control(code, bci),
        }
    }

    /// The instruction before this position transfers control.
    #[inline]
    fn ends(&mut self, next: usize, falls_through: bool) {
        // Nothing starts at the end.
        if next < self.len
            && let Some(marks) = self.marks_at(next)
        {
            marks.after |= 1 << (next % 64);
            marks.apart |= u64::from(!falls_through) << (next % 64);
        }
    }

    #[inline(never)]
    fn rare_control(&mut self, code: &[u8], bci: usize) -> Result<usize, Error> {
        let bad = |op| Error::new(bci, ErrorKind::BadInstruction(op));
        let op = code.get(bci).copied().unwrap_or(0);
        let length = length_at(code, bci).ok_or_else(|| bad(op))?;
        let effective = match op {
            opcode::WIDE => code.get(bci + 1).copied().unwrap_or(0),
            op => op,
        };
        let class = opcode(effective).class;
        match class {
            InstructionClass::Branch | InstructionClass::Goto | InstructionClass::Jsr => {
                push(&mut self.jumps, bci as u16);
                self.target(bci, branch_target_at(code, bci, length).ok_or_else(|| bad(op))?)?;
            }
            InstructionClass::Switch => {
                push(&mut self.jumps, bci as u16);
                self.switches += 1;
                if let Some(switch) = Instruction::at(code, bci as u32)?.switch() {
                    self.target(bci, switch.default)?;
                    for (_, target) in switch.cases() {
                        self.target(bci, target)?;
                    }
                }
            }
            InstructionClass::Ret => {}
            _ => return Ok(length),
        }
        self.ends(bci + length, opcode(effective).falls_through());
        Ok(length)
    }

    #[inline]
    fn target(&mut self, from: usize, to: u32) -> Result<(), Error> {
        let to = to as usize;
        match self.marks_at(to) {
            Some(marks) => {
                let bit = 1 << (to % 64);
                marks.targets |= bit;
                if to <= from {
                    marks.loops |= bit;
                }
                Ok(())
            }
            None => Err(Error::malformed(from, "branch out of the code")),
        }
    }

    fn exceptions(&mut self, code: &Code<'_>) -> Result<(), Error> {
        for e in code.exceptions() {
            let at_instructions = e.start < e.end
                && self.is_start(e.start.into())
                && self.is_start(e.handler.into())
                && (self.is_start(e.end.into()) || usize::from(e.end) == code.bytes.len());
            if !at_instructions {
                return Err(Error::malformed(e.start.into(), "exception table entry not at instructions"));
            }
            if let Some(marks) = self.marks_at(e.handler.into()) {
                let bit = 1 << (e.handler % 64);
                marks.handlers |= bit;
                // An exception thrown at or after the handler and caught by it is a backward transfer.
                if e.handler < e.end {
                    marks.loops |= bit;
                }
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Error> {
        if self.marks.iter().zip(&self.starts).any(|(m, starts)| m.targets & !starts != 0) {
            return Err(Error::malformed(self.len, "branch into an instruction or past the end"));
        }
        Ok(())
    }

    /// Where instructions start and the marks, 64 bytes of code at a time.
    #[inline]
    pub(crate) fn all(&self) -> impl Iterator<Item = (u64, Marks)> + '_ {
        let marks = self.marks.iter().copied().chain(std::iter::repeat(Marks::default()));
        self.starts.iter().copied().zip(marks)
    }

    #[inline]
    fn has(&self, bci: u32, kind: impl FnOnce(&Marks) -> u64) -> bool {
        self.marks.get(bci as usize / 64).is_some_and(|m| kind(m) >> (bci % 64) & 1 != 0)
    }

    /// Does an instruction start here?
    #[inline]
    pub(crate) fn is_start(&self, bci: u32) -> bool {
        self.starts.get(bci as usize / 64).is_some_and(|starts| starts >> (bci % 64) & 1 != 0)
    }

    /// Does a branch, switch or `jsr` go here?
    pub(crate) fn is_target(&self, bci: u32) -> bool {
        self.has(bci, |m| m.targets)
    }

    /// Does an exception handler start here?
    pub(crate) fn is_handler(&self, bci: u32) -> bool {
        self.has(bci, |m| m.handlers)
    }

    /// Can control come to this instruction from the one before?
    pub(crate) fn falls_in(&self, bci: u32) -> bool {
        bci != 0 && self.is_start(bci) && !self.has(bci, |m| m.apart)
    }

    /// Instruction starts in `[from, to)`.
    pub(crate) fn starts_between(&self, from: u32, to: u32) -> impl Iterator<Item = u32> + '_ {
        (from..to).filter(|&bci| self.is_start(bci))
    }

    /// All instruction starts in order.
    pub(crate) fn starts(&self) -> impl Iterator<Item = u32> + '_ {
        self.starts.iter().zip((0..).step_by(64)).flat_map(|(starts, base)| {
            let mut left = *starts;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(base + bit)
            })
        })
    }
}

/// Adds a position. The list grows by a quarter where [`Vec::push`] would double it.
#[inline]
fn push(list: &mut Vec<u16>, place: u16) {
    if list.len() == list.capacity() {
        grow(list);
    }
    list.push(place);
}

#[cold]
fn grow(list: &mut Vec<u16>) {
    list.reserve_exact(list.len() / 4 + 8);
}
