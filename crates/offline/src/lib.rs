//! Instruments jars, directories and classes for JVMs without an agent.
//!
//! The rewriter is the agent's. What an agent does besides (ids, names, the arena) is done by a small jar of Java
//! classes, [`runtime::jar`], that goes on the program's class path; it leaves an arena file that the collector reads
//! as any other. `docs/offline.md` has the reasons for what is decided here.
//!
//! Design constraints:
//!
//! 1. *Same input, same bytes.* Nothing depends on the order in which threads finish, on time or on paths.
//! 2. *What is not a class is not touched*: names, order, times and packed bytes of the other entries are kept.
//! 3. *Inputs are hostile*: every offset is checked, unpacking is bounded, and nothing is ever extracted by name.
//!
//! No I/O but reading the JDK's classes ([`RuntimeImage`]); files are the caller's.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod error;
mod find;
mod jar;
mod jar_class;
mod jimage;
mod log;
mod rt_jar;
pub mod runtime;
mod tree;
mod unit;
mod zip;

use std::sync::Arc;

use quipu_rewrite::{FindClass, Plan};

pub use error::Error;
pub use find::{class_names, classes_named};
pub use jimage::RuntimeImage;
pub use runtime::{BytecodeSampling, RuntimeOptions};
pub use tree::InputFile;

/// Package of the runtime, which plans must name.
pub const RUNTIME_PACKAGE: &str = "quipu/runtime";

/// Is told how the work goes on.
pub trait Progress: Sync {
    /// So many more classes are to be rewritten.
    fn found(&self, _classes: u64) {}
    /// So many more are done.
    fn done(&self, _classes: u64) {}
}

/// Is told, and does nothing.
impl Progress for () {}

/// How things are instrumented.
pub struct Instrumenter<'a> {
    /// The plan, with [`RUNTIME_PACKAGE`].
    pub plan: Plan,
    /// Where to look for the JDK's classes, to know which of their methods are opaque.
    pub jdk: Option<Arc<RuntimeImage>>,
    /// What is told how it goes on.
    pub progress: &'a dyn Progress,
}

/// A class, method or file that should have been instrumented but is as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Which.
    pub what: String,
    /// Why.
    pub why: String,
}

/// What was done.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Classes rewritten.
    pub classes: u64,
    /// Methods rewritten.
    pub methods: u64,
    /// Jars gone through.
    pub jars: u64,
    /// What was left as it was.
    pub left: Vec<Left>,
    /// Methods that have become too long for HotSpot to compile, unless it is told to.
    pub huge: Vec<String>,
    /// What the person should know.
    pub notices: Vec<String>,
    /// The class that a jar's manifest says to start.
    pub main_class: Option<String>,
}

impl Outcome {
    fn is_unchanged(&self) -> bool {
        self.classes == 0
    }

    fn leave(&mut self, what: String, why: String) {
        self.left.push(Left { what, why });
    }

    fn add(&mut self, other: Outcome, prefix: &str) {
        self.classes += other.classes;
        self.methods += other.methods;
        self.jars += other.jars;
        self.left.extend(other.left);
        self.huge.extend(other.huge);
        self.notices.extend(other.notices.into_iter().map(|notice| format!("{prefix}{notice}")));
    }
}

impl Instrumenter<'_> {
    /// Instruments a jar, and the jars in it.
    pub fn jar(&self, bytes: &[u8]) -> Result<(Vec<u8>, Outcome), Error> {
        jar::instrument(bytes, self, &zip::Budget::for_input(bytes.len()), 0)
    }

    /// Instruments the files of a directory. The result has the files that are new or changed.
    pub fn directory(&self, files: &[InputFile]) -> Result<(Vec<InputFile>, Outcome), Error> {
        tree::instrument(files, self)
    }

    /// Instruments a class. The result has it, under the name a class loader looks for, and what goes with it.
    pub fn class(&self, bytes: &[u8]) -> Result<(Vec<InputFile>, Outcome), Error> {
        tree::instrument_class(bytes, self)
    }

    fn find_class(&self) -> FindClass {
        let jdk = self.jdk.clone();
        Box::new(move |name| jdk.as_ref()?.class(name))
    }
}
