//! Overlap: how much of two distributions is the same. Σ over keys of min(share in A, share in B), in percent.

use crate::align::{Aligned, Matching, NoSuchMetric};
use crate::{By, Profile, Totals};

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
    let [a, b] = aligned.columns();
    let both = &aligned.both;
    let own = |totals: Totals| totals.own;
    match on {
        On::Context => overlap_percent(a.values(), b.values()),
        On::Edge => {
            let graph = both.call_graph();
            overlap_percent(&own(both.totals_by_edge(&graph, a)), &own(both.totals_by_edge(&graph, b)))
        }
        On::Method => overlap_percent(&own(both.totals_by_method(a)), &own(both.totals_by_method(b))),
        On::Class => {
            let keys = both.keys(By::Class);
            let add_up = |metric| own(both.totals(metric, &keys.of_method, keys.names.len()));
            overlap_percent(&add_up(a), &add_up(b))
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
