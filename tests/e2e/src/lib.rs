//! The harness of the end-to-end tests: a test declares a program, JVM flags and `quipu` options; the harness runs it
//! on every JDK of the machine, always with the verifier on, and hands over what came out.
//!
//! ```no_run
//! use quipu_e2e::{Counts, Program};
//!
//! Program::new("Foo").quipu(["--bba", "precise"]).on_every_jdk(|run| {
//!     assert_eq!(run.thread("main").method("Foo", "sum"), Counts { calls: 1, bytecodes: 10_007 });
//! });
//! ```
//!
//! - [`Program`] is the declaration, [`Run`] the outcome, [`Counts`] what is asked of a profile.
//! - [`oracle`] is the truth: the same program under an agent that has the JVM itself report every bytecode.
//! - Java sources lie in `tests/programs`; those in `since11` and the like need that version. Libraries come by name, with Maven.
//! - Everything made goes below the `target` directory.
#![forbid(unsafe_code)]

#[allow(missing_docs, reason = "shared with the generator of the JVMTI table")]
#[path = "../../../crates/jvm/gen/jdks.rs"]
pub mod jdks;

mod child;
mod compare;
mod counts;
mod disk;
pub mod intrinsics;
mod library;
pub mod oracle;
mod program;
mod shares;
mod sources;
mod tools;
mod working;

pub use child::{Child, Command};
pub use compare::{Comparison, compare, differences, sample_differences};
pub use counts::{Counts, ThreadCounts};
pub use disk::with_disk_of;
pub use jdks::Jdk;
pub use library::library;
pub use program::{
    Program, Run, knows_flag, on_all_jdks, on_every_jdk, on_every_jdk_at_once, on_every_jdk_since,
};
pub use shares::{Shares, percent};
pub use sources::{classes, folder as programs};
pub use tools::{scratch, tools};
pub use working::Working;
