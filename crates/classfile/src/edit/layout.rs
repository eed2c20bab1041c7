//! Where everything goes: insertions sorted by place, and the map from old to new positions.

use crate::code::Code;
use crate::error::EditError;
use crate::instruction::Instruction;
use crate::opcode::{self, InstructionClass, opcode};
use crate::scan::Scan;

/// Where a snippet goes relative to the instruction and the place branches to it arrive.
/// The order is the order in the code; branches arrive between `FallThrough` and `Handler`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    Entry,
    FallThrough,
    Handler,
    Before,
    Leave,
}

/// A snippet at an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Insertion {
    pub(crate) snippet: Span,
    pub(crate) bci: u16,
    pub(crate) rank: Rank,
}

/// A piece of the snippet buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) len: u16,
}

/// Which way out of an instruction; ordered so that stubs can be found by binary search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EdgeKey {
    Branch(u32),
    Case(u32, u32),
    Default(u32),
    Handler(u32),
}

/// A snippet on an edge. Snippets of the same edge share a stub, in the order they were given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeInsertion {
    pub(crate) key: EdgeKey,
    pub(crate) target: u32,
    pub(crate) snippet: Span,
    /// New position of the stub this snippet starts; `u32::MAX` if it continues the one before.
    pub(crate) position: u32,
}

/// Old positions to new ones.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// What to add (modulo 2^16, which all positions stay below) to an old position to get to the place where branches
    /// to it arrive. Two bytes per byte of code: this is the largest buffer of an edit.
    shift: Vec<u16>,
    pub(crate) insertions: Vec<Insertion>,
    pub(crate) edges: Vec<EdgeInsertion>,
    pub(crate) snippets: Vec<u8>,
    /// For each jump of the scan, whether it needs the long form. Empty if none does.
    pub(crate) long: Vec<bool>,
    /// Length of the entry snippets.
    pub(crate) entry_len: u32,
    /// End of the old code, its insertions included; stubs follow.
    pub(crate) code_end: u32,
    /// End of the stubs; handlers follow.
    pub(crate) stubs_end: u32,
}

impl Layout {
    pub(crate) fn clear(&mut self) {
        self.insertions.clear();
        self.edges.clear();
        self.snippets.clear();
        self.long.clear();
    }

    /// Where branches to the old position go.
    #[inline]
    pub(crate) fn label(&self, bci: u32) -> u32 {
        u32::from((bci as u16).wrapping_add(self.shift.get(bci as usize).copied().unwrap_or(0)))
    }

    /// Where the instruction itself is, after anything inserted before it.
    pub(crate) fn instruction(&self, bci: u32) -> u32 {
        let first = self.insertions.partition_point(|i| u32::from(i.bci) < bci);
        let inserted = self.insertions.iter().skip(first).take_while(|i| u32::from(i.bci) == bci);
        let len: u32 =
            inserted.filter(|i| i.rank > Rank::FallThrough).map(|i| u32::from(i.snippet.len)).sum();
        self.label(bci) + len
    }

    pub(crate) fn bytes(&self, span: Span) -> &[u8] {
        let start = span.start as usize;
        self.snippets.get(start..start + span.len as usize).unwrap_or_default()
    }

    /// New position of the stub on an edge.
    pub(crate) fn stub(&self, key: EdgeKey) -> Option<u32> {
        if self.edges.is_empty() {
            return None;
        }
        let first = self.edges.partition_point(|e| e.key < key);
        self.edges.get(first).filter(|e| e.key == key).map(|e| e.position)
    }

    /// Computes all positions. `extra` bytes of handlers will follow the code.
    pub(crate) fn compute(&mut self, code: &Code<'_>, scan: &Scan, extra: u32) -> Result<(), EditError> {
        // Usually inserted in order already, which a stable sort notices at once.
        self.insertions.sort_by_key(|i| (i.bci, i.rank));
        self.edges.sort_by_key(|e| e.key);
        let entry = self.insertions.iter().take_while(|i| i.rank == Rank::Entry);
        self.entry_len = entry.map(|i| u32::from(i.snippet.len)).sum();
        self.shift.resize(code.bytes.len() + 1, 0);
        self.place(code, scan);
        // Where every position fits in 15 bits so does every distance.
        if self.stubs_end.saturating_add(extra) > 32_767 {
            // One flag even without jumps: it also tells stubs to jump far.
            self.long.resize(scan.jumps.len().max(1), false);
            loop {
                self.place(code, scan);
                // Positions are only right below 2^16, and code never gets shorter.
                if self.stubs_end > 65_535 || !self.lengthen(code, scan) {
                    break;
                }
            }
        }
        match self.stubs_end.saturating_add(extra) {
            size @ 65_536.. => Err(EditError::TooLarge { size }),
            _ => Ok(()),
        }
    }

    /// Marks jumps that do not reach; true if there are new ones.
    fn lengthen(&mut self, code: &Code<'_>, scan: &Scan) -> bool {
        let mut changed = false;
        for (i, &bci) in scan.jumps.iter().enumerate() {
            let Ok(jump) = Instruction::at(code.bytes, bci) else { continue };
            if jump.len() != 3 || self.long.get(i) != Some(&false) {
                continue;
            }
            let target = jump.branch_target().unwrap_or(0);
            let to = self.stub(EdgeKey::Branch(bci)).unwrap_or_else(|| self.label(target));
            let distance = i64::from(to) - i64::from(self.instruction(bci));
            if i16::try_from(distance).is_err()
                && let Some(long) = self.long.get_mut(i)
            {
                *long = true;
                changed = true;
            }
        }
        changed
    }

    fn place(&mut self, code: &Code<'_>, scan: &Scan) {
        let mut delta = 0i32;
        let mut filled = 0usize;
        let mut insertions = self.insertions.iter().peekable();
        let mut jumps = scan.jumps.iter().enumerate().peekable();
        loop {
            // The next place where the shift changes: an insertion, a switch, or a jump made longer.
            let resized = loop {
                match jumps.peek() {
                    Some(&(i, &bci)) => {
                        let is_switch = code.bytes.get(bci as usize).is_some_and(|&op| is_switch(op));
                        if is_switch || self.long.get(i) == Some(&true) {
                            break Some(bci);
                        }
                        jumps.next();
                    }
                    None => break None,
                }
            };
            let bci = match (insertions.peek().map(|i| i.bci.into()), resized) {
                (Some(a), Some(b)) => a.min(b),
                (Some(a), None) | (None, Some(a)) => a,
                (None, None) => break,
            };
            fill(&mut self.shift, filled, bci as usize, delta);
            filled = bci as usize + 1;
            while let Some(i) = insertions.next_if(|i| u32::from(i.bci) == bci && i.rank <= Rank::FallThrough)
            {
                delta = delta.wrapping_add_unsigned(i.snippet.len.into());
            }
            if let Some(shift) = self.shift.get_mut(bci as usize) {
                *shift = delta as u16;
            }
            while let Some(i) = insertions.next_if(|i| u32::from(i.bci) == bci) {
                delta = delta.wrapping_add_unsigned(i.snippet.len.into());
            }
            if resized == Some(bci) {
                jumps.next();
                delta = delta.wrapping_add(growth(code, bci, bci.wrapping_add_signed(delta)));
            }
        }
        fill(&mut self.shift, filled, code.bytes.len() + 1, delta);
        self.code_end = (code.bytes.len() as u32).wrapping_add_signed(delta);
        self.place_stubs();
    }

    fn place_stubs(&mut self) {
        let jump = if self.long.is_empty() { 3 } else { 5 };
        let mut position = self.code_end;
        let mut previous = None;
        for edge in &mut self.edges {
            if previous == Some(edge.key) {
                edge.position = u32::MAX;
            } else {
                if previous.is_some() {
                    position += jump;
                }
                edge.position = position;
            }
            previous = Some(edge.key);
            position += u32::from(edge.snippet.len);
        }
        if previous.is_some() {
            position += jump;
        }
        self.stubs_end = position;
    }
}

fn fill(shift: &mut [u16], from: usize, to: usize, value: i32) {
    if let Some(run) = shift.get_mut(from..to) {
        run.fill(value as u16);
    }
}

#[inline]
fn is_switch(op: u8) -> bool {
    matches!(op, opcode::TABLESWITCH | opcode::LOOKUPSWITCH)
}

/// How much longer a switch (by its padding) or a lengthened jump becomes at its new position.
fn growth(code: &Code<'_>, bci: u32, position: u32) -> i32 {
    match code.bytes.get(bci as usize).map(|&op| opcode(op).class) {
        Some(InstructionClass::Switch) => padding(position).wrapping_sub(padding(bci)),
        // `ifxx` becomes `if-not-xx 8; goto_w`.
        Some(InstructionClass::Branch) => 5,
        _ => 2,
    }
}

/// Bytes between a switch's opcode and its operands.
#[inline]
pub(crate) fn padding(bci: u32) -> i32 {
    (3 - (bci & 3)).cast_signed()
}
