//! The instrumentations: a pure function from a class and a [`Plan`] to new bytes.
//!
//! - It never changes a class's schema: code is inserted into existing methods, nothing is added to the class. So the
//!   same rewriting works when a class is loaded, when it is retransformed, and offline.
//! - It knows no JVM. Ids are given to it, and what it has to know of other classes it asks through [`Known`].
//! - A method that cannot be rewritten is left as it was, with the reason ([`Left`]); the others are not affected.
//!
//! `driver.rs` rewrites a class; what is inserted comes from [`instruments`], one for each kind of measurement, behind
//! the trait [`Instrument`]. What is done with a method whatever is measured is its [`Treatment`].
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod activation;
pub mod agreed;
mod call;
mod callees;
mod classes;
mod driver;
mod instrument;
pub mod instruments;
mod intrinsics;
pub mod kept;
mod known;
mod leaf;
mod plan;
mod probes;
mod retried;
mod rewritten;
mod selection;
mod treatment;
mod weights;
mod world;

pub use call::Call;
pub use callees::callees;
pub use classes::{UnknownClass, parse_classes};
pub use driver::rewrite;
pub use instrument::{Inserter, Instrument, MethodEdit};
pub use instruments::{Acquisitions, Allocations, Bytecodes, Contexts, Exact, Timed};
pub use intrinsics::of_jdk_8;
pub use known::{Known, OpaqueCallee, Region, Site, Timing};
pub use plan::{Counting, LONGEST_COMPILED, Plan};
pub use probes::Probes;
pub use rewritten::{Clock, Left, Rewritten, Shape};
pub use selection::{Selection, untouchable};
pub use treatment::{Treatment, is_opaque, linkers};
pub use weights::{BadWeights, Weights};
pub use world::{Callee, FindClass, OpaqueMethod, World};
