//! Profiles from other tools' files.
//!
//! Both readers bound what they build by [`Limits`], give typed errors with a place, and never panic on
//! their input.

mod collapsed;
mod frame;
mod pprof;
mod wire;

pub use collapsed::collapsed;
pub use pprof::pprof;

use crate::{ImportError, Limits};
use quipu_profile::{Builder, MethodId, NodeId};

/// A builder that counts what it is given.
struct Bounded<'l> {
    builder: Builder,
    limits: &'l Limits,
    frames: u64,
}

impl Bounded<'_> {
    fn new(limits: &Limits) -> Bounded<'_> {
        Bounded { builder: Builder::new(), limits, frames: 0 }
    }

    /// The node for a call of `method` at `depth`, bounded in depth, frames and nodes.
    fn child(
        &mut self,
        parent: NodeId,
        method: MethodId,
        site: i32,
        depth: u64,
    ) -> Result<NodeId, ImportError> {
        self.frames += 1;
        let over = |what, count, limit| {
            if count > limit { Err(ImportError::TooLarge { what, limit }) } else { Ok(()) }
        };
        over("frames in one stack", depth, self.limits.depth)?;
        over("frames in all stacks", self.frames, self.limits.frames)?;
        over("contexts", self.builder.node_count() as u64, self.limits.nodes)?;
        Ok(self.builder.child(parent, method, site))
    }
}
