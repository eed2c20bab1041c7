//! A gate: does a new profile cost more than the baseline, and which line of code is it?
//!
//! 1. **Totals decide, contexts explain.** A gate fails when the total of a thread or of a chosen method grew beyond the
//!    [`Limit`]. Only then are contexts looked at. A rename or a call that moved cannot fail a gate, whatever
//!    it does to the tree.
//! 2. **Growth is divided up without remainder.** Every unit of it belongs to one context, because of what that context
//!    does itself or because of what it calls more often than before; `attribute.rs` has the arithmetic. Callers
//!    further up are the path to the place, never part of the blame.
//! 3. **Counts of two JDKs or of two sets of options are not compared.** [`differences`] says so in sentences.
//!
//! The crate does no printing and no I/O: [`text`], [`json`] and [`markdown`] make strings of a [`Verdict`].
#![forbid(unsafe_code)]

mod attribute;
mod comparable;
mod culprit;
mod error;
mod json;
mod limit;
mod markdown;
mod number;
mod pair;
mod pattern;
mod place;
mod renames;
mod subject;
pub mod suite;
mod text;
mod verdict;

pub use comparable::{differences, notes};
pub use culprit::{CallChange, Culprit, Moved};
pub use error::GateError;
pub use json::json;
pub use limit::{Limit, Share};
pub use markdown::markdown;
pub use place::Place;
pub use renames::Renamed;
pub use subject::{Outcome, Subject, SubjectKind};
pub use text::text;
pub use verdict::{Question, Verdict, gate};
