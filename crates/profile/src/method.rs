//! Methods: who the nodes of the tree are.

use crate::StrId;
use std::ops::BitOr;

/// Index into [`Profile::methods`](crate::Profile::methods).
pub type MethodId = u32;

/// What a thread's root has instead of a method.
pub const NO_METHOD: MethodId = u32::MAX;

/// Bits that say what kind of code a method is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MethodFlags(pub u8);

impl MethodFlags {
    /// A plain Java method, counted inside.
    pub const NONE: MethodFlags = MethodFlags(0);
    /// A `native` Java method.
    pub const NATIVE: MethodFlags = MethodFlags(1);
    /// A method the JIT replaces with its own code, so its bytecodes are never counted.
    pub const INTRINSIC: MethodFlags = MethodFlags(2);
    /// Not Java at all: a function of the VM, a library or the kernel.
    pub const FOREIGN: MethodFlags = MethodFlags(4);
    /// No code: a leaf that says what its parent's values are about, such as a class of objects that were made.
    pub const DETAIL: MethodFlags = MethodFlags(8);

    /// Native, intrinsic, foreign or a detail: a leaf with calls and no bytecodes of its own.
    pub fn opaque(self) -> bool {
        self.0 != 0
    }

    /// True when all bits of `other` are set.
    pub fn contains(self, other: MethodFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for MethodFlags {
    type Output = MethodFlags;
    fn bitor(self, other: MethodFlags) -> MethodFlags {
        MethodFlags(self.0 | other.0)
    }
}

/// The line in force from `bci` on, until the next entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Line {
    /// First bytecode index of the line.
    pub bci: u32,
    /// Source line number, from 1.
    pub line: u32,
}

/// How often one basic block of a method ran, over all its contexts. A feeder that wants exact numbers by line splits
/// blocks where a line begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block {
    /// Where the block starts.
    pub bci: u32,
    /// How many bytecodes one execution of it is.
    pub instructions: u32,
    /// Executions.
    pub count: u64,
}

/// One method. Identity is (class, name, descriptor, loader); the rest describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Method {
    /// Binary class name with dots: `java.util.Map$Entry`. Empty for code without a class.
    pub class: StrId,
    /// Method name, `<init>` and `<clinit>` included.
    pub name: StrId,
    /// JVM descriptor, `(II)I`; empty when unknown.
    pub descriptor: StrId,
    /// A label that tells apart classes of one name in several loaders; empty in the ordinary case.
    pub loader: StrId,
    /// Source file name as in the class file; empty when unknown.
    pub source: StrId,
    /// Module name; empty for the unnamed module and when unknown.
    pub module: StrId,
    /// What kind of code it is.
    pub flags: MethodFlags,
    /// Line table, sorted by bci; may be empty.
    pub lines: Vec<Line>,
    /// Block counts, sorted by bci; empty unless blocks were counted.
    pub blocks: Vec<Block>,
}

impl Method {
    /// Native, intrinsic or foreign.
    pub fn opaque(&self) -> bool {
        self.flags.opaque()
    }

    /// No code, but what its parent's values are about.
    pub fn is_detail(&self) -> bool {
        self.flags.contains(MethodFlags::DETAIL)
    }

    /// The source line of a bytecode index, when the line table says.
    pub fn line_at(&self, bci: u32) -> Option<u32> {
        let after = self.lines.partition_point(|entry| entry.bci <= bci);
        Some(self.lines[after.checked_sub(1)?].line)
    }

    /// Identity, in the canonical order when the ids are those of a finished profile.
    pub(crate) fn key(&self) -> (StrId, StrId, StrId, StrId) {
        (self.class, self.name, self.descriptor, self.loader)
    }
}

/// What a [`Builder`](crate::Builder) is told about a method.
#[derive(Clone, Copy, Debug, Default)]
pub struct MethodSpec<'a> {
    /// Binary class name with dots.
    pub class: &'a str,
    /// Method name.
    pub name: &'a str,
    /// JVM descriptor.
    pub descriptor: &'a str,
    /// Loader label, empty unless needed to tell classes apart. Must be the same in every run: no addresses.
    pub loader: &'a str,
    /// Source file name.
    pub source: &'a str,
    /// Module name.
    pub module: &'a str,
    /// What kind of code it is.
    pub flags: MethodFlags,
    /// Line table in any order.
    pub lines: &'a [Line],
}
