//! Straight-line code to insert, built instruction by instruction in the shortest encoding.

use crate::descriptor;
use crate::opcode::{self as op, opcode};

/// A straight-line code sequence that knows how much stack it needs.
///
/// A snippet is independent of the method it goes into; constants are pool indices of the class being edited. Clear
/// and reuse it: inserting copies its bytes.
#[derive(Clone, Debug, Default)]
pub struct Snippet {
    code: Vec<u8>,
    depth: i32,
    max_depth: i32,
    min_depth: i32,
    ends: bool,
    error: Option<&'static str>,
}

impl Snippet {
    /// An empty snippet.
    pub fn new() -> Self {
        Snippet::default()
    }

    /// Forgets the code, keeps the memory.
    pub fn clear(&mut self) -> &mut Self {
        self.code.clear();
        (self.depth, self.max_depth, self.min_depth) = (0, 0, 0);
        self.ends = false;
        self.error = None;
        self
    }

    /// The code so far.
    pub fn bytes(&self) -> &[u8] {
        &self.code
    }

    /// The bytes and how many they are, if those are few, the stack is as before, and there is nothing wrong with them.
    #[inline]
    pub(crate) fn short(&self) -> Option<([u8; 3], usize)> {
        if self.error.is_some() || self.depth != 0 || self.ends {
            return None;
        }
        match *self.code.as_slice() {
            [a, b, c] => Some(([a, b, c], 3)),
            [a, b] => Some(([a, b, 0], 2)),
            [a] => Some(([a, 0, 0], 1)),
            _ => None,
        }
    }

    /// Slots it leaves on the stack (negative: takes away).
    pub fn net_effect(&self) -> i32 {
        self.depth
    }

    /// Deepest stack above where it started.
    pub fn max_growth(&self) -> u32 {
        self.max_depth.max(0).cast_unsigned()
    }

    /// Slots below its start that it reads or replaces.
    pub fn reaches_below(&self) -> u32 {
        self.min_depth.min(0).unsigned_abs()
    }

    /// Ends in `athrow` or a return.
    pub fn is_terminal(&self) -> bool {
        self.ends
    }

    /// What went wrong while building, if anything.
    pub fn error(&self) -> Option<&'static str> {
        self.error
    }

    fn fail(&mut self, what: &'static str) -> &mut Self {
        self.error.get_or_insert(what);
        self
    }

    fn effect(&mut self, popped: u32, pushed: u32) -> &mut Self {
        if self.ends {
            self.fail("code after the end");
        }
        self.depth = self.depth.saturating_sub_unsigned(popped);
        self.min_depth = self.min_depth.min(self.depth);
        self.depth = self.depth.saturating_add_unsigned(pushed);
        self.max_depth = self.max_depth.max(self.depth);
        self
    }

    /// An instruction without operands: arithmetic, conversions, `dup`, array access, `athrow`, …
    pub fn op(&mut self, opcode_byte: u8) -> &mut Self {
        let row = opcode(opcode_byte);
        let Some((popped, pushed)) = row.slots.filter(|_| row.length == 1) else {
            return self.fail("not an instruction without operands");
        };
        self.effect(popped.into(), pushed.into());
        self.code.push(opcode_byte);
        self.ends = !row.falls_through();
        self
    }

    fn local(&mut self, opcode_byte: u8, short: u8, index: u16) -> &mut Self {
        if let Some((popped, pushed)) = opcode(opcode_byte).slots {
            self.effect(popped.into(), pushed.into());
        }
        match (index, u8::try_from(index)) {
            (0..=3, Ok(n)) => self.code.push(short + n),
            (_, Ok(n)) => self.code.extend([opcode_byte, n]),
            (_, Err(_)) => {
                let [hi, lo] = index.to_be_bytes();
                self.code.extend([op::WIDE, opcode_byte, hi, lo]);
            }
        }
        self
    }

    /// Load an int local.
    pub fn iload(&mut self, index: u16) -> &mut Self {
        self.local(op::ILOAD, op::ILOAD_0, index)
    }

    /// Load a long local.
    pub fn lload(&mut self, index: u16) -> &mut Self {
        self.local(op::LLOAD, op::LLOAD_0, index)
    }

    /// Load a float local.
    pub fn fload(&mut self, index: u16) -> &mut Self {
        self.local(op::FLOAD, op::FLOAD_0, index)
    }

    /// Load a double local.
    pub fn dload(&mut self, index: u16) -> &mut Self {
        self.local(op::DLOAD, op::DLOAD_0, index)
    }

    /// Load a reference local.
    pub fn aload(&mut self, index: u16) -> &mut Self {
        self.local(op::ALOAD, op::ALOAD_0, index)
    }

    /// Store an int local.
    pub fn istore(&mut self, index: u16) -> &mut Self {
        self.local(op::ISTORE, op::ISTORE_0, index)
    }

    /// Store a long local.
    pub fn lstore(&mut self, index: u16) -> &mut Self {
        self.local(op::LSTORE, op::LSTORE_0, index)
    }

    /// Store a float local.
    pub fn fstore(&mut self, index: u16) -> &mut Self {
        self.local(op::FSTORE, op::FSTORE_0, index)
    }

    /// Store a double local.
    pub fn dstore(&mut self, index: u16) -> &mut Self {
        self.local(op::DSTORE, op::DSTORE_0, index)
    }

    /// Store a reference local.
    pub fn astore(&mut self, index: u16) -> &mut Self {
        self.local(op::ASTORE, op::ASTORE_0, index)
    }

    /// Add to an int local. Increments beyond 16 bits become several instructions.
    pub fn iinc(&mut self, index: u16, by: i32) -> &mut Self {
        if self.ends {
            self.fail("code after the end");
        }
        if let (Ok(n), Ok(step)) = (u8::try_from(index), i8::try_from(by)) {
            if by != 0 {
                self.code.extend_from_slice(&[op::IINC, n, step.cast_unsigned()]);
            }
            return self;
        }
        self.wide_iinc(index, by)
    }

    #[inline(never)]
    fn wide_iinc(&mut self, index: u16, by: i32) -> &mut Self {
        let mut left = by;
        while left != 0 {
            let step = left.clamp(i32::from(i16::MIN), i32::from(i16::MAX));
            left -= step;
            match (u8::try_from(index), i8::try_from(step)) {
                (Ok(n), Ok(step)) => self.code.extend([op::IINC, n, step.cast_unsigned()]),
                _ => {
                    let ([h, l], [sh, sl]) = (index.to_be_bytes(), (step as i16).to_be_bytes());
                    self.code.extend([op::WIDE, op::IINC, h, l, sh, sl]);
                }
            }
            // A 64 KB method cannot hold more steps than this, so neither may a snippet.
            if self.code.len() > 65_535 {
                return self.fail("increment too large");
            }
        }
        self
    }

    /// Push a small int without a constant: `iconst`, `bipush` or `sipush`. Use [`Snippet::ldc`] for others.
    pub fn int16(&mut self, value: i16) -> &mut Self {
        self.effect(0, 1);
        match (value, i8::try_from(value)) {
            (-1..=5, _) => self.code.push(op::ICONST_0.wrapping_add_signed(value as i8)),
            (_, Ok(v)) => self.code.extend([op::BIPUSH, v.cast_unsigned()]),
            _ => {
                let [hi, lo] = value.to_be_bytes();
                self.code.extend([op::SIPUSH, hi, lo]);
            }
        }
        self
    }

    /// Push a small long without a constant. Use [`Snippet::ldc2`] for others.
    pub fn long16(&mut self, value: i16) -> &mut Self {
        match value {
            0 => self.op(op::LCONST_0),
            1 => self.op(op::LCONST_1),
            _ => self.int16(value).op(op::I2L),
        }
    }

    /// Push a one-slot constant: int, float, string, class.
    pub fn ldc(&mut self, index: u16) -> &mut Self {
        self.effect(0, 1);
        match u8::try_from(index) {
            Ok(n) => self.code.extend([op::LDC, n]),
            Err(_) => self.with_index(op::LDC_W, index),
        }
        self
    }

    /// Push a long or double constant.
    pub fn ldc2(&mut self, index: u16) -> &mut Self {
        self.effect(0, 2).with_index(op::LDC2_W, index);
        self
    }

    fn with_index(&mut self, opcode_byte: u8, index: u16) {
        let [hi, lo] = index.to_be_bytes();
        self.code.extend([opcode_byte, hi, lo]);
    }

    fn field(&mut self, opcode_byte: u8, index: u16, descriptor: &[u8]) -> &mut Self {
        let Some(size) = descriptor::field_slots(descriptor) else {
            return self.fail("bad field descriptor");
        };
        let object = u32::from(matches!(opcode_byte, op::GETFIELD | op::PUTFIELD));
        if matches!(opcode_byte, op::GETFIELD | op::GETSTATIC) {
            self.effect(object, size);
        } else {
            self.effect(object + size, 0);
        }
        self.with_index(opcode_byte, index);
        self
    }

    /// Read a static field.
    pub fn getstatic(&mut self, field_ref: u16, descriptor: &[u8]) -> &mut Self {
        self.field(op::GETSTATIC, field_ref, descriptor)
    }

    /// Write a static field.
    pub fn putstatic(&mut self, field_ref: u16, descriptor: &[u8]) -> &mut Self {
        self.field(op::PUTSTATIC, field_ref, descriptor)
    }

    /// Read an instance field.
    pub fn getfield(&mut self, field_ref: u16, descriptor: &[u8]) -> &mut Self {
        self.field(op::GETFIELD, field_ref, descriptor)
    }

    /// Write an instance field.
    pub fn putfield(&mut self, field_ref: u16, descriptor: &[u8]) -> &mut Self {
        self.field(op::PUTFIELD, field_ref, descriptor)
    }

    fn invoke(&mut self, opcode_byte: u8, index: u16, descriptor: &[u8]) -> &mut Self {
        let Some((arguments, result)) = descriptor::method_slots(descriptor) else {
            return self.fail("bad method descriptor");
        };
        let receiver = u32::from(opcode_byte != op::INVOKESTATIC);
        self.effect(arguments + receiver, result).with_index(opcode_byte, index);
        if opcode_byte == op::INVOKEINTERFACE {
            match u8::try_from(arguments + 1) {
                Ok(count) => self.code.extend([count, 0]),
                Err(_) => return self.fail("too many arguments"),
            }
        }
        self
    }

    /// Call a static method.
    pub fn invokestatic(&mut self, method_ref: u16, descriptor: &[u8]) -> &mut Self {
        self.invoke(op::INVOKESTATIC, method_ref, descriptor)
    }

    /// Call a virtual method.
    pub fn invokevirtual(&mut self, method_ref: u16, descriptor: &[u8]) -> &mut Self {
        self.invoke(op::INVOKEVIRTUAL, method_ref, descriptor)
    }

    /// Call a constructor, super or private method.
    pub fn invokespecial(&mut self, method_ref: u16, descriptor: &[u8]) -> &mut Self {
        self.invoke(op::INVOKESPECIAL, method_ref, descriptor)
    }

    /// Call an interface method.
    pub fn invokeinterface(&mut self, method_ref: u16, descriptor: &[u8]) -> &mut Self {
        self.invoke(op::INVOKEINTERFACE, method_ref, descriptor)
    }

    /// Cast the reference on the stack.
    pub fn checkcast(&mut self, class: u16) -> &mut Self {
        self.effect(1, 1).with_index(op::CHECKCAST, class);
        self
    }

    /// Throw the exception on the stack; nothing may follow.
    pub fn athrow(&mut self) -> &mut Self {
        self.op(op::ATHROW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortest_encodings() {
        let mut s = Snippet::new();
        s.iload(2).istore(200).lload(300);
        assert_eq!(s.bytes(), [op::ILOAD_2, op::ISTORE, 200, op::WIDE, op::LLOAD, 1, 44]);
        assert_eq!((s.net_effect(), s.max_growth()), (2, 2));
        s.clear().iinc(1, 127).iinc(1, 128).iinc(256, 1);
        assert_eq!(s.bytes().len(), 3 + 6 + 6);
        s.clear().iinc(1, 40_000);
        assert_eq!(s.bytes().len(), 12);
        s.clear().int16(-1).int16(5).int16(6).int16(-200);
        assert_eq!(s.bytes(), [op::ICONST_M1, op::ICONST_5, op::BIPUSH, 6, op::SIPUSH, 0xff, 0x38]);
    }

    #[test]
    fn stack_needs_are_known() {
        let mut s = Snippet::new();
        s.ldc(3).ldc2(4).invokestatic(9, b"(IJ)V");
        assert_eq!((s.net_effect(), s.max_growth(), s.reaches_below()), (0, 3, 0));
        s.clear().op(op::DUP).op(op::POP);
        assert_eq!((s.net_effect(), s.max_growth(), s.reaches_below()), (0, 1, 1));
        s.clear().athrow();
        assert!(s.is_terminal());
        s.op(op::NOP);
        assert!(s.error().is_some());
        assert!(s.clear().op(op::GOTO).error().is_some());
    }
}
