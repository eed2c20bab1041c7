//! One pass over a method's code that finds instruction starts, branch targets and what has to be relocated.
//!
//! Where an instruction starts follows from the length of the one before: a chain of dependent steps, of which nobody knows
//! in advance how many there are. So the pass goes byte by byte and counts down how many are still part of an instruction:
//! that takes the same steps for any code, without a branch, and what is looked up for a byte does not wait for those before
//! it. What transfers control is found on the way, and does not interrupt it.

use std::hint::select_unpredictable;

use crate::code::Code;
use crate::error::{Error, ErrorKind};
use crate::instruction::{Instruction, length_at};
use crate::opcode::{self, InstructionClass, opcode, step};

/// What is known of 64 bytes of code, a bit for each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// An instruction starts here.
    pub(crate) starts: u64,
    /// A branch, switch or `jsr` goes here.
    pub(crate) targets: u64,
    /// An exception handler starts here.
    pub(crate) handlers: u64,
    /// A branch from here or further down goes back here.
    pub(crate) loops: u64,
    /// The instruction before transfers control, or is a `jsr`. Also set at the end of the code.
    after: u64,
    /// Control never comes here from the instruction before.
    apart: u64,
}

impl Marks {
    /// Where blocks start in every analysis.
    #[inline]
    pub(crate) fn leaders(&self) -> u64 {
        (self.targets | self.handlers | self.after) & self.starts
    }
}

/// Marks of all code bytes (and one past the end), and the instructions that hold code offsets.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    marks: Vec<Marks>,
    /// Branches and switches in code order.
    pub(crate) jumps: Vec<u16>,
    /// All returns in code order.
    pub(crate) returns: Vec<u16>,
    /// Number of switches.
    pub(crate) switches: usize,
}

/// The most bytes behind a word that belong to its last instruction, unless that is one that stops: see [`step::STOP`].
const MOST_LEFT: usize = 4;

/// Looks at a word of code of which so many bytes belong to an instruction that began before it. Returns a bit for every
/// instruction start, for every jump of fixed length, and for everything after which control does not go on, in a byte
/// each from the lowest; and how many bytes behind the word belong to its last instruction.
#[inline]
fn follow(word: [u8; 8], entry: usize) -> (u32, usize) {
    let (mut found, mut left) = (0, entry);
    for (op, at) in word.into_iter().zip(0..) {
        let step = step(op);
        let (less, starts) = left.overflowing_sub(1);
        left = select_unpredictable(starts, (step >> step::REST) as usize, less);
        // What is above the lowest three bytes does not matter.
        found |= select_unpredictable(starts, step << at, 0);
    }
    (found, left)
}

/// What was found in 64 bytes of code, a bit for each.
struct Found {
    starts: u64,
    /// Conditional branches and `goto`.
    jumps: u64,
    /// After these control does not go on.
    leaves: u64,
    /// Where an instruction stopped the pass.
    stops: u64,
}

impl Scan {
    /// Scans `code`. On success every branch, handler and range of the exception table names an instruction.
    #[inline(never)]
    pub(crate) fn run(&mut self, code: &Code<'_>) -> Result<(), Error> {
        let bytes = code.bytes;
        // The end of the code has a place as well.
        let chunks = bytes.len() / 64 + 1;
        self.marks.clear();
        self.marks.reserve_exact(chunks);
        self.marks.resize(chunks, Marks::default());
        self.jumps.clear();
        self.returns.clear();
        self.switches = 0;
        // Where the next word is entered; past its end if nothing starts in it.
        let mut entry = 0;
        for (chunk, base) in bytes.chunks(64).zip((0..).step_by(64)) {
            let (words, rest) = chunk.as_chunks();
            let (mut starts, mut jumps, mut leaves, mut stops) = (0, 0, 0, 0);
            for i in 0..chunk.len().div_ceil(8) {
                let word = words.get(i).copied().unwrap_or_else(|| last_word(bytes, rest));
                let mut found;
                (found, entry) = follow(word, entry);
                if entry > MOST_LEFT && found as u8 != 0 {
                    let stopped;
                    (found, entry, stopped) = go_on(bytes, base + 8 * i, word, found)?;
                    stops |= stopped;
                }
                let found = u64::from(found);
                starts = starts >> 8 | found << 56;
                jumps = jumps >> 8 | found >> 8 << 56;
                leaves = leaves >> 8 | found >> 16 << 56;
            }
            // Fewer than eight words did not get as far.
            let missing = (64 - chunk.len()) as u32 & !7;
            let found = Found {
                starts: starts >> missing,
                jumps: jumps >> missing,
                leaves: leaves >> missing,
                stops,
            };
            self.transfers(bytes, base, &found)?;
        }
        // In what was added to the last word every byte is an instruction, so that the end of the code must be one.
        let end = 1 << (bytes.len() % 64);
        let last = self.marks.last_mut();
        let is_entered = if bytes.len().is_multiple_of(8) {
            entry == 0
        } else {
            last.as_ref().is_some_and(|marks| marks.starts & end != 0)
        };
        if !is_entered {
            return Err(cut_short(bytes.len()));
        }
        if let Some(marks) = last {
            marks.starts &= end - 1;
        }
        self.exceptions(code)?;
        self.check(bytes.len())
    }

    /// Notes the instructions that transfer control.
    #[inline]
    fn transfers(&mut self, code: &[u8], base: usize, found: &Found) -> Result<(), Error> {
        let (jumps, leaves) = (found.jumps, found.leaves);
        // A jump takes three bytes, all else one.
        let (gotos, mut ends) = (leaves & jumps, leaves & !jumps);
        let mut marks = self.marks.iter_mut().skip(base / 64);
        if let Some(marks) = marks.next() {
            marks.starts = found.starts;
            marks.after |= jumps << 3 | ends << 1;
            marks.apart |= gotos << 3 | ends << 1;
        }
        if let Some(next) = marks.next() {
            next.after |= jumps >> 61 | ends >> 63;
            next.apart |= gotos >> 61 | ends >> 63;
        }
        while ends != 0 {
            let bci = base + ends.trailing_zeros() as usize;
            if code.get(bci) != Some(&opcode::ATHROW) {
                push(&mut self.returns, bci as u16);
            }
            ends &= ends - 1;
        }
        let mut left = jumps | found.stops;
        while left != 0 {
            let bit = left & left.wrapping_neg();
            let bci = base + left.trailing_zeros() as usize;
            left ^= bit;
            if found.stops & bit != 0 {
                self.stop(code, bci)?;
                continue;
            }
            let Some(&[_, hi, lo]) = code.get(bci..).and_then(|rest| rest.first_chunk()) else {
                return Err(cut_short(bci));
            };
            push(&mut self.jumps, bci as u16);
            let offset = i16::from_be_bytes([hi, lo]);
            self.target(bci, (bci as u32).wrapping_add_signed(offset.into()))?;
        }
        Ok(())
    }

    /// Bytes kept for the next method.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Marks>() * self.marks.capacity()
            + size_of::<u16>() * (self.jumps.capacity() + self.returns.capacity())
    }

    /// The instruction before this position transfers control.
    fn ends(&mut self, next: usize, falls_through: bool) {
        if let Some(marks) = self.marks.get_mut(next / 64) {
            marks.after |= 1 << (next % 64);
            marks.apart |= u64::from(!falls_through) << (next % 64);
        }
    }

    /// Notes an instruction that has no fixed length or is rare.
    #[cold]
    fn stop(&mut self, code: &[u8], bci: usize) -> Result<(), Error> {
        let instruction = Instruction::at(code, bci as u32)?;
        let row = opcode(instruction.effective());
        match row.class {
            InstructionClass::Goto | InstructionClass::Jsr => {
                push(&mut self.jumps, bci as u16);
                self.target(bci, instruction.branch_target().ok_or_else(|| bad(code, bci))?)?;
            }
            InstructionClass::Switch => {
                push(&mut self.jumps, bci as u16);
                self.switches += 1;
                if let Some(switch) = instruction.switch() {
                    self.target(bci, switch.default)?;
                    for (_, target) in switch.cases() {
                        self.target(bci, target)?;
                    }
                }
            }
            InstructionClass::Ret => {}
            _ => return Ok(()),
        }
        self.ends(instruction.end() as usize, row.falls_through());
        Ok(())
    }

    #[inline]
    fn target(&mut self, from: usize, to: u32) -> Result<(), Error> {
        let to = to as usize;
        match self.marks.get_mut(to / 64) {
            Some(marks) => {
                marks.targets |= 1 << (to % 64);
                marks.loops |= u64::from(to <= from) << (to % 64);
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
            if let Some(marks) = self.marks.get_mut(usize::from(e.handler) / 64) {
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

    fn check(&self, len: usize) -> Result<(), Error> {
        if self.marks.iter().any(|m| m.targets & !m.starts != 0) {
            return Err(Error::malformed(len, "branch into an instruction or past the end"));
        }
        Ok(())
    }

    /// The marks, 64 bytes of code at a time.
    #[inline]
    pub(crate) fn marks(&self) -> &[Marks] {
        &self.marks
    }

    #[inline]
    fn has(&self, bci: u32, kind: impl FnOnce(&Marks) -> u64) -> bool {
        self.marks.get(bci as usize / 64).is_some_and(|m| kind(m) >> (bci % 64) & 1 != 0)
    }

    /// Does an instruction start here?
    #[inline]
    pub(crate) fn is_start(&self, bci: u32) -> bool {
        self.has(bci, |m| m.starts)
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
        self.marks.iter().zip((0..).step_by(64)).flat_map(|(marks, base)| {
            let mut left = marks.starts;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(base + bit)
            })
        })
    }
}

#[cold]
fn cut_short(bci: usize) -> Error {
    Error::malformed(bci, "last instruction cut short")
}

#[cold]
fn bad(code: &[u8], bci: usize) -> Error {
    Error::new(bci, ErrorKind::BadInstruction(code.get(bci).copied().unwrap_or(0)))
}

/// What is left of the code when all whole words are taken; what is past its end does nothing.
#[inline]
fn last_word(code: &[u8], rest: &[u8]) -> [u8; 8] {
    if let Some(last) = code.last_chunk() {
        return (u64::from_le_bytes(*last) >> (64 - 8 * rest.len() as u32 % 64)).to_le_bytes();
    }
    // Byte by byte: to copy an unknown number of them takes longer.
    rest.iter().rfold(0, |word, byte| word << 8 | u64::from(*byte)).to_le_bytes()
}

/// Goes on where an instruction stopped the pass in the word at `at`. Returns what is found in the word, where the next one is
/// entered, and where it stopped.
#[cold]
fn go_on(code: &[u8], at: usize, word: [u8; 8], mut found: u32) -> Result<(u32, usize, u64), Error> {
    let mut stops = 0;
    loop {
        // It is the last start found.
        let place = 7 - (found as u8).leading_zeros() as usize;
        stops |= 1 << ((at + place) % 64);
        let next = place + length_at(code, at + place).ok_or_else(|| bad(code, at + place))?;
        if next >= word.len() {
            return Ok((found, next - word.len(), stops));
        }
        let (more, entry) = follow(word, next);
        found |= more;
        if entry <= MOST_LEFT {
            return Ok((found, entry, stops));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A source of numbers that look random.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % n
        }
    }

    /// Appends an instruction with operands of any value, but for jumps, which go to themselves.
    fn append(code: &mut Vec<u8>, op: u8, dice: &mut Dice) {
        let bci = code.len();
        code.push(op);
        match op {
            opcode::TABLESWITCH | opcode::LOOKUPSWITCH => {
                code.resize((bci & !3) + 4, 0);
                let cases = 1 + dice.below(5) as u32;
                // The default; then the lowest and the highest key and the targets, or a count and pairs.
                code.extend([0; 4]);
                if op == opcode::TABLESWITCH {
                    code.extend(1u32.to_be_bytes());
                    code.extend(cases.to_be_bytes());
                    code.resize(code.len() + 4 * cases as usize, 0);
                } else {
                    code.extend(cases.to_be_bytes());
                    (0..cases).for_each(|key| code.extend((u64::from(key) << 32).to_be_bytes()));
                }
            }
            opcode::WIDE => {
                let widened = [opcode::ILOAD, opcode::IINC, opcode::RET][dice.below(3)];
                let operands = if widened == opcode::IINC { 4 } else { 2 };
                code.push(widened);
                code.extend((0..operands).map(|_| dice.below(256) as u8));
            }
            _ => {
                let is_jump = matches!(
                    opcode(op).class,
                    InstructionClass::Branch | InstructionClass::Goto | InstructionClass::Jsr
                );
                let operands = usize::from(opcode(op).length) - 1;
                code.extend((0..operands).map(|_| if is_jump { 0 } else { dice.below(256) as u8 }));
            }
        }
    }

    #[test]
    fn every_instruction_is_found() {
        let mut dice = Dice(1);
        let known: Vec<u8> = (0..=201).collect();
        for round in 0..3_000 {
            let (mut body, mut expected) = (Vec::new(), Vec::new());
            for _ in 0..=dice.below(round / 10 + 1) {
                // Some rounds have many of the rare ones.
                let op = match dice.below(if round % 3 == 0 { 8 } else { 80 }) {
                    0 => [opcode::TABLESWITCH, opcode::LOOKUPSWITCH, opcode::WIDE, opcode::GOTO_W]
                        [dice.below(4)],
                    _ => known[dice.below(known.len())],
                };
                expected.push(body.len() as u32);
                append(&mut body, op, &mut dice);
            }
            let mut data = vec![0; 4];
            data.extend((body.len() as u32).to_be_bytes());
            data.extend(&body);
            data.extend([0; 4]);
            let code = Code::parse(&data, 0).unwrap();
            let mut scan = Scan::default();
            scan.run(&code).unwrap();
            assert_eq!(scan.starts().collect::<Vec<_>>(), expected, "{body:?}");
            let of = |wanted: &dyn Fn(&Instruction<'_>) -> bool| -> Vec<u16> {
                code.instructions().flatten().filter(|i| wanted(i)).map(|i| i.bci as u16).collect()
            };
            assert_eq!(scan.returns, of(&|i| i.info().class == InstructionClass::Return));
            assert_eq!(scan.jumps, of(&|i| i.branch_target().is_some() || i.switch().is_some()));
            // One byte less, and it is not whole.
            if body.len() > 1 && expected.last().is_some_and(|last| *last as usize + 1 < body.len()) {
                data.remove(8 + body.len() - 1);
                data[4..8].copy_from_slice(&(body.len() as u32 - 1).to_be_bytes());
                assert!(scan.run(&Code::parse(&data, 0).unwrap()).is_err());
            }
        }
    }
}
