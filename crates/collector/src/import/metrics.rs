//! Metrics as the arena declares them.

use std::collections::HashMap;

use quipu_arena::layout::aggregation;
use quipu_arena::reader::Contents;
use quipu_arena::record::Record;
use quipu_classfile::mutf8;
use quipu_profile::{Aggregation, MetricKind, MetricSpec, Unit};

/// A metric that samples, or columns of nodes, have values of.
#[derive(Debug, Clone)]
pub struct Declared {
    /// Its name in profiles.
    pub name: String,
    /// The metric that numbers of occurrences go to; empty if there is none.
    pub count: String,
    /// One of [`quipu_arena::layout::parts`].
    pub parts: u32,
    unit: Unit,
    kind: MetricKind,
    aggregation: Aggregation,
}

impl Declared {
    /// Those of this profile, by number. Where the rate was changed, the longest period counts: estimates of errors stay on
    /// the safe side.
    pub fn read(contents: &Contents<'_>) -> HashMap<u32, Declared> {
        let mut declared: HashMap<u32, Declared> = HashMap::new();
        for record in contents.of_this_profile() {
            let Record::Metric { id, aggregation, parts, mut period, name, unit, count } = *record else {
                continue;
            };
            if let Some(Declared { kind: MetricKind::Sampled { period: before }, .. }) = declared.get(&id) {
                period = period.max(*before);
            }
            let kind = if period == 0 { MetricKind::Exact } else { MetricKind::Sampled { period } };
            let aggregation = match aggregation {
                aggregation::COUNT => Aggregation::Count,
                aggregation::MAX => Aggregation::Max,
                _ => Aggregation::Sum,
            };
            let (name, count) = (mutf8::decode(name), mutf8::decode(count));
            let unit = Unit::from_name(&mutf8::decode(unit));
            declared.insert(id, Declared { name, count, parts, unit, kind, aggregation });
        }
        declared
    }

    /// The metric of the profile.
    pub fn spec(&self) -> MetricSpec {
        let (name, unit) = (self.name.clone(), self.unit.clone());
        MetricSpec { name, unit, kind: self.kind, aggregation: self.aggregation }
    }

    /// The one that numbers of occurrences go to, of which a sample stands for so many on average.
    pub fn count_spec(&self, average: u64) -> MetricSpec {
        let kind = match self.kind {
            MetricKind::Exact => MetricKind::Exact,
            MetricKind::Sampled { .. } => MetricKind::Sampled { period: average.max(1) },
        };
        MetricSpec { kind, ..MetricSpec::exact(&self.count, Unit::Count) }
    }
}
