//! Numbers the way people read them.

use quipu_profile::{MetricSpec, Unit, share_error};
pub use quipu_text::grouped;

/// A value in its unit: counts exact, bytes and times scaled to three or four digits.
pub fn in_unit(value: u64, unit: &Unit) -> String {
    match unit {
        Unit::Bytes => scaled(value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]),
        Unit::Nanoseconds if value >= 1_000_000_000 => format!("{:.2} s", value as f64 / 1e9),
        Unit::Nanoseconds => scaled(value, 1000.0, &["ns", "us", "ms", "s"]),
        Unit::Count | Unit::Bytecodes | Unit::Other(_) => grouped(value),
    }
}

fn scaled(value: u64, step: f64, names: &[&str]) -> String {
    let (mut scaled, mut at) = (value as f64, 0);
    while scaled >= step && at + 1 < names.len() {
        scaled /= step;
        at += 1;
    }
    if at == 0 { format!("{value} {}", names[0]) } else { format!("{scaled:.2} {}", names[at]) }
}

/// A share of a whole; 0 of nothing is nothing.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// `12.3 %`. What is not all is never rounded up to all, and what is not nothing never down to nothing.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    let share = share(part, whole);
    match (part, (share * 1000.0).round() as u64) {
        (0, _) => "0.0 %".into(),
        (_, 0) => "<0.1 %".into(),
        (part, 1000..) if part < whole => ">99.9 %".into(),
        _ => format!("{:.1} %", share * 100.0),
    }
}

/// A share with its standard error in percentage points, `12.3 % +-0.4`, where the metric is sampled.
pub(crate) fn percent_of(part: u64, whole: u64, spec: &MetricSpec) -> String {
    percent_with(part, whole, share_error(spec, part, whole))
}

/// The same with an error that is known.
pub(crate) fn percent_with(part: u64, whole: u64, error: Option<f64>) -> String {
    let percent = percent(part, whole);
    match error.map(|error| error * 100.0) {
        None | Some(0.0) => percent,
        Some(error) if error < 0.05 => format!("{percent} +-<0.1"),
        Some(error) => format!("{percent} +-{error:.1}"),
    }
}

/// A quotient of two metrics; `-` when there is nothing to divide by.
pub(crate) fn ratio(numerator: u64, denominator: u64) -> String {
    match quotient(numerator, denominator) {
        None => "-".into(),
        Some(value) if value >= 1000.0 => grouped(value.round() as u64),
        // Two digits that say something: faults for each nanosecond are few.
        Some(value) if value > 0.0 && value < 0.1 => {
            let zeros = (-value.log10()).ceil().min(11.0) as usize;
            format!("{value:.*}", zeros + 1)
        }
        Some(value) => format!("{value:.2}"),
    }
}

pub(crate) fn quotient(numerator: u64, denominator: u64) -> Option<f64> {
    (denominator != 0).then(|| numerator as f64 / denominator as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(in_unit(1536, &Unit::Bytes), "1.50 KiB");
        assert_eq!(in_unit(999, &Unit::Nanoseconds), "999 ns");
        assert_eq!(in_unit(1_234_567, &Unit::Nanoseconds), "1.23 ms");
        assert_eq!(in_unit(61_000_000_000, &Unit::Nanoseconds), "61.00 s");
        assert_eq!(percent(1, 3), "33.3 %");
        assert_eq!((percent(1, 1_000_000), percent(999_999, 1_000_000)), ("<0.1 %".into(), ">99.9 %".into()));
        assert_eq!((percent(5, 5), percent(0, 0)), ("100.0 %".into(), "0.0 %".into()));
        assert_eq!(
            (ratio(1, 3), ratio(1, 0), ratio(5_000_000, 2)),
            ("0.33".into(), "-".into(), "2,500,000".into())
        );
        assert_eq!((ratio(0, 3), ratio(217, 1_000_000)), ("0.00".into(), "0.00022".into()));
    }
}
