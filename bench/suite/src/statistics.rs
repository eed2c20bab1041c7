//! Ratios and how sure one can be of them.
//!
//! Rounds are interleaved, so a round's ratio compares two runs made minutes apart under the same load. The suite
//! reports the median of these ratios with the interval between two order statistics: it holds whatever the
//! distribution is, and with few rounds it says how little it is sure of instead of pretending.

use serde::Serialize;

/// A median with the range the true one is in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The median of what was measured.
    pub median: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability that the true median is inside, from 0 to 1.
    pub confidence: f64,
    /// How many values there were.
    pub rounds: usize,
}

/// The confidence asked for where nothing else is said.
pub const USUAL: f64 = 0.95;

/// The middle value; the mean of the two middle ones if there are two. `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The median with the narrowest interval between order statistics that is at least as sure as asked; the whole range
/// where there are too few values for that.
pub fn estimate(values: &[f64], confidence: f64) -> Option<Estimate> {
    let sorted = sorted(values);
    let rounds = sorted.len();
    let middle = median(&sorted)?;
    let mut leave_out = 0;
    while leave_out + 1 < rounds.div_ceil(2) && coverage(rounds, leave_out + 1) >= confidence {
        leave_out += 1;
    }
    Some(Estimate {
        median: middle,
        low: sorted[leave_out],
        high: sorted[rounds - 1 - leave_out],
        confidence: coverage(rounds, leave_out),
        rounds,
    })
}

/// The probability that the true median is between the values left when `leave_out` are dropped at each end:
/// each value is below it with probability ½, so 1 − 2·P(at most `leave_out` of n tosses are heads).
fn coverage(rounds: usize, leave_out: usize) -> f64 {
    let mut term = 0.5f64.powi(i32::try_from(rounds).unwrap_or(i32::MAX));
    let mut tail = term;
    for k in 1..=leave_out {
        term *= (rounds + 1 - k) as f64 / k as f64;
        tail += term;
    }
    (1.0 - 2.0 * tail).max(0.0)
}

/// `profiled / plain` for each round that has both.
pub fn ratios(profiled: &[Option<f64>], plain: &[Option<f64>]) -> Vec<f64> {
    profiled
        .iter()
        .zip(plain)
        .filter_map(|(above, below)| Some((*above)? / (*below)?))
        .filter(|ratio| ratio.is_finite())
        .collect()
}

/// The geometric mean; `None` of nothing or of what is not positive.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    Some((values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator whose numbers are the same in every run of the tests.
    struct Noise(u64);

    impl Noise {
        /// From -1 to 1, small values more likely.
        fn next(&mut self) -> f64 {
            let mut uniform = || {
                self.0 =
                    self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (self.0 >> 11) as f64 / (1u64 << 53) as f64
            };
            uniform() + uniform() - 1.0
        }
    }

    #[test]
    fn medians_of_odd_and_even_numbers_of_values() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 4.0]), Some(4.0));
        assert_eq!(median(&[9.0, 1.0, 4.0, 6.0]), Some(5.0));
    }

    #[test]
    fn the_interval_is_as_sure_as_the_number_of_rounds_allows() {
        let three = estimate(&[1.0, 3.0, 2.0], USUAL).unwrap();
        assert_eq!((three.low, three.median, three.high, three.confidence), (1.0, 2.0, 3.0, 0.75));
        let five: Vec<f64> = (1..=5).map(f64::from).collect();
        assert_eq!(estimate(&five, USUAL).unwrap().confidence, 0.9375);
        // Nine values: leaving one out at each end keeps 1 - 2·10/512.
        let nine: Vec<f64> = (1..=9).map(f64::from).collect();
        let nine = estimate(&nine, USUAL).unwrap();
        assert_eq!((nine.low, nine.high, nine.confidence), (2.0, 8.0, 1.0 - 20.0 / 512.0));
        let one = estimate(&[2.0], USUAL).unwrap();
        assert_eq!((one.low, one.high, one.confidence), (2.0, 2.0, 0.0));
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let plain = [Some(1.0), Some(10.0), None, Some(0.0)];
        let profiled = [Some(2.0), Some(30.0), Some(5.0), Some(1.0)];
        assert_eq!(ratios(&profiled, &plain), [2.0, 3.0]);
        assert_eq!(geometric_mean(&[2.0, 8.0]), Some(4.0));
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
    }

    #[test]
    fn intervals_cover_the_truth_as_often_as_they_say() {
        let mut noise = Noise(1);
        let mut covered = 0;
        let times = 4000;
        let mut promised = 0.0;
        for _ in 0..times {
            let values: Vec<f64> = (0..8).map(|_| 1.0 + 0.2 * noise.next()).collect();
            let found = estimate(&values, USUAL).unwrap();
            promised = found.confidence;
            covered += usize::from(found.low <= 1.0 && 1.0 <= found.high);
        }
        let share = covered as f64 / f64::from(times);
        assert!((share - promised).abs() < 0.01, "covered {share}, promised {promised}");
    }

    #[test]
    fn a_planted_slowdown_of_a_tenth_is_found_under_drifting_load() {
        let mut noise = Noise(2);
        // The machine gets three times slower on the way, and each run is off by up to 2%.
        let runs: Vec<(Option<f64>, Option<f64>)> = (0..9)
            .map(|round| {
                let load = 1.0 + f64::from(round) * 0.25;
                (Some(load * (1.0 + 0.02 * noise.next())), Some(1.1 * load * (1.0 + 0.02 * noise.next())))
            })
            .collect();
        let (plain, profiled): (Vec<_>, Vec<_>) = runs.into_iter().unzip();
        let found = estimate(&ratios(&profiled, &plain), USUAL).unwrap();
        assert!(found.low <= 1.10 && 1.10 <= found.high, "{found:?}");
        assert!(found.low > 1.05 && found.high < 1.15, "{found:?}");
    }
}
