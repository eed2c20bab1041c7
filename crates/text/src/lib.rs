//! Names and numbers as people write and read them: patterns with stars, digits in groups. What every crate may use,
//! inside the target as well.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

/// Whether a pattern stands for the whole of a text: `*` matches any run. No recursion, and linear in practice.
pub fn glob(pattern: impl AsRef<[u8]>, text: impl AsRef<[u8]>) -> bool {
    matches(pattern.as_ref(), text.as_ref())
}

fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if text.get(t) == Some(c) => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    p = at + 1;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|&c| c == b'*')
}

/// `1234567` as `1,234,567`.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, matches) in [
            ("a*c", "abc", true),
            ("a*c", "abcd", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("*b*", "abc", true),
            ("ab*bc", "abc", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "abXbcXc", true),
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("a**c", "ac", true),
            ("pool-*-thread-*", "pool-1-thread-22", true),
            ("pool-*", "pol-1", false),
            ("a*b", "a", false),
            ("*ab", "aba", false),
        ] {
            assert_eq!(glob(pattern, text), matches, "{pattern} {text}");
        }
    }

    #[test]
    fn digits_come_in_groups_of_three() {
        assert_eq!((grouped(0), grouped(999), grouped(1000)), ("0".into(), "999".into(), "1,000".into()));
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }
}
