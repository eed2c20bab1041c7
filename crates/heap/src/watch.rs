//! Who waits for long work can be told how far it is.

/// Somebody who is told.
pub trait Watch: Sync {
    /// A step begins; it will be at an end when so much of it is done.
    fn begin(&self, step: &'static str, total: u64);

    /// So much more of it is done.
    fn advance(&self, by: u64);
}

/// Nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn begin(&self, _: &'static str, _: u64) {}
    fn advance(&self, _: u64) {}
}
