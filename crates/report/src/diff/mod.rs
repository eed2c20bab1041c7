//! What changed between two profiles, as text and JSON.

mod json;
mod text;

pub use json::diff_json;
pub use text::diff_text;

use crate::overlap::metric_for;
use crate::{ReportError, pattern};
use quipu_profile::{By, Change, Diff, DiffRow, Matching, Profile, diff};

/// How to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffOptions {
    /// What rows are about.
    pub by: By,
    /// Metric to compare by; the main one both have when absent.
    pub metric: Option<String>,
    /// Only keys whose name contains this, or matches it when it has a `*`.
    pub filter: Option<String>,
    /// At most so many rows.
    pub limit: Option<usize>,
    /// How to hold the two side by side.
    pub matching: Matching,
    /// JSON rows are calling contexts instead of keys. Text shows the contexts that changed most in any case.
    pub contexts: bool,
}

impl Default for DiffOptions {
    fn default() -> Self {
        DiffOptions {
            by: By::Method,
            metric: None,
            filter: None,
            limit: None,
            matching: Matching::default(),
            contexts: false,
        }
    }
}

fn compare(a: &Profile, b: &Profile, options: &DiffOptions) -> Result<(Diff, String), ReportError> {
    let metric = metric_for(a, b, options.metric.as_deref())?;
    let mut found = diff(a, b, &metric, options.by, options.matching)?;
    if let Some(filter) = &options.filter {
        let names = std::mem::take(&mut found.names);
        found.rows.retain(|row| pattern::wants(filter, &names[row.key as usize]));
        found.moved.retain(|moved| pattern::wants(filter, &found.aligned.both.method_name(moved.method)));
        found.names = names;
    }
    Ok((found, metric))
}

fn changed(found: &Diff) -> impl Iterator<Item = &DiffRow> {
    found.rows.iter().filter(|row| !matches!(row.change, Change::Same | Change::Moved))
}

fn by_name(by: By) -> &'static str {
    match by {
        By::Method => "method",
        By::Class => "class",
        By::Package => "package",
        By::Module => "module",
    }
}
