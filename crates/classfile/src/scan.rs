//! One pass over a method's code that finds instruction starts, branch targets and what has to be relocated.

use crate::code::Code;
use crate::error::{Error, ErrorKind};
use crate::instruction::{Instruction, length_at};
use crate::opcode::{InstructionClass, length_and_class, opcode};

/// An instruction starts here.
pub(crate) const START: u8 = 1;
/// A branch, switch or `jsr` goes here.
pub(crate) const TARGET: u8 = 2;
/// An exception handler starts here.
pub(crate) const HANDLER: u8 = 4;
/// A branch from here or further down goes back here.
pub(crate) const LOOP: u8 = 8;
/// Control can come here from the instruction before.
pub(crate) const FALLS_IN: u8 = 16;

/// The instruction before transfers control, or is a `jsr`.
pub(crate) const AFTER: u8 = 32;

/// A byte of flags per code byte (and one past the end), and the instructions that hold code offsets.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    flags: Vec<u8>,
    /// Branches and switches in code order.
    pub(crate) jumps: Vec<u32>,
    /// All returns in code order.
    pub(crate) returns: Vec<u32>,
}

impl Scan {
    /// Scans `code`. On success every branch, handler and range of the exception table names an instruction.
    #[inline(never)]
    pub(crate) fn run(&mut self, code: &Code<'_>) -> Result<(), Error> {
        let bytes = code.bytes;
        self.flags.clear();
        self.flags.resize(bytes.len() + 1, 0);
        self.jumps.clear();
        self.returns.clear();
        let mut bci = 0;
        let mut state = START;
        while let Some(&op) = bytes.get(bci) {
            let (length, class) = length_and_class(op);
            if let Some(flags) = self.flags.get_mut(bci) {
                *flags |= state;
            }
            state = START | FALLS_IN;
            if class >= InstructionClass::Throw as u8 {
                self.control(bytes, bci as u32, opcode(op).class)?;
                state = if opcode(op).falls_through() { START | FALLS_IN | AFTER } else { START | AFTER };
            }
            bci += if length != 0 {
                usize::from(length)
            } else {
                if op == crate::opcode::WIDE && bytes.get(bci + 1) == Some(&crate::opcode::RET) {
                    state = START | AFTER;
                }
                length_at(bytes, bci).ok_or_else(|| Error::new(bci, ErrorKind::BadInstruction(op)))?
            };
        }
        if bci != bytes.len() {
            return Err(Error::malformed(bci, "last instruction cut short"));
        }
        self.exceptions(code)?;
        self.check(bytes.len())
    }

    fn control(&mut self, code: &[u8], bci: u32, class: InstructionClass) -> Result<(), Error> {
        match class {
            InstructionClass::Return => self.returns.push(bci),
            InstructionClass::Branch | InstructionClass::Goto | InstructionClass::Jsr => {
                self.jumps.push(bci);
                let target = Instruction::at(code, bci)?.branch_target().unwrap_or(u32::MAX);
                self.target(bci, target)?;
            }
            InstructionClass::Switch => {
                self.jumps.push(bci);
                if let Some(switch) = Instruction::at(code, bci)?.switch() {
                    self.target(bci, switch.default)?;
                    for (_, target) in switch.cases() {
                        self.target(bci, target)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    #[inline]
    fn target(&mut self, from: u32, to: u32) -> Result<(), Error> {
        match self.flags.get_mut(to as usize) {
            Some(flags) => *flags |= if to <= from { TARGET | LOOP } else { TARGET },
            None => return Err(Error::malformed(from as usize, "branch out of the code")),
        }
        Ok(())
    }

    fn exceptions(&mut self, code: &Code<'_>) -> Result<(), Error> {
        for e in code.exceptions() {
            let (start, end, handler) = (usize::from(e.start), usize::from(e.end), usize::from(e.handler));
            if let Some(flags) = self.flags.get_mut(handler) {
                // An exception thrown at or after the handler and caught by it is a backward transfer.
                *flags |= if handler < end { HANDLER | LOOP } else { HANDLER };
            }
            let starts = |at: usize| self.flags.get(at).is_some_and(|f| f & START != 0);
            let valid =
                start < end && starts(start) && starts(handler) && (starts(end) || end == code.bytes.len());
            if !valid {
                return Err(Error::malformed(start, "exception table entry not at instructions"));
            }
        }
        Ok(())
    }

    fn check(&mut self, len: usize) -> Result<(), Error> {
        // No early exit, so that it runs many bytes at a time.
        let stray = self.flags.iter().fold(0, |stray, f| stray | ((f / TARGET) & !f & START));
        if stray != 0 || self.flags.len() != len + 1 {
            return Err(Error::malformed(len, "branch into an instruction or past the end"));
        }
        Ok(())
    }

    /// Flags at a byte code index.
    #[inline]
    pub(crate) fn flags_at(&self, bci: u32) -> u8 {
        self.flags.get(bci as usize).copied().unwrap_or(0)
    }

    /// Flags of all code bytes.
    pub(crate) fn flags(&self) -> &[u8] {
        self.flags.get(..self.flags.len().saturating_sub(1)).unwrap_or_default()
    }

    /// Does an instruction start here?
    #[inline]
    pub(crate) fn is_start(&self, bci: u32) -> bool {
        self.flags_at(bci) & START != 0
    }

    /// Instruction starts in `[from, to)`.
    pub(crate) fn starts_between(&self, from: u32, to: u32) -> impl Iterator<Item = u32> + '_ {
        (from..to).filter(|&bci| self.is_start(bci))
    }

    /// All instruction starts in order.
    pub(crate) fn starts(&self) -> impl Iterator<Item = u32> + '_ {
        self.flags.iter().enumerate().filter(|(_, f)| **f & START != 0).map(|(bci, _)| bci as u32)
    }
}
