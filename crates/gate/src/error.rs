//! Why there is no verdict, in sentences that say what would be right.

use quipu_profile::{NoSuchMetric, nearest};
use thiserror::Error;

/// Why two profiles cannot be gated.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum GateError {
    /// One of the profiles does not have the metric.
    #[error("{0}")]
    NotMeasured(#[from] NoSuchMetric),
    /// A profile that measured nothing.
    #[error("the new profile has no metrics")]
    NoMetrics,
    /// A metric that does not add up.
    #[error(
        "{0} keeps the largest value it saw, so it does not grow by parts: gate on a metric that adds up"
    )]
    Peak(String),
    /// A thread or method that is in neither profile.
    #[error("neither profile has a {what} {wanted}{}", hint(.near))]
    Unknown {
        /// `thread` or `method`.
        what: &'static str,
        /// The name asked for.
        wanted: String,
        /// The nearest names, best first.
        near: Vec<String>,
    },
    /// Only threads of the JVM are there.
    #[error("neither profile has a thread of the application; name one with --thread")]
    NoThreads,
}

impl GateError {
    pub(crate) fn unknown<'a>(
        what: &'static str,
        wanted: &str,
        names: impl Iterator<Item = &'a str>,
    ) -> GateError {
        let near = nearest(wanted, names, 5).into_iter().map(str::to_owned).collect();
        GateError::Unknown { what, wanted: wanted.to_owned(), near }
    }
}

fn hint(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) }
}
