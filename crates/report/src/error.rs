//! What can be wrong with a request, in sentences that say what would be right.

use quipu_profile::{NoSuchMetric, nearest};
use std::io;
use thiserror::Error;

/// Why there is no report.
#[derive(Debug, Error)]
pub enum ReportError {
    /// A metric, thread, method, … that is not there.
    #[error("no {what} {wanted}{}", hint(.near, .known))]
    Unknown {
        /// What kind of thing.
        what: &'static str,
        /// The name asked for.
        wanted: String,
        /// The nearest names, best first.
        near: Vec<String>,
        /// All names, when there are few.
        known: Vec<String>,
    },
    /// Lines were asked for and nothing was counted or sampled by line.
    #[error(
        "the profile does not know lines: `quipu run --exact --blocks` counts them, --cpu and --wall sample them"
    )]
    NoLines,
    /// Call sites were asked for and none is known.
    #[error("the profile does not know call sites, so there is nothing to report by site")]
    NoSites,
    /// Labels were asked for and nothing carries any.
    #[error(
        "the profile has no labels: programs set them with quipu.Profiler.label, see docs/kinds/cpu-and-wall.md"
    )]
    NoLabels,
    /// Two profiles that have no metric in common.
    #[error("the profiles measure different things: the first has {first}, the second has {second}")]
    NothingInCommon {
        /// Metrics of the first.
        first: String,
        /// Metrics of the second.
        second: String,
    },
    /// Something was asked for that another kind measures.
    #[error("the profile has nothing to report by {what}: {kind} measures it")]
    Nothing {
        /// What the rows would be.
        what: &'static str,
        /// What to ask for.
        kind: &'static str,
    },
    /// A profile that measured nothing.
    #[error(
        "the profile has no metrics; what happened, and when, is told by: quipu report FILE --by timeline"
    )]
    NoMetrics,
    /// Two profiles that do not measure the same.
    #[error("{0}")]
    NotComparable(#[from] NoSuchMetric),
    /// The reader went away.
    #[error("cannot write the report: {0}")]
    Write(#[from] io::Error),
}

impl ReportError {
    pub(crate) fn unknown<'a>(
        what: &'static str,
        wanted: &str,
        names: impl Iterator<Item = &'a str> + Clone,
    ) -> ReportError {
        let near = nearest(wanted, names.clone(), 5).into_iter().map(str::to_owned).collect();
        let mut known: Vec<String> = names.take(11).map(str::to_owned).collect();
        if known.len() > 10 {
            known.clear();
        }
        ReportError::Unknown { what, wanted: wanted.to_owned(), near, known }
    }
}

fn hint(near: &[String], known: &[String]) -> String {
    match (near, known) {
        ([], []) => String::new(),
        ([], known) => format!("; there is {}", known.join(", ")),
        (near, _) => format!("; did you mean {}?", near.join(", ")),
    }
}
