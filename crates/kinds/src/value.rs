//! What settings take.

use crate::ALL;

/// What a setting takes.
#[derive(Debug, Clone, Copy)]
pub enum Value {
    /// Nothing: it is on when it is named.
    Switch,
    /// A number in this range.
    Number {
        /// What the help calls it.
        name: &'static str,
        /// The least.
        least: u64,
        /// The most.
        most: u64,
        /// What it is, for people who give something else: `a rate from 1 to 10000`.
        must: &'static str,
    },
    /// A number of bytes, with a unit or without: `500M`.
    Size,
    /// A time with its unit: `10us`.
    Time,
    /// A time of so many nanoseconds.
    TimeWithin {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
        /// What it is, for people who give something else: `a time from 1ms to 1s`.
        must: &'static str,
    },
    /// The same, or [`crate::ALL`] for everything.
    OrAll {
        /// What the help calls it: `SIZE|all`.
        name: &'static str,
        /// What it takes otherwise.
        or: &'static Value,
    },
    /// One of these words, each with what it means.
    Choice(&'static [(&'static str, &'static str)]),
    /// Any text; the help calls it this.
    Text(&'static str),
    /// A file that is there, which the target must find as well.
    File,
    /// A jar, and a class in it: `agent.jar=com.acme.Agent`.
    JarAndClass,
}

impl Value {
    /// What the help calls it; empty for switches.
    pub const fn name(&self) -> &'static str {
        match self {
            Value::Switch => "",
            Value::Number { name, .. } | Value::OrAll { name, .. } | Value::Text(name) => name,
            Value::Size => "SIZE",
            Value::Time | Value::TimeWithin { .. } => "TIME",
            Value::Choice(_) => "WHICH",
            Value::File => "FILE",
            Value::JarAndClass => "JAR=CLASS",
        }
    }

    /// The value as it is handed on, or what it must be.
    pub fn parse(&self, text: &str) -> Result<String, String> {
        match *self {
            Value::Switch if text.is_empty() => Ok(String::new()),
            Value::Switch => Err("takes no value".to_owned()),
            Value::Number { least, most, must, .. } => {
                let number = text.replace('_', "").parse().ok().filter(|n| (least..=most).contains(n));
                number.map(|n: u64| n.to_string()).ok_or_else(|| ["must be ", must].concat())
            }
            Value::Size => size(text).map(|bytes| bytes.to_string()),
            Value::Time => time(text).map(|nanos| nanos.to_string()),
            Value::TimeWithin { least, most, must } => match time(text) {
                Ok(nanos) if (least..=most).contains(&nanos) => Ok(nanos.to_string()),
                _ => Err(["must be ", must].concat()),
            },
            Value::OrAll { .. } if text == ALL => Ok(text.to_owned()),
            Value::OrAll { or, .. } => or.parse(text).map_err(|why| [&why, ", or ", ALL].concat()),
            Value::Choice(words) if words.iter().any(|(word, _)| *word == text) => Ok(text.to_owned()),
            Value::Choice(words) => {
                Err(["must be ", &crate::listed(words.iter().map(|(word, _)| *word))].concat())
            }
            Value::JarAndClass => match text.rsplit_once('=') {
                Some((jar, class)) if !jar.is_empty() && !class.is_empty() && !class.contains('/') => {
                    Ok(text.to_owned())
                }
                _ => Err("must be a jar and a class in it: agent.jar=com.acme.Agent".to_owned()),
            },
            Value::Text(_) | Value::File if text.is_empty() => Err("must not be empty".to_owned()),
            Value::Text(_) | Value::File => Ok(text.to_owned()),
        }
    }
}

/// `500M`, `8G`, `1048576`.
pub fn size(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let number: u64 = digits.parse().map_err(|_| "must be a size like 500M or 8G".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "is too large".to_owned())
}

/// Nanoseconds: `10us`, `1.5ms`, `2s`. A number alone is what was parsed before.
pub fn time(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    const MOST: u64 = 1_000_000_000_000_000_000;
    if let Ok(nanos) = text.parse() {
        return Ok(nanos);
    }
    let found = UNITS.iter().find_map(|&(unit, nanos)| Some((text.strip_suffix(unit)?, nanos)));
    let nanos = found.and_then(|(digits, nanos)| decimal(digits, nanos)).filter(|&nanos| nanos < MOST);
    nanos.ok_or_else(|| "must be a time like 10us, 5ms or 1s".to_owned())
}

/// So many of a unit, with digits behind a point or without. The agent has no other use for floating-point numbers, and what
/// reads those is 20 KB.
fn decimal(digits: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let mut sum = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    let mut unit = unit;
    for digit in fraction.chars() {
        unit /= 10;
        sum = sum.checked_add(u64::from(digit.to_digit(10)?) * unit)?;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::{Value, size, time};

    #[test]
    fn times_have_units() {
        assert_eq!((time("10us"), time("1.5ms"), time("2s")), (Ok(10_000), Ok(1_500_000), Ok(2_000_000_000)));
        assert_eq!((time("7ns"), time("7")), (Ok(7), Ok(7)));
        assert_eq!((time("0.25us"), time("1.0000000001s")), (Ok(250), Ok(1_000_000_000)));
        assert!(time("soon").is_err() && time("-1s").is_err() && time("9e99s").is_err());
        assert!(time("s").is_err() && time("1.xs").is_err() && time("99999999999999s").is_err());
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("500M"), Ok(500 << 20));
        assert_eq!(size("8g"), Ok(8 << 30));
        assert_eq!(size("77"), Ok(77));
        assert!(size("lots").is_err());
        assert!(size("99999999999G").is_err());
    }

    #[test]
    fn values_say_what_they_must_be() {
        let rate = Value::Number { name: "RATE", least: 1, most: 10, must: "a rate from 1 to 10" };
        assert_eq!(rate.parse("1_0"), Ok("10".to_owned()));
        assert_eq!(rate.parse("11"), Err("must be a rate from 1 to 10".to_owned()));
        let choice = Value::Choice(&[("all", ""), ("app", ""), ("none", "")]);
        assert_eq!(choice.parse("some"), Err("must be all, app or none".to_owned()));
        assert!(Value::JarAndClass.parse("a=b.jar=com.acme.Mine").is_ok());
        assert!(Value::JarAndClass.parse("a.jar").is_err());
    }
}
