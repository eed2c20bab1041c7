//! What was done.

/// What was done, without methods that are left out.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Calls of the method that were not below another followed one.
    pub runs: u64,
    /// Bytecodes.
    pub bytecodes: u64,
    /// Calls, those of the method included.
    pub calls: u64,
    /// Instructions that make objects or arrays, as far as blocks were counted.
    pub allocations: u64,
}

impl Done {
    /// Both together.
    pub(super) fn plus(&self, other: &Done) -> Done {
        self.each(other, u64::wrapping_add)
    }

    /// Wraps like the counters do, so that differences are right whatever they have reached.
    pub(super) fn minus(&self, other: &Done) -> Done {
        self.each(other, u64::wrapping_sub)
    }

    fn each(&self, other: &Done, f: fn(u64, u64) -> u64) -> Done {
        Done {
            runs: f(self.runs, other.runs),
            bytecodes: f(self.bytecodes, other.bytecodes),
            calls: f(self.calls, other.calls),
            allocations: f(self.allocations, other.allocations),
        }
    }
}
