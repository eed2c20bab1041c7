//! Overlap: how much of two distributions is the same. Σ over keys of min(share in A, share in B), in percent.

use crate::align::{Aligned, Matching, NoSuchMetric};
use crate::{By, MetricKind, Profile};

/// What the shares are shares of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// Calling contexts.
    Context,
    /// Call edges: (caller, site, callee). Sites count only when both profiles have them.
    Edge,
    /// Methods.
    Method,
    /// Classes.
    Class,
}

impl On {
    /// All of them, in the order people list them.
    pub const ALL: [On; 4] = [On::Context, On::Edge, On::Method, On::Class];

    /// `context`, `edge`, `method` or `class`.
    pub fn as_str(self) -> &'static str {
        match self {
            On::Context => "context",
            On::Edge => "edge",
            On::Method => "method",
            On::Class => "class",
        }
    }
}

/// Overlap of two profiles in percent: 100 when the distributions are equal, 0 when they have nothing in common. Weights
/// are self values, so each unit counted belongs to exactly one key. Two profiles without any weight overlap fully.
pub fn overlap(
    a: &Profile,
    b: &Profile,
    metric: &str,
    on: On,
    matching: Matching,
) -> Result<f64, NoSuchMetric> {
    Ok(overlap_of(&Aligned::new(a, b, metric, matching)?, on))
}

/// Overlap of two profiles that are lined up already.
pub fn overlap_of(aligned: &Aligned, on: On) -> f64 {
    let [a, b] = weights(aligned, on);
    overlap_percent(&a, &b)
}

/// The overlap to expect, in percent, if nothing but the chance of sampling told the two profiles apart; `None` when
/// both are exact. What is this far from 100 is as close as so many samples come.
///
/// Two estimates of a share p differ by a random amount with variance p(1 − p)(1/n + 1/m), n and m being the numbers of
/// samples (an exact side has no error). A normal variable is √(2/π) deviations from its mean on average, and two
/// shares differ by no more than their sum, which matters where there is less than one sample. The overlap misses half
/// of what all differences add up to.
pub fn expected_overlap(aligned: &Aligned, on: On) -> Option<f64> {
    let columns = weights(aligned, on);
    let sums = [0, 1].map(|side: usize| columns[side].iter().map(|&value| value as f64).sum::<f64>());
    // 1/n, of the number of samples; 0 for an exact side.
    let scatter = [0, 1].map(|side: usize| match aligned.specs[side].kind {
        MetricKind::Exact => 0.0,
        MetricKind::Sampled { period } => period.max(1) as f64 / sums[side],
    });
    if !aligned.sampled() || sums.contains(&0.0) {
        return None;
    }
    // The best guess of the true share: the exact side's, or that of all samples together.
    let trust = match scatter {
        [0.0, _] => [1.0, 0.0],
        [_, 0.0] => [0.0, 1.0],
        [a, b] => [b / (a + b), a / (a + b)],
    };
    let differences = columns[0].iter().zip(&columns[1]).map(|(&a, &b)| {
        let share = trust[0] * a as f64 / sums[0] + trust[1] * b as f64 / sums[1];
        let variance = share * (1.0 - share).max(0.0) * (scatter[0] + scatter[1]);
        (variance * std::f64::consts::FRAC_2_PI).sqrt().min(2.0 * share)
    });
    Some((1.0 - differences.sum::<f64>() / 2.0).clamp(0.0, 1.0) * 100.0)
}

/// What both sides have of each key.
fn weights(aligned: &Aligned, on: On) -> [Vec<u64>; 2] {
    let both = &aligned.both;
    let columns = aligned.columns();
    match on {
        On::Context => columns.map(|metric| metric.values().to_vec()),
        On::Edge => {
            let graph = both.call_graph();
            columns.map(|metric| both.totals_by_edge(&graph, metric).own)
        }
        On::Method => columns.map(|metric| both.totals_by_method(metric).own),
        On::Class => {
            let keys = both.keys(By::Class);
            columns.map(|metric| both.totals(metric, &keys.of_method, keys.names.len()).own)
        }
    }
}

/// Σ min(aᵢ/Σa, bᵢ/Σb) · 100, computed in integers as Σ min(aᵢ·Σb, bᵢ·Σa) / (Σa·Σb): symmetric to the last bit.
pub fn overlap_percent(a: &[u64], b: &[u64]) -> f64 {
    let sum = |values: &[u64]| values.iter().map(|&value| u128::from(value)).sum::<u128>();
    let (all_a, all_b) = (sum(a), sum(b));
    if all_a == 0 || all_b == 0 {
        return if all_a == all_b { 100.0 } else { 0.0 };
    }
    let pairs = || a.iter().zip(b).filter(|&(&a, &b)| a != 0 && b != 0);
    if all_a > u128::from(u64::MAX) || all_b > u128::from(u64::MAX) {
        // Products would not fit 128 bits; such sums only come of counters that ran into their limit.
        let share =
            pairs().map(|(&a, &b)| (a as f64 / all_a as f64).min(b as f64 / all_b as f64)).sum::<f64>();
        return (share * 100.0).min(100.0);
    }
    let common: u128 = pairs().map(|(&a, &b)| (u128::from(a) * all_b).min(u128::from(b) * all_a)).sum();
    if common == all_a * all_b { 100.0 } else { common as f64 / (all_a * all_b) as f64 * 100.0 }
}
