//! How much work a test does.

/// What a test did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// How often it ran under the same name: once, unless a build runs it again.
    pub runs: u64,
    /// Bytecodes executed.
    pub bytecodes: u64,
    /// Methods called, its own included.
    pub calls: u64,
    /// Instructions that make objects or arrays; none if they were not counted.
    pub allocations: Option<u64>,
}

impl Work {
    /// What can be gated.
    pub const METRICS: [&'static str; 3] = ["bytecodes", "calls", "allocations"];

    /// One of the counts by the name of its metric.
    pub fn get(&self, metric: &str) -> Option<u64> {
        match metric {
            "bytecodes" => Some(self.bytecodes),
            "calls" => Some(self.calls),
            "allocations" => self.allocations,
            _ => None,
        }
    }

    pub(super) fn plus(&self, other: &Work) -> Work {
        Work {
            runs: self.runs.saturating_add(other.runs),
            bytecodes: self.bytecodes.saturating_add(other.bytecodes),
            calls: self.calls.saturating_add(other.calls),
            allocations: self.allocations.zip(other.allocations).map(|(a, b)| a.saturating_add(b)),
        }
    }
}
