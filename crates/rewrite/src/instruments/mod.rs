//! The instruments, one for each kind of measurement that rewrites code.

mod acquisitions;
mod allocations;
mod bytecodes;
mod exact;
mod timed;

pub use acquisitions::Acquisitions;
pub use allocations::Allocations;
pub use bytecodes::Bytecodes;
pub(crate) use exact::Aside;
pub use exact::{Contexts, Exact};
pub use timed::Timed;

/// Where what a method calls is counted, if not below the method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// Where nothing is read.
    Hidden,
    /// Below the root for class loading.
    Loading,
}
