//! Numbers the way people read them.

pub(crate) use quipu_text::grouped;

/// With its sign: `+1,000`, `-5`, `0`.
pub(crate) fn signed(value: i64) -> String {
    let sign = match value {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    format!("{sign}{}", grouped(value.unsigned_abs()))
}

/// `after - before`, at the ends of the range when it does not fit.
pub(crate) fn change(before: u64, after: u64) -> i64 {
    narrow(i128::from(after) - i128::from(before))
}

pub(crate) fn narrow(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

/// `+1.25 %`; `new` when there was nothing. What is not nothing is never shown as nothing.
pub(crate) fn percent_change(before: u64, after: u64) -> String {
    if before == after {
        return "0 %".into();
    }
    let Some(change) = relative(before, after) else { return "new".into() };
    let sign = if change < 0.0 { '-' } else { '+' };
    match (change * 100.0).abs() {
        size if size < 0.005 => format!("{sign}<0.01 %"),
        size => format!("{sign}{size:.2} %"),
    }
}

/// The change as a fraction of what was before; nothing when there was nothing.
pub(crate) fn relative(before: u64, after: u64) -> Option<f64> {
    (before != 0).then(|| (after as f64 - before as f64) / before as f64)
}

/// `1 time`, `2,000 times`.
pub(crate) fn times(count: u64) -> String {
    if count == 1 { "once".into() } else { format!("{} times", grouped(count)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!((signed(1000), signed(-5), signed(0)), ("+1,000".into(), "-5".into(), "0".into()));
        assert_eq!(percent_change(1000, 1010), "+1.00 %");
        assert_eq!(percent_change(1000, 900), "-10.00 %");
        assert_eq!((percent_change(0, 5), percent_change(7, 7)), ("new".into(), "0 %".into()));
        assert_eq!(percent_change(1_000_000, 1_000_001), "+<0.01 %");
        assert_eq!((times(1), times(2000)), ("once".into(), "2,000 times".into()));
        assert_eq!((change(0, u64::MAX), change(u64::MAX, 0)), (i64::MAX, i64::MIN));
    }
}
