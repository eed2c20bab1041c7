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

    /// What a sample stands for, if not all of them stand for the same: those of objects, of which the large ones are more
    /// likely to be chosen.
    pub fn weighted(&self) -> Option<u64> {
        match self.kind {
            MetricKind::Sampled { period } if !self.count.is_empty() => Some(period),
            _ => None,
        }
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

/// The variance of a sample that stands for so many objects. Each is one object that was chosen with the probability p and
/// stands for c, which is 1/p on average: the variance of what an object adds is p·c² - 1, and that of a sample, with p·c = 1, c² - c.
pub fn count_variance(count: u32) -> u64 {
    u64::from(count) * u64::from(count.saturating_sub(1))
}

/// The variance of a sample that stands for so many bytes: what it stands for, squared, times the part that is left to chance.
pub fn variance(value: u64, period: u64) -> u64 {
    (value as f64 * value as f64 * chance(value, period)).round() as u64
}

/// The part of a sample of `value` bytes that is left to chance. An object of s bytes is chosen with the probability
/// p = 1 - e^(-s/period), and stands for s/p; what is returned is 1 - p. One that stands for less than the period was chosen when
/// that was shorter: it is taken as small.
fn chance(value: u64, period: u64) -> f64 {
    let ratio = value as f64 / period.max(1) as f64;
    if ratio <= 1.0 {
        return 1.0;
    }
    // x / (1 - e^-x) = ratio, by Newton's way, from above.
    let mut x = ratio;
    for _ in 0..64 {
        let step = (x + ratio * (-x).exp_m1()) / (1.0 - ratio * (-x).exp());
        if !step.is_finite() || step < 1e-12 * ratio {
            break;
        }
        x -= step;
    }
    (-x).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_objects_leave_nothing_to_chance() {
        let period = 10_007;
        for size in [16_u64, 416, 5_000, 10_007, 50_000, 1 << 20] {
            let p = -(-(size as f64) / period as f64).exp_m1();
            let value = (size as f64 / p).round() as u64;
            let found = chance(value, period);
            assert!((found - (1.0 - p)).abs() < 2e-3, "{size}: {found} and not {}", 1.0 - p);
        }
        assert_eq!((chance(100, 10_007), chance(u64::MAX, 1), chance(0, 0)), (1.0, 0.0, 1.0));
    }

    /// Objects of many sizes are chosen as the VM does, over and over: estimates are off by less than two standard errors in 19
    /// of 20 cases, of numbers as well as of bytes.
    #[test]
    fn errors_are_what_they_are_said_to_be() {
        let period = 4_096_u64;
        let mut state = 1_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for size in [16_u64, 400, 3_000, 9_000, 40_000] {
            let p = -(-(size as f64) / period as f64).exp_m1();
            let (weight, objects, trials) = (1.0 / p, (200.0 / p) as u64, 400);
            let mut within = [0; 2];
            for _ in 0..trials {
                let mut sums = [[0.0; 2]; 2];
                for _ in (0..objects).filter(|_| random() < p).collect::<Vec<_>>() {
                    let value = (size as f64 * weight).round() as u64;
                    let count = (weight + random()).floor();
                    let stated = [variance(value, period), count_variance(count as u32)];
                    for ((sum, value), variance) in sums.iter_mut().zip([value as f64, count]).zip(stated) {
                        sum[0] += value;
                        sum[1] += variance as f64;
                    }
                }
                for ((within, [sum, variance]), truth) in
                    within.iter_mut().zip(sums).zip([objects as f64 * size as f64, objects as f64])
                {
                    *within += i32::from((sum - truth).abs() <= 2.0 * variance.sqrt() + 1.0);
                }
            }
            for within in within {
                assert!(within >= trials * 92 / 100, "{size}: {within} of {trials}");
            }
        }
    }
}
