//! Names of tests: in which order people expect them, and which are the same test under another text.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::baseline::Baseline;
use super::work::Work;

/// Texts in order, numbers in them by their value: `[2]` comes before `[10]`.
pub(super) fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (x, y) = (leading(&mut a), leading(&mut b));
        let by_value = x.trim_start_matches('0').len().cmp(&y.trim_start_matches('0').len());
        let numbers =
            x.starts_with(|c: char| c.is_ascii_digit()) && y.starts_with(|c: char| c.is_ascii_digit());
        let order = if numbers { by_value.then_with(|| x.cmp(y)) } else { x.cmp(y) };
        if order.is_ne() || x.is_empty() {
            return order;
        }
    }
}

/// Takes digits, or what is not digits, from the front.
fn leading<'a>(text: &mut &'a str) -> &'a str {
    let digits = text.starts_with(|c: char| c.is_ascii_digit());
    let end = text.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(text.len());
    let (front, rest) = text.split_at(end);
    *text = rest;
    front
}

/// Runs of one method whose text is another than in the baseline (JUnit shows it in another way, or it has a path in
/// it) are the same test if they have the same number: by new name, the old one.
pub fn renumbered<'a>(baseline: &'a Baseline, new: &'a BTreeMap<String, Work>) -> BTreeMap<&'a str, &'a str> {
    let old = baseline.tests.keys().filter(|name| !new.contains_key(*name));
    let by_number: BTreeMap<&str, &str> =
        old.filter_map(|name| Some((up_to_number(name)?, name.as_str()))).collect();
    let unknown = new.keys().filter(|name| !baseline.tests.contains_key(*name));
    unknown.filter_map(|name| Some((name.as_str(), *by_number.get(up_to_number(name)?)?))).collect()
}

/// `a.B.c(int)[2` of `a.B.c(int)[2: some text]`.
fn up_to_number(name: &str) -> Option<&str> {
    let at = name.find(")[")? + 2;
    let end = at + name.get(at..)?.find([':', ']'])?;
    name.get(..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_order() {
        let mut names = ["a[10: x]", "a[2: y]", "a[2.10]", "a[2.9]", "a", "b2", "a[010]", "ä1"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["a", "a[2.9]", "a[2.10]", "a[2: y]", "a[010]", "a[10: x]", "b2", "ä1"]);
        assert_eq!(natural("a1b2", "a1b2"), Ordering::Equal);
    }

    #[test]
    fn the_same_number_is_the_same_test() {
        let baseline = Baseline::parse(
            "t(int)[1: x=1] bytecodes=1\nt(int)[2: x=2] bytecodes=1\nt(int)[3: x=3] bytecodes=1\nt() bytecodes=1",
        )
        .unwrap();
        let names = ["t(int)[1: 1]", "t(int)[2: x=2]", "t(int)[3]", "t(int)[4: x=4]", "u(int)[1: x=1]"];
        let new = names.map(|name| (name.to_owned(), Work::default())).into_iter().collect();
        let expected = [("t(int)[1: 1]", "t(int)[1: x=1]"), ("t(int)[3]", "t(int)[3: x=3]")];
        assert_eq!(renumbered(&baseline, &new), expected.into_iter().collect());
    }
}
