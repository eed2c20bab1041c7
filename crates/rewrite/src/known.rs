//! What the rewriter has to be told, and asks for.

use quipu_classfile::{ClassFile, Method};

use crate::Call;

/// What the rewriter asks about other classes, and ids that it is given.
pub trait Known {
    /// The opaque method that a call runs, or may run.
    fn opaque(&self, call: &Call<'_>) -> Option<OpaqueCallee>;

    /// Whether a method of a class may run where an opaque one was called. Asked only where some methods have no
    /// contexts.
    fn overrides_opaque(&self, class: &ClassFile<'_>, name: &[u8], descriptor: &[u8]) -> bool {
        let _ = (class, name, descriptor);
        true
    }

    /// The number of an instruction that an instrument tells from all others; the same whenever its class is rewritten.
    /// `None` if there are no more numbers.
    fn site(&self, site: &Site<'_>) -> Option<u32> {
        let _ = site;
        None
    }

    /// Whether a method is below a root that is timed, or is one. Asked once for each method of a class, with its id, whenever
    /// the class is rewritten; what is asked about is then instrumented.
    fn timing(&self, method: &Method<'_, '_>, id: u32) -> Option<Timing> {
        let _ = (method, id);
        None
    }

    /// Parts of a method that is timed whose executions are timed as well.
    fn regions(&self, method: &Method<'_, '_>) -> Vec<Region> {
        let _ = method;
        Vec::new()
    }
}

/// Where a method is in the part of a program that is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// It is a root.
    Root,
    /// A root calls it, or something that a root calls.
    Below,
}

/// Lines of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Its number, from 1 on.
    pub number: u32,
    /// The first and the last line.
    pub lines: (u16, u16),
}

/// An instruction that an instrument tells from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site<'a> {
    /// Id of its method.
    pub method: u32,
    /// Where it is there.
    pub bci: u32,
    /// The instrument.
    pub of: &'static str,
    /// Signature of the class that it is about; empty if only its execution can tell.
    pub class: &'a [u8],
}

/// An opaque method at the end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpaqueCallee {
    /// Its id.
    pub id: u32,
    /// Whether nothing else can be at the end of the call. If not, whether it was is known after the call: something
    /// else would have counted itself.
    pub certain: bool,
    /// Whether nothing is known of it but that it might be opaque. The reader of the counts must learn whether it was.
    pub presumed: bool,
}
