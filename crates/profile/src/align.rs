//! Two profiles in one tree: the ground that overlap and diff stand on.

use crate::names::Names;
use crate::transform::Import;
use crate::{
    Aggregation, Builder, Metric, MetricId, MetricKind, MetricSpec, Profile, ThreadKind, ThreadSpec,
    UNKNOWN_SITE,
};
use thiserror::Error;

/// What to hold two profiles side by side by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matching {
    /// How methods are told to be the same.
    pub names: Names,
    /// Keep threads apart, by name. Otherwise all threads are one: names like `Thread-12` differ from run to run.
    pub threads: bool,
}

/// A metric that one of two profiles does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the {which} profile has no metric {metric}; both have: {common}")]
pub struct NoSuchMetric {
    /// `first` or `second`.
    pub which: &'static str,
    /// The metric asked for.
    pub metric: String,
    /// What could be compared instead.
    pub common: String,
}

/// Two profiles in one tree, for one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Aligned {
    /// The union of both trees. Metric 0 has the first profile's values, metric 1 the second's.
    pub both: Profile,
    /// What the metric is in each.
    pub specs: [MetricSpec; 2],
    /// Whether call sites were compared: only when both profiles know them.
    pub sites: bool,
}

impl Aligned {
    /// Lines two profiles up for one metric. A profile that has only samples of it ([`Profile::measure_of`]) is lined
    /// up with those.
    pub fn new(a: &Profile, b: &Profile, metric: &str, matching: Matching) -> Result<Aligned, NoSuchMetric> {
        let find = |which, profile: &Profile| {
            profile.measure_of(metric).ok_or_else(|| NoSuchMetric {
                which,
                metric: metric.to_owned(),
                common: common_metrics(a, b).join(", "),
            })
        };
        let ids = [find("first", a)?, find("second", b)?];
        let sites = a.has_sites() && b.has_sites();
        let mut builder = Builder::with_capacity(a.tree.len() + b.tree.len());
        let all = (!matching.threads).then(|| {
            builder.thread(ThreadSpec {
                name: "all",
                kind: ThreadKind::Root,
                threads: 1,
                ..Default::default()
            })
        });
        let specs =
            [&a.metrics[ids[0] as usize].spec, &b.metrics[ids[1] as usize].spec].map(MetricSpec::clone);
        for (side, profile) in [a, b].into_iter().enumerate() {
            // Named so that the canonical order of metrics is first, second.
            let column = builder.metric(MetricSpec { name: format!("side {side}"), ..specs[side].clone() });
            let mut import = Import::without_metrics(&mut builder, profile, matching.names);
            match all {
                Some(all) => import.threads_into(all),
                None => import.threads(&mut builder, |_| true),
            }
            import.place_all(&mut builder, sites);
            for (&value, &node) in profile.metrics[ids[side] as usize].values.iter().zip(&import.nodes) {
                builder.add(node, column, value);
            }
        }
        Ok(Aligned { both: builder.finish(), specs, sites })
    }

    /// The two columns.
    pub fn columns(&self) -> [&Metric; 2] {
        [&self.both.metrics[0], &self.both.metrics[1]]
    }

    /// True when either side is an estimate.
    pub fn sampled(&self) -> bool {
        self.specs.iter().any(|spec| spec.kind != MetricKind::Exact)
    }

    /// True when the metric has totals along the tree.
    pub fn has_totals(&self) -> bool {
        self.specs[0].aggregation != Aggregation::Count
    }
}

/// What a metric's name begins with if it counts samples of another: `samples.bytecodes` estimates `bytecodes`.
const SAMPLES: &str = "samples.";

/// Names of metrics that both profiles have, or that one has and the other has samples of.
pub fn common_metrics(a: &Profile, b: &Profile) -> Vec<String> {
    let mut common: Vec<String> = Vec::new();
    for metric in &a.metrics {
        let name = metric.spec.name.as_str();
        let names = [name, name.strip_prefix(SAMPLES).unwrap_or(name)];
        let found = names.into_iter().find(|name| b.measure_of(name).is_some());
        if let Some(name) = found.filter(|name| !common.iter().any(|known| known == name)) {
            common.push(name.to_owned());
        }
    }
    common
}

impl Profile {
    /// The metric of this name, or samples of it: the number of samples in a context estimates the metric's share.
    pub fn measure_of(&self, metric: &str) -> Option<MetricId> {
        self.metric_id(metric).or_else(|| self.metric_id(&format!("{SAMPLES}{metric}")))
    }

    /// True when any node knows its call site.
    pub fn has_sites(&self) -> bool {
        self.tree.site.iter().any(|&site| site != UNKNOWN_SITE)
    }
}
