//! A suite of tests: how much work each does, a baseline in text, and a verdict for each.
//!
//! - [`of_tests`] finds the tests in a profile: each method becomes a tree of its own, without what the test framework
//!   does around it and without the initialisation of classes, which belongs to whoever happens to be first.
//! - [`works`] has the numbers of each run, [`trees`] says which tree its contexts are in.
//! - [`Baseline`] is the file that is kept with the sources: one line for each test, sorted.
//! - [`judge`] holds the new numbers against it, [`explain`] says where the new work is.
//! - [`parting`] names the place where two runs of the same test differ; [`reads_clock`] says that they may.

mod baseline;
mod clock;
mod judge;
mod method;
mod order;
mod parting;
mod run;
mod tests;
mod work;

pub use baseline::{Baseline, Entry, Malformed};
pub use clock::reads_clock;
pub use judge::{differences, explain, judge};
pub use order::renumbered;
pub use parting::{Parting, parting};
pub use run::{at_once, beyond_budget, relative_to, selectors, threads_started, trees, works};
pub use tests::{INITIALISATION_SUFFIX, of_tests};
pub use work::Work;
