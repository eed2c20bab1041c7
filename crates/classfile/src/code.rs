//! The `Code` attribute.

use crate::class::Attributes;
use crate::error::Error;
use crate::instruction::Instructions;
use crate::read::{Reader, be16};

/// A method's code, borrowing from the class file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Code<'a> {
    /// Operand stack slots.
    pub max_stack: u16,
    /// Local variable slots.
    pub max_locals: u16,
    /// The instructions.
    pub bytes: &'a [u8],
    exceptions: &'a [u8],
    /// LineNumberTable, StackMapTable and so on.
    pub attributes: Attributes<'a>,
}

/// A row of the exception table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExceptionEntry {
    /// First covered instruction.
    pub start: u16,
    /// First instruction no longer covered.
    pub end: u16,
    /// The handler.
    pub handler: u16,
    /// Pool index of the class caught; 0 catches everything.
    pub catch_type: u16,
}

impl<'a> Code<'a> {
    /// Reads the body of a `Code` attribute found at `offset` of the class file.
    #[inline(always)]
    pub(crate) fn parse(data: &'a [u8], offset: usize) -> Result<Self, Error> {
        let mut r = Reader::new(data, offset);
        let &[a, b, c, d, e, f, g, h] = r.chunk()?;
        let (max_stack, max_locals) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        let len = u32::from_be_bytes([e, f, g, h]);
        if len == 0 || len > 65_535 {
            return Err(r.malformed("code length out of range"));
        }
        let bytes = r.take(len as usize)?;
        let entries = usize::from(r.u2()?);
        let exceptions = r.take(entries * 8)?;
        let attributes = Attributes::parse(&mut r)?;
        if !r.is_empty() {
            return Err(r.malformed("bytes after the last attribute"));
        }
        Ok(Code { max_stack, max_locals, bytes, exceptions, attributes })
    }

    /// The instructions in order.
    pub fn instructions(&self) -> Instructions<'a> {
        Instructions::new(self.bytes)
    }

    /// The exception table in order of priority.
    pub fn exceptions(&self) -> impl ExactSizeIterator<Item = ExceptionEntry> + use<'a> {
        self.exceptions.chunks_exact(8).map(|e| {
            let field = |at| be16(e, at).unwrap_or(0);
            ExceptionEntry { start: field(0), end: field(2), handler: field(4), catch_type: field(6) }
        })
    }

    /// Whether what is thrown by the instruction there ends in a handler that covers itself, as that of a `synchronized`
    /// block does: it unlocks until that does not throw. Code that may throw again and again must not be inserted there.
    pub fn retries_at(&self, bci: u32) -> bool {
        self.exceptions().any(|e| {
            let covered = u32::from(e.start)..u32::from(e.end);
            covered.contains(&bci) && covered.contains(&e.handler.into())
        })
    }

    /// True if any handler exists.
    pub fn has_handlers(&self) -> bool {
        !self.exceptions.is_empty()
    }
}
