//! Which counts of nodes are this profile's. Code that an earlier profile has instrumented may still run, and counts where it did.

use quipu_arena::reader::Contents;

use super::methods::{Methods, Rewritten};

/// What code was instrumented for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// Calls and bytecodes of every method.
    counted: bool,
    /// Samples every so many bytecodes.
    sampled: bool,
    /// Calls and times below roots.
    timed: bool,
}

impl Measured {
    /// What the arena says of the profile that was begun last. Arenas that were written without an agent do not say so.
    pub fn of(contents: &Contents<'_>) -> Measured {
        let kinds: Vec<&[u8]> = contents.facts(b"kind").collect();
        let has = |kind: &[u8]| match kinds.is_empty() {
            true => contents.sampled.samples.is_empty(),
            false => kinds.contains(&kind),
        };
        Measured { counted: has(b"exact"), sampled: has(b"bytecodes"), timed: has(b"root") }
    }

    /// Whether nodes have anything for this profile.
    pub fn any(self) -> bool {
        self.counted || self.sampled || self.timed
    }

    /// Whether what the nodes of a method have is this profile's.
    fn has(self, method: &Rewritten) -> bool {
        match (method.timed.is_some(), method.sampled) {
            (true, _) => self.timed,
            (false, true) => self.sampled,
            (false, false) => self.counted,
        }
    }

    /// Takes away what nodes have counted in code of earlier profiles.
    pub fn leave_out_others(self, contents: &mut Contents<'_>, methods: &Methods) {
        // Nearly always there are none.
        if methods.rewritten().all(|method| self.has(method)) {
            return;
        }
        for node in &mut contents.nodes {
            if methods.with_id(node.method).is_some_and(|method| !self.has(method)) {
                (node.calls, node.bytecodes, node.charged) = (0, 0, 0);
            }
        }
    }
}
