//! What can be wrong with a class file, and why an edit may be refused.

use std::fmt;

/// A class file that cannot be read, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// Byte offset: in the class file, or in the method's code for instruction errors.
    pub offset: u32,
    /// What was found there.
    pub kind: ErrorKind,
}

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes end before the structure does.
    Truncated,
    /// The file does not start with `CAFEBABE`.
    BadMagic,
    /// A constant pool entry has an unknown tag.
    BadConstantTag(u8),
    /// A constant pool index names no entry, or an entry of another kind.
    BadConstant(u16),
    /// An undefined opcode, or an instruction cut short.
    BadInstruction(u8),
    /// Anything else that breaks the class-file format.
    Malformed(&'static str),
}

impl Error {
    // Cold, so that what makes errors stays out of the way of what does not.
    #[cold]
    #[inline(never)]
    pub(crate) fn new(offset: usize, kind: ErrorKind) -> Self {
        Error { offset: u32::try_from(offset).unwrap_or(u32::MAX), kind }
    }

    pub(crate) fn malformed(offset: usize, what: &'static str) -> Self {
        Error::new(offset, ErrorKind::Malformed(what))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ErrorKind::Truncated => write!(f, "class file ends early")?,
            ErrorKind::BadMagic => write!(f, "not a class file")?,
            ErrorKind::BadConstantTag(tag) => write!(f, "unknown constant pool tag {tag}")?,
            ErrorKind::BadConstant(index) => write!(f, "wrong constant pool entry {index}")?,
            ErrorKind::BadInstruction(op) => write!(f, "bad instruction {op:#04x}")?,
            ErrorKind::Malformed(what) => write!(f, "{what}")?,
        }
        write!(f, " (offset {})", self.offset)
    }
}

impl std::error::Error for Error {}

/// Why a method, or the whole class, was left as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EditError {
    /// The method, or an attribute of its code, is malformed.
    Malformed(Error),
    /// The edited code would be this long; a method holds at most 65,535 bytes.
    TooLarge {
        /// Length the code would have had.
        size: u32,
    },
    /// The edited code would exceed the limit given with `CodeEditor::set_size_limit`.
    OverLimit {
        /// Length the code would have had.
        size: u32,
        /// The caller's limit.
        limit: u32,
    },
    /// The constant pool would need more than 65,535 entries, or a string is too long for it.
    PoolFull,
    /// The method would need more than 65,535 local variable slots.
    TooManyLocals,
    /// The method would need an operand stack deeper than 65,535 slots.
    StackTooDeep,
    /// An insertion names a byte that is not the start of an instruction, or an edge that is not there.
    NotAnInstruction {
        /// The byte code index asked for.
        bci: u32,
    },
    /// The class version requires a stack map frame here and there is none.
    MissingFrame {
        /// Where the frame should be.
        bci: u32,
    },
    /// The snippet is not balanced, not straight-line, or used an encoding that does not exist.
    BadSnippet(&'static str),
    /// A constructor whose `this` cannot be followed (for instance because local 0 was overwritten).
    UntrackedThis {
        /// Where it was lost.
        bci: u32,
    },
    /// The rewritten stack maps would be unreasonably large.
    FramesTooLarge,
    /// An empty `finalize()V`: the VM sees it is empty and makes objects without finalizers. With code in it every
    /// instance would become finalizable.
    EmptyFinalizer,
    /// A catch-all in `Object.<init>`: HotSpot registers finalizers at its return, and C2 crashes on a handler there.
    ObjectConstructor,
    /// The offset does not fit the attribute that has to hold it.
    OffsetOverflow,
}

impl From<Error> for EditError {
    #[cold]
    #[inline(never)]
    fn from(e: Error) -> Self {
        EditError::Malformed(e)
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            EditError::Malformed(e) => write!(f, "malformed: {e}"),
            EditError::TooLarge { size } => write!(f, "code would be {size} bytes, the format allows 65535"),
            EditError::OverLimit { size, limit } => {
                write!(f, "code would be {size} bytes, the limit is {limit}")
            }
            EditError::PoolFull => write!(f, "constant pool is full"),
            EditError::TooManyLocals => write!(f, "too many local variables"),
            EditError::StackTooDeep => write!(f, "operand stack too deep"),
            EditError::NotAnInstruction { bci } => write!(f, "no such instruction or edge at {bci}"),
            EditError::MissingFrame { bci } => write!(f, "no stack map frame at {bci}"),
            EditError::BadSnippet(what) => write!(f, "bad snippet: {what}"),
            EditError::UntrackedThis { bci } => write!(f, "uninitialized this is lost at {bci}"),
            EditError::FramesTooLarge => write!(f, "stack maps would be too large"),
            EditError::EmptyFinalizer => write!(f, "an empty finalizer must stay empty"),
            EditError::ObjectConstructor => write!(f, "Object.<init> takes no exception handler"),
            EditError::OffsetOverflow => write!(f, "relocated offset does not fit its field"),
        }
    }
}

impl std::error::Error for EditError {}
