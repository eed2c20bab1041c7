//! A suite of tests: how much work each does, a baseline in text, and a verdict for each.
//!
//! - [`of_tests`] finds the tests in a profile: each becomes a tree of its own, without what the test framework does
//!   around it and without the initialisation of classes, which belongs to whoever happens to be first.
//! - [`Baseline`] is the file that is kept with the sources: one line for each test, sorted.
//! - [`judge`] holds the new numbers against it, [`explain`] says where the new work is.
//! - [`parting`] names the place where two runs of the same test differ.

mod baseline;
mod judge;
mod method;
mod parting;
mod tests;
mod work;

pub use baseline::{Baseline, Entry, Malformed};
pub use judge::{explain, judge};
pub use parting::{Parting, parting};
pub use tests::{INITIALISATION_SUFFIX, of_tests};
pub use work::{Work, works};
