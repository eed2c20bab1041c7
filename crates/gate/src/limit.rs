//! How much growth is accepted.

use std::fmt;
use std::str::FromStr;

use crate::number::grouped;

/// Growth that is accepted. With both limits set, growth counts only if it exceeds both; with neither, any growth counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// Relative to the baseline.
    pub relative: Option<Share>,
    /// In the metric's unit.
    pub absolute: Option<u64>,
}

/// A share of a whole, exact: `0.5%` is not a binary fraction, and a limit met exactly must not fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    billionths: u64,
}

impl Limit {
    /// The limit when nobody names one.
    pub const DEFAULT: Limit = Limit { relative: Some(Share { billionths: 5_000_000 }), absolute: None };

    /// Is this growth beyond the limit?
    pub fn exceeded(&self, before: u64, after: u64) -> bool {
        let Some(growth) = after.checked_sub(before).filter(|&growth| growth > 0) else { return false };
        let relative = self.relative.is_none_or(|share| share.is_less(growth, before));
        relative && self.absolute.is_none_or(|most| growth > most)
    }
}

impl Share {
    /// Is it less than `part` of `whole`?
    fn is_less(self, part: u64, whole: u64) -> bool {
        u128::from(self.billionths) * u128::from(whole) < u128::from(part) * 1_000_000_000
    }

    /// As a fraction of 1.
    pub fn as_f64(self) -> f64 {
        self.billionths as f64 / 1e9
    }
}

impl FromStr for Share {
    type Err = String;

    /// `0.5%` or `0.5 %`.
    fn from_str(text: &str) -> Result<Share, String> {
        let wrong = || format!("{text} is not a percentage; write 0.5% or 2%");
        let number = text.trim().strip_suffix('%').ok_or_else(wrong)?.trim_end();
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || fraction.len() > 7 || !digits(whole) || !digits(fraction) {
            return Err(wrong());
        }
        // Percent have seven decimals when shares have nine.
        let scaled = format!("{whole}{fraction:0<7}");
        scaled.parse().map(|billionths| Share { billionths }).map_err(|_| wrong())
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.billionths / 10_000_000, self.billionths % 10_000_000);
        let fraction = format!("{fraction:07}");
        match fraction.trim_end_matches('0') {
            "" => write!(f, "{whole} %"),
            digits => write!(f, "{whole}.{digits} %"),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.relative, self.absolute) {
            (Some(relative), Some(absolute)) => write!(f, "{relative} and {}", grouped(absolute)),
            (Some(relative), None) => write!(f, "{relative}"),
            (None, Some(absolute)) => f.write_str(&grouped(absolute)),
            (None, None) => f.write_str("nothing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(relative: &str, absolute: Option<u64>) -> Limit {
        Limit { relative: (!relative.is_empty()).then(|| relative.parse().unwrap()), absolute }
    }

    #[test]
    fn a_limit_met_exactly_holds() {
        assert!(!limit("0.1%", None).exceeded(1_000_000, 1_001_000));
        assert!(limit("0.1%", None).exceeded(1_000_000, 1_001_001));
        assert!(!limit("", Some(5)).exceeded(10, 15));
        assert!(limit("", Some(5)).exceeded(10, 16));
        assert!(limit("", None).exceeded(10, 11) && !limit("", None).exceeded(10, 10));
        assert!(!limit("0%", None).exceeded(10, 9));
        assert!(limit("900%", None).exceeded(0, 1), "all growth from nothing is beyond any share");
        assert!(limit("0.1%", None).exceeded(u64::MAX / 2, u64::MAX));
    }

    #[test]
    fn of_two_limits_both_must_be_exceeded() {
        let both = limit("1%", Some(100));
        assert!(!both.exceeded(1_000, 1_050), "5 % but only 50");
        assert!(!both.exceeded(1_000_000, 1_005_000), "5,000 but only 0.5 %");
        assert!(both.exceeded(1_000, 1_101));
    }

    #[test]
    fn shares_are_read_and_written() {
        for (text, shown) in
            [("0.5%", "0.5 %"), ("2 %", "2 %"), ("0.0000001%", "0.0000001 %"), ("150%", "150 %")]
        {
            assert_eq!(text.parse::<Share>().unwrap().to_string(), shown);
        }
        for text in ["0.5", "%", "-1%", ".5%", "1e3%", "1.12345678%", "99999999999999999999%"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
        assert_eq!(Limit::DEFAULT.to_string(), "0.5 %");
    }
}
