//! What an export can be told, and what an import will accept.

use crate::ExportError;
use quipu_profile::{Metric, MetricId, MetricKind, Profile};

/// Settings shared by all exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The metric, by name; [`default_metric`] when absent. Formats with room for several lead with it.
    pub metric: Option<String>,
    /// A title for formats that show one; made from the target's main class when absent.
    pub title: Option<String>,
    /// Whether collapsed stacks and the flame graph begin with a frame for the thread.
    pub threads: bool,
    /// Longest stack in formats that list whole stacks. Deeper frames become one frame that says so. Java's default
    /// stack ends near 10,000 frames, and only runaway recursion gets there; 2,048 keeps a recursion of 100,000
    /// frames, each with a count of its own, at 2 million names instead of 5 billion.
    pub max_depth: u32,
    /// How many contexts a format that is opened in a browser may have. The lightest are folded into their callers.
    pub max_nodes: usize,
    /// How many bytes collapsed stacks may have. Where there would be more, the lightest contexts are folded into their
    /// callers, as a frame that says so. No limit when absent.
    pub max_bytes: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            metric: None,
            title: None,
            threads: true,
            max_depth: 2048,
            max_nodes: 200_000,
            max_bytes: Some(100_000_000),
        }
    }
}

impl Options {
    /// The metric to export, resolved.
    pub(crate) fn metric_id(&self, profile: &Profile) -> Result<MetricId, ExportError> {
        let Some(wanted) = &self.metric else {
            return default_metric(profile)
                .and_then(|metric| profile.metric_id(metric.name()))
                .ok_or(ExportError::NoMetrics);
        };
        profile.metric_id(wanted).ok_or_else(|| {
            let mut known: Vec<String> = profile.metrics().iter().map(|m| m.name().to_owned()).collect();
            if known.is_empty() {
                return ExportError::NoMetrics;
            }
            known.sort_by_cached_key(|name| distance(name, wanted));
            ExportError::UnknownMetric { wanted: wanted.clone(), known }
        })
    }

    pub(crate) fn metric<'p>(&self, profile: &'p Profile) -> Result<&'p Metric, ExportError> {
        Ok(&profile.metrics()[self.metric_id(profile)? as usize])
    }

    pub(crate) fn title(&self, profile: &Profile) -> String {
        match (&self.title, profile.meta.target.main.as_str()) {
            (Some(title), _) => title.clone(),
            (None, "") => "Java profile".to_owned(),
            (None, main) => main.to_owned(),
        }
    }
}

/// The metric that these options choose.
pub fn chosen_metric<'p>(profile: &'p Profile, options: &Options) -> Result<&'p Metric, ExportError> {
    options.metric(profile)
}

/// The metric exported unless another is named: executed bytecodes, else the first sampled one, else whatever the
/// profile's reports rank by.
pub fn default_metric(profile: &Profile) -> Option<&Metric> {
    profile
        .metric("bytecodes")
        .or_else(|| {
            profile
                .metrics()
                .iter()
                .find(|m| m.has_totals() && matches!(m.spec().kind, MetricKind::Sampled { .. }))
        })
        .or_else(|| profile.main_metric())
}

/// Edit distance, to put the likeliest intended name first. Metric names are short.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replace = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// How much an import may take in. The defaults suit a machine with a few gigabytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of input after decompression.
    pub bytes: u64,
    /// Contexts in the resulting tree; each takes about 50 bytes while importing.
    pub nodes: u64,
    /// Frames in one stack.
    pub depth: u64,
    /// Frames of all stacks together, which bounds the time.
    pub frames: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { bytes: 1 << 30, nodes: 40_000_000, depth: 1_000_000, frames: 1 << 30 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quipu_profile::{Builder, MetricSpec, Unit};

    #[test]
    fn bytecodes_then_sampled_then_any() {
        let mut b = Builder::new();
        b.metric(MetricSpec::calls());
        assert_eq!(default_metric(&b.clone().finish()).unwrap().name(), "calls");
        b.metric(MetricSpec::exact("alloc.bytes", Unit::Bytes));
        assert_eq!(default_metric(&b.clone().finish()).unwrap().name(), "alloc.bytes");
        b.metric(MetricSpec::sampled("samples.cpu", Unit::Count, 1));
        assert_eq!(default_metric(&b.clone().finish()).unwrap().name(), "samples.cpu");
        b.metric(MetricSpec::bytecodes());
        assert_eq!(default_metric(&b.finish()).unwrap().name(), "bytecodes");
    }

    #[test]
    fn an_unknown_metric_names_the_nearest_first() {
        let mut b = Builder::new();
        b.metric(MetricSpec::calls());
        b.metric(MetricSpec::bytecodes());
        let options = Options { metric: Some("bytecode".into()), ..Options::default() };
        let error = options.metric_id(&b.finish()).unwrap_err().to_string();
        assert_eq!(error, "no metric is called \"bytecode\"; this profile has bytecodes, calls");
    }
}
