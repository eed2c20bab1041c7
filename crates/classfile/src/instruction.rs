//! Decoding instructions where they lie.

use crate::error::{Error, ErrorKind};
use crate::opcode::{self, Opcode, Operands, opcode};
use crate::read::{be16, be32};

/// One instruction, borrowing from the code array.
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'a> {
    /// Byte code index: where it starts.
    pub bci: u32,
    /// Its opcode (`wide` for a prefixed instruction, see [`Instruction::effective`]).
    pub opcode: u8,
    bytes: &'a [u8],
}

/// Operands of a `tableswitch` or `lookupswitch`.
#[derive(Clone, Copy, Debug)]
pub struct Switch<'a> {
    bci: u32,
    /// Where the default goes.
    pub default: u32,
    /// Lowest key of a table switch; `None` for a lookup switch.
    pub low: Option<i32>,
    cases: &'a [u8],
}

impl<'a> Switch<'a> {
    /// Number of cases, without the default.
    pub fn len(&self) -> usize {
        self.cases.len() / self.stride()
    }

    /// True if there is only the default.
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    fn stride(&self) -> usize {
        if self.low.is_some() { 4 } else { 8 }
    }

    /// Keys and targets in order.
    pub fn cases(&self) -> impl Iterator<Item = (i32, u32)> + use<'a> {
        let (bci, low, stride) = (self.bci, self.low, self.stride());
        self.cases.chunks_exact(stride).enumerate().map(move |(i, case)| {
            let word = |at| be32(case, at).unwrap_or(0).cast_signed();
            let key = match low {
                Some(low) => low.wrapping_add(i as i32),
                None => word(0),
            };
            (key, target(bci, word(stride - 4)))
        })
    }
}

/// A branch target; what lies outside the code becomes a position no instruction can have.
#[inline]
fn target(bci: u32, offset: i32) -> u32 {
    u32::try_from(i64::from(bci) + i64::from(offset)).unwrap_or(u32::MAX)
}

/// Length of the instruction at `bci`; `None` if it is undefined or cut short.
#[inline]
pub(crate) fn length_at(code: &[u8], bci: usize) -> Option<usize> {
    let op = *code.get(bci)?;
    let len = match opcode::length(op) {
        0 => variable_length(code, bci, op)?,
        n => n,
    };
    (bci + len <= code.len()).then_some(len)
}

/// Target of the branch at `bci`, whose offset takes the rest of its length.
#[inline]
pub(crate) fn branch_target_at(code: &[u8], bci: usize, length: usize) -> Option<u32> {
    let offset = match length {
        3 => be16(code, bci + 1)?.cast_signed().into(),
        _ => be32(code, bci + 1)?.cast_signed(),
    };
    Some(target(bci as u32, offset))
}

#[cold]
fn variable_length(code: &[u8], bci: usize, op: u8) -> Option<usize> {
    let base = (bci & !3) + 4;
    match op {
        opcode::TABLESWITCH => {
            let (low, high) = (be32(code, base + 4)?.cast_signed(), be32(code, base + 8)?.cast_signed());
            let cases = usize::try_from(i64::from(high) - i64::from(low) + 1).ok()?;
            (cases > 0 && cases <= code.len()).then(|| base + 12 + cases * 4 - bci)
        }
        opcode::LOOKUPSWITCH => {
            let cases = usize::try_from(be32(code, base + 4)?.cast_signed()).ok()?;
            (cases <= code.len()).then(|| base + 8 + cases * 8 - bci)
        }
        opcode::WIDE => match opcode(*code.get(bci + 1)?).operands {
            Operands::Local => Some(4),
            Operands::Iinc => Some(6),
            _ => None,
        },
        _ => None,
    }
}

impl<'a> Instruction<'a> {
    /// Decodes the instruction at `bci`.
    #[inline]
    pub fn at(code: &'a [u8], bci: u32) -> Result<Self, Error> {
        let start = bci as usize;
        let op = code.get(start).copied().unwrap_or(0);
        length_at(code, start)
            .and_then(|len| code.get(start..)?.get(..len))
            .map(|bytes| Instruction { bci, opcode: op, bytes })
            .ok_or_else(|| Error::new(start, ErrorKind::BadInstruction(op)))
    }

    /// Length in bytes.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Where the next instruction starts.
    pub fn end(&self) -> u32 {
        self.bci + self.bytes.len() as u32
    }

    /// All its bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The opcode that does the work: the one after the prefix for `wide`.
    pub fn effective(&self) -> u8 {
        match self.opcode {
            opcode::WIDE => self.bytes.get(1).copied().unwrap_or(0),
            op => op,
        }
    }

    /// The table row of [`Instruction::effective`].
    pub fn info(&self) -> &'static Opcode {
        opcode(self.effective())
    }

    /// Target of a conditional branch, `goto` or `jsr`.
    pub fn branch_target(&self) -> Option<u32> {
        let offset = match opcode(self.opcode).operands {
            Operands::Branch2 => i32::from(be16(self.bytes, 1)?.cast_signed()),
            Operands::Branch4 => be32(self.bytes, 1)?.cast_signed(),
            _ => return None,
        };
        Some(target(self.bci, offset))
    }

    /// Operands of a switch.
    pub fn switch(&self) -> Option<Switch<'a>> {
        let base = (self.bci as usize & !3) + 4 - self.bci as usize;
        let default = target(self.bci, be32(self.bytes, base)?.cast_signed());
        let (low, skip) = match self.opcode {
            opcode::TABLESWITCH => (Some(be32(self.bytes, base + 4)?.cast_signed()), 12),
            opcode::LOOKUPSWITCH => (None, 8),
            _ => return None,
        };
        Some(Switch { bci: self.bci, default, low, cases: self.bytes.get(base + skip..)? })
    }

    /// Local variable read or written by a load, store, `iinc` or `ret`.
    pub fn local(&self) -> Option<u16> {
        let op = self.effective();
        match opcode(op).operands {
            Operands::Local | Operands::Iinc if self.opcode == opcode::WIDE => be16(self.bytes, 2),
            Operands::Local | Operands::Iinc => self.bytes.get(1).map(|&n| u16::from(n)),
            // Both runs of short forms are groups of four that start at a multiple of four plus two or three.
            Operands::Implicit if op >= opcode::ISTORE_0 => Some(u16::from(op - opcode::ISTORE_0) & 3),
            Operands::Implicit => Some(u16::from(op.wrapping_sub(opcode::ILOAD_0)) & 3),
            _ => None,
        }
    }

    /// Constant pool index.
    pub fn pool_index(&self) -> Option<u16> {
        match opcode(self.opcode).operands {
            Operands::Pool1 => self.bytes.get(1).map(|&n| u16::from(n)),
            Operands::Pool2
            | Operands::InvokeInterface
            | Operands::InvokeDynamic
            | Operands::MultiNewArray => be16(self.bytes, 1),
            _ => None,
        }
    }

    /// Value of `bipush` and `sipush`, increment of `iinc`.
    pub fn immediate(&self) -> Option<i32> {
        let byte = |at: usize| self.bytes.get(at).map(|&b| i32::from(b.cast_signed()));
        let short = |at: usize| be16(self.bytes, at).map(|b| i32::from(b.cast_signed()));
        match opcode(self.effective()).operands {
            Operands::Byte => byte(1),
            Operands::Short => short(1),
            Operands::Iinc if self.opcode == opcode::WIDE => short(4),
            Operands::Iinc => byte(2),
            _ => None,
        }
    }

    /// Array type code of `newarray`, dimensions of `multianewarray`.
    pub fn array_operand(&self) -> Option<u8> {
        match opcode(self.opcode).operands {
            Operands::ArrayType => self.bytes.get(1).copied(),
            Operands::MultiNewArray => self.bytes.get(3).copied(),
            _ => None,
        }
    }
}

/// Iterates over instructions; stops after the first error.
#[derive(Clone, Debug)]
pub struct Instructions<'a> {
    code: &'a [u8],
    next: u32,
    end: u32,
}

impl<'a> Instructions<'a> {
    pub(crate) fn new(code: &'a [u8]) -> Self {
        Instructions { code, next: 0, end: code.len() as u32 }
    }

    /// The instructions that start in `[from, to)`; `from` must be the start of one.
    pub fn between(code: &'a [u8], from: u32, to: u32) -> Self {
        Instructions { code, next: from, end: to.min(code.len() as u32) }
    }
}

impl<'a> Iterator for Instructions<'a> {
    type Item = Result<Instruction<'a>, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        let instruction = Instruction::at(self.code, self.next);
        self.next = instruction.as_ref().map_or(u32::MAX, Instruction::end);
        Some(instruction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_forms_name_their_local() {
        for (op, local) in
            [(opcode::ILOAD_0, 0), (opcode::ALOAD_3, 3), (opcode::LSTORE_1, 1), (opcode::ASTORE_2, 2)]
        {
            assert_eq!(Instruction::at(&[op], 0).unwrap().local(), Some(local), "{op:#x}");
        }
        let wide = [opcode::WIDE, opcode::IINC, 1, 2, 0xff, 0xfe];
        let i = Instruction::at(&wide, 0).unwrap();
        assert_eq!((i.local(), i.immediate(), i.len()), (Some(0x102), Some(-2), 6));
    }

    #[test]
    fn switches_decode_with_padding() {
        let mut code = vec![opcode::NOP, opcode::TABLESWITCH, 0, 0];
        for word in [20i32, 5, 6, 27, 28] {
            code.extend(word.to_be_bytes());
        }
        let s = Instruction::at(&code, 1).unwrap().switch().unwrap();
        assert_eq!(s.default, 21);
        assert_eq!(s.cases().collect::<Vec<_>>(), [(5, 28), (6, 29)]);
        assert!(Instruction::at(&code[..15], 1).is_err());
    }
}
