//! Metrics: columns of counts over the nodes of the tree.

/// Index into [`Profile::metrics`](crate::Profile::metrics).
pub type MetricId = u32;

/// What a count is a count of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Plain occurrences.
    #[default]
    Count,
    /// Executed bytecodes.
    Bytecodes,
    /// Bytes of memory.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// Anything else, by name.
    Other(String),
}

impl Unit {
    /// The unit's name in files and exports.
    pub fn as_str(&self) -> &str {
        match self {
            Unit::Count => "count",
            Unit::Bytecodes => "bytecodes",
            Unit::Bytes => "bytes",
            Unit::Nanoseconds => "nanoseconds",
            Unit::Other(name) => name,
        }
    }

    /// The unit with this name.
    pub fn from_name(name: &str) -> Unit {
        match name {
            "count" => Unit::Count,
            "bytecodes" => Unit::Bytecodes,
            "bytes" => Unit::Bytes,
            "nanoseconds" => Unit::Nanoseconds,
            other => Unit::Other(other.to_owned()),
        }
    }
}

/// Whether the numbers are counts or estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MetricKind {
    /// Everything was counted: two runs can be compared number by number.
    #[default]
    Exact,
    /// Estimated from samples, each of which added `period` (0: unknown, taken as 1). Comparisons need a
    /// significance test.
    Sampled {
        /// What one sample stands for, in the metric's unit.
        period: u64,
    },
}

/// How a metric's values combine, along the tree and when nodes become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Aggregation {
    /// Adds up; a node's total is the sum over its subtree. Bytecodes, time, bytes.
    #[default]
    Sum = 0,
    /// Adds up when nodes become one, but a total over the subtree means nothing: reports show one number. Calls.
    Count = 1,
    /// The largest value wins, both along the tree and when nodes become one. Peaks.
    Max = 2,
}

impl Aggregation {
    /// Combines two values; saturates instead of wrapping, so that totals never look small.
    #[inline]
    pub fn combine(self, a: u64, b: u64) -> u64 {
        match self {
            Aggregation::Sum | Aggregation::Count => a.saturating_add(b),
            Aggregation::Max => a.max(b),
        }
    }

    pub(crate) fn from_byte(byte: u8) -> Option<Aggregation> {
        [Aggregation::Sum, Aggregation::Count, Aggregation::Max].get(byte as usize).copied()
    }
}

/// What a metric is, without its values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MetricSpec {
    /// `calls`, `bytecodes`, `time`, `samples.<event>`, `alloc.bytes`, …; unique in a profile.
    pub name: String,
    /// What is counted.
    pub unit: Unit,
    /// Exact or sampled.
    pub kind: MetricKind,
    /// How values combine.
    pub aggregation: Aggregation,
}

impl MetricSpec {
    /// An exact metric that adds up.
    pub fn exact(name: &str, unit: Unit) -> MetricSpec {
        MetricSpec { name: name.to_owned(), unit, ..MetricSpec::default() }
    }

    /// A sampled metric that adds up, `period` units per sample.
    pub fn sampled(name: &str, unit: Unit, period: u64) -> MetricSpec {
        MetricSpec { kind: MetricKind::Sampled { period }, ..MetricSpec::exact(name, unit) }
    }

    /// `calls`: how often each context was entered.
    pub fn calls() -> MetricSpec {
        MetricSpec { aggregation: Aggregation::Count, ..MetricSpec::exact("calls", Unit::Count) }
    }

    /// `bytecodes`: how many bytecodes each context executed itself.
    pub fn bytecodes() -> MetricSpec {
        MetricSpec::exact("bytecodes", Unit::Bytecodes)
    }

    /// `allocations`: how many instructions each context executed that make an object or an array.
    pub fn allocations() -> MetricSpec {
        MetricSpec::exact("allocations", Unit::Count)
    }

    /// The metric that has the variance of this one's values, for samples that do not all stand for the same: values of it add
    /// up, and the standard error of a sum is the square root of the sum.
    ///
    /// ```
    /// use quipu_profile::{MetricSpec, Unit};
    /// let variance = MetricSpec::sampled("alloc.count", Unit::Count, 100).variance();
    /// assert_eq!(variance.name, "alloc.count.variance");
    /// assert!(variance.is_variance());
    /// ```
    pub fn variance(&self) -> MetricSpec {
        let unit = Unit::Other(format!("square {}", self.unit.as_str()));
        MetricSpec { name: format!("{}{VARIANCE}", self.name), unit, ..MetricSpec::default() }
    }

    /// Whether the metric is the variance of another.
    pub fn is_variance(&self) -> bool {
        self.name.ends_with(VARIANCE)
    }

    /// Where the metric stands in a profile: the well known ones first, the rest by name.
    pub(crate) fn rank(&self) -> (usize, &str) {
        const FIRST: [&str; 3] = ["calls", "bytecodes", "time"];
        let known = FIRST.iter().position(|&name| name == self.name);
        (known.unwrap_or(FIRST.len()), &self.name)
    }
}

/// Ends the names of metrics that are the variance of another.
const VARIANCE: &str = ".variance";

/// A metric with its values: one per node, each what the node itself contributed (*self*).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metric {
    pub(crate) spec: MetricSpec,
    pub(crate) values: Vec<u64>,
}

impl Metric {
    /// What the metric is.
    pub fn spec(&self) -> &MetricSpec {
        &self.spec
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Self values by node id.
    pub fn values(&self) -> &[u64] {
        &self.values
    }

    /// All self values combined.
    pub fn total(&self) -> u64 {
        let aggregation = self.spec.aggregation;
        self.values.iter().fold(0, |sum, &value| aggregation.combine(sum, value))
    }

    /// True when a total over a subtree says something: not for counts of calls.
    pub fn has_totals(&self) -> bool {
        self.spec.aggregation != Aggregation::Count
    }
}

impl crate::Profile {
    /// The variances of a metric's values, if its samples do not all stand for the same.
    pub fn variance(&self, metric: &Metric) -> Option<&Metric> {
        self.metric(&metric.spec.variance().name)
    }
}
