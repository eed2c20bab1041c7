//! The instruments, one for each kind of measurement that rewrites code.

mod bytecodes;
mod exact;

pub use bytecodes::Bytecodes;
pub use exact::{Contexts, Exact};

/// Where what a method calls is counted, if not below the method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// Where nothing is read.
    Hidden,
    /// Below the root for class loading.
    Loading,
}
