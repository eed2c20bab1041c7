//! Other tools' formats: a [`Profile`] written the way they read it, and theirs read into one.
//!
//! Exports stream to a writer and walk the tree's preorder columns, so none of them recurses or keeps a second tree.
//! Three groups, by what the format can say (`docs/formats.md` has the table):
//!
//! - **whole trees**: [`speedscope`], [`firefox`], [`html`], [`json`] grow with the number of contexts;
//! - **lists of stacks**: [`collapsed`], [`flamegraph`], [`pprof`] repeat a context's callers in every line, which is
//!   quadratic in the depth, so frames below [`Options::max_depth`] become one visible frame;
//! - **call graphs**: [`callgrind`] has functions and edges only, [`directives`] what follows from them for the compiler.
//!
//! Where something is folded the export says so in its own data; totals are never changed by folding.
//!
//! ```
//! use quipu_formats::{Format, Limits, Options, export, import};
//!
//! let profile = import::collapsed("main;work 3\nmain;idle 1\n".as_bytes(), "samples", &Limits::default()).unwrap();
//! let mut out = Vec::new();
//! export(&profile, Format::Collapsed, &Options::default(), &mut out).unwrap();
//! assert_eq!(String::from_utf8(out).unwrap(), "main;idle 1\nmain;work 3\n");
//! ```
//!
//! Imports treat their input as hostile: sizes are bounded by [`Limits`], mistakes are typed errors with a place.
//! The crate opens no files and prints nothing.
#![forbid(unsafe_code)]

pub mod callgrind;
pub mod collapsed;
mod cut;
pub mod directives;
mod error;
pub mod firefox;
pub mod flamegraph;
mod format;
pub mod html;
pub mod import;
pub mod json;
mod jsontext;
mod names;
mod options;
pub mod pprof;
mod proto;
pub mod speedscope;
mod walk;

pub use error::{ExportError, ImportError};
pub use format::{Format, export};
pub use options::{Limits, Options, chosen_metric, default_metric};
#[doc(no_inline)]
pub use quipu_profile::Profile;
