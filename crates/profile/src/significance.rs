//! Whether a difference between two measurements is more than chance.

use crate::{MetricKind, MetricSpec};

/// From how many standard deviations on a difference counts. 3 sigma is one false alarm in 370 comparisons.
pub const SIGMAS: f64 = 3.0;

/// How far apart two values are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Significance {
    /// Standard deviations between them, signed like the difference; infinite between exact values that differ.
    pub sigmas: f64,
    /// True when the difference is not chance.
    pub significant: bool,
}

/// Standard error of a value: none for exact metrics. A sum of n samples has an error of √n of them.
pub fn standard_error(spec: &MetricSpec, value: u64) -> Option<f64> {
    match spec.kind {
        MetricKind::Exact => None,
        MetricKind::Sampled { period } => Some((value as f64 * period.max(1) as f64).sqrt()),
    }
}

/// Standard error of the share `value` has of `whole`, from 0 to 1: none for exact metrics and of nothing. Samples
/// fall to the row or to the others, so their number is binomial.
pub fn share_error(spec: &MetricSpec, value: u64, whole: u64) -> Option<f64> {
    let MetricKind::Sampled { period } = spec.kind else { return None };
    let (share, samples) = (value as f64 / whole as f64, whole as f64 / period.max(1) as f64);
    (whole > 0).then(|| (share * (1.0 - share).max(0.0) / samples).sqrt())
}

/// The same of samples that do not all stand for the same: from the variances of the part and of the whole. What falls to the
/// row and what falls to the others are independent.
pub fn weighted_share_error(value: u64, whole: u64, variance: u64, of_whole: u64) -> Option<f64> {
    let share = value as f64 / whole as f64;
    let others = of_whole.saturating_sub(variance) as f64;
    let squares = (1.0 - share).powi(2) * variance as f64 + share.powi(2) * others;
    (whole > 0).then(|| squares.sqrt() / whole as f64)
}

/// Compares the value `a` of one profile with `b` of another.
///
/// Exact counts differ or they do not. A sampled value is a number of samples times the period; samples come like a
/// Poisson process, whose variance is its mean, so the difference has the variance `a·periodA + b·periodB`.
pub fn significance(specs: &[MetricSpec; 2], a: u64, b: u64) -> Significance {
    let period = |spec: &MetricSpec| match spec.kind {
        MetricKind::Exact => 0.0,
        MetricKind::Sampled { period } => period.max(1) as f64,
    };
    let difference = b as f64 - a as f64;
    let variance = a as f64 * period(&specs[0]) + b as f64 * period(&specs[1]);
    let sigmas = match (a == b, variance > 0.0) {
        (true, _) => 0.0,
        (false, true) => difference / variance.sqrt(),
        (false, false) => difference.signum() * f64::INFINITY,
    };
    Significance { sigmas, significant: sigmas.abs() >= SIGMAS }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unit;

    #[test]
    fn the_error_of_a_share_is_that_of_a_coin() {
        let spec = MetricSpec::sampled("time", Unit::Nanoseconds, 10);
        // 100 samples, 20 of them here: √(0.2 · 0.8 / 100) = 0.04; and √20 samples of 10 each.
        assert_eq!(share_error(&spec, 200, 1000), Some(0.04));
        assert_eq!(standard_error(&spec, 200), Some(2000f64.sqrt()));
        assert_eq!((share_error(&spec, 0, 0), share_error(&spec, 1000, 1000)), (None, Some(0.0)));
        // Where all samples stand for the same, weights make no difference.
        let weighted = weighted_share_error(200, 1000, 200 * 10, 1000 * 10).unwrap();
        assert!((weighted - 0.04).abs() < 1e-9, "{weighted}");
        assert_eq!(share_error(&MetricSpec::bytecodes(), 200, 1000), None);
        assert_eq!(standard_error(&MetricSpec::bytecodes(), 200), None);
    }

    #[test]
    fn samples_have_an_error_and_counts_have_none() {
        let exact = [MetricSpec::bytecodes(), MetricSpec::bytecodes()];
        assert!(significance(&exact, 1_000_000, 1_000_001).significant);
        assert!(!significance(&exact, 5, 5).significant);
        let ms = || MetricSpec::sampled("time", Unit::Nanoseconds, 1_000_000);
        let sampled = [ms(), ms()];
        // 100 against 120 samples: 20 / √220 = 1.35 sigmas. 100 against 160: 60 / √260 = 3.72.
        let at = |a: u64, b: u64| significance(&sampled, a * 1_000_000, b * 1_000_000);
        assert!((at(100, 120).sigmas - 1.348).abs() < 0.001 && !at(100, 120).significant);
        assert!((at(100, 160).sigmas - 3.721).abs() < 0.001 && at(100, 160).significant);
        assert!(at(160, 100).sigmas < -3.7);
    }
}
