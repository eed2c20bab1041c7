//! What can go wrong, in one sentence each.

use std::io;
use thiserror::Error;

/// Why a profile could not be exported.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The sink refused.
    #[error("cannot write the export: {0}")]
    Io(#[from] io::Error),
    /// No metric has the name asked for.
    #[error("no metric is called {wanted:?}; this profile has {}", known.join(", "))]
    UnknownMetric {
        /// What was asked for.
        wanted: String,
        /// What there is, the most similar name first.
        known: Vec<String>,
    },
    /// There is nothing to draw.
    #[error("the profile has no metrics, so there is nothing to export")]
    NoMetrics,
    /// Nothing that tells which calls are frequent.
    #[error(
        "the profile has no calls: take one with --calls or --exact, or name what stands for them with --metric"
    )]
    NoCalls,
    /// No call of which a compiler should know.
    #[error(
        "no call is hot enough to tell the compiler of it, of methods that have sizes and lasting names: measure for longer, or count \
         every call with --calls exhaustive"
    )]
    NothingHot,
}

impl From<serde_json::Error> for ExportError {
    fn from(error: serde_json::Error) -> Self {
        ExportError::Io(error.into())
    }
}

/// Why an input could not be read as a profile.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The source failed.
    #[error("cannot read the input: {0}")]
    Io(#[from] io::Error),
    /// Nothing in it.
    #[error("the input has no samples")]
    Empty,
    /// A line of text that is not a stack and a count.
    #[error("line {line}: {problem}")]
    Line {
        /// Line number, from 1.
        line: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The gzip wrapping is damaged.
    #[error("the gzip data is damaged: {0}")]
    Gzip(io::Error),
    /// Not the bytes of a protocol buffer.
    #[error("offset {offset}: not a pprof message: {problem}")]
    Message {
        /// Where the field starts, in the uncompressed bytes.
        offset: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// A pprof message that refers to something that is not there.
    #[error("the pprof message refers to {what} {id}, which it does not have")]
    Dangling {
        /// The kind of thing.
        what: &'static str,
        /// The id or index.
        id: i64,
    },
    /// A pprof message that this profile model cannot hold.
    #[error("{0}")]
    Unsupported(&'static str),
    /// Larger than allowed.
    #[error("the input is too large: more than {limit} {what}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much would be accepted.
        limit: u64,
    },
}
