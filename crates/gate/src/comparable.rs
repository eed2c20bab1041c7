//! Whether the counts of two profiles may be compared at all.

use quipu_profile::Profile;

/// Why counts cannot be compared, one sentence each; none when they can.
pub fn differences(baseline: &Profile, new: &Profile) -> Vec<String> {
    differences_but(baseline, new, &[])
}

/// The same, without what some options make.
pub(crate) fn differences_but(baseline: &Profile, new: &Profile, options: &[&str]) -> Vec<String> {
    let (a, b) = (&baseline.meta, &new.meta);
    let mut found = Vec::new();
    let jvm = |meta: &quipu_profile::Meta| {
        let parts = [&meta.jvm.name, &meta.jvm.version, &meta.jvm.vendor];
        parts.into_iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(" ")
    };
    if jvm(a) != jvm(b) {
        found.push(format!(
            "the baseline is of {}, the new profile of {}: another JDK does other work for the same program",
            or_unknown(&jvm(a)),
            or_unknown(&jvm(b))
        ));
    }
    let chosen = |meta: &quipu_profile::Meta| {
        let mut chosen = sorted(&meta.options);
        chosen.retain(|(key, _)| !options.contains(&key.as_str()));
        chosen
    };
    compare(&mut found, "option", &chosen(a), &chosen(b));
    let pins = |meta: &quipu_profile::Meta| {
        meta.pins.iter().map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>()
    };
    compare(&mut found, "pin", &pins(a), &pins(b));
    found
}

/// What makes the comparison weaker without making it wrong.
pub fn notes(baseline: &Profile, new: &Profile) -> Vec<String> {
    let mut found = Vec::new();
    if baseline.meta.pins.is_empty() && new.meta.pins.is_empty() {
        found.push(
            "nothing was pinned in either run: make both with --deterministic, or counts may differ by chance".into(),
        );
    }
    if baseline.meta.lost != new.meta.lost {
        let list = |profile: &Profile| {
            let parts = profile.meta.lost.iter().map(|(cause, n)| format!("{cause} {n}"));
            or_nothing(&parts.collect::<Vec<_>>().join(", ")).to_owned()
        };
        found.push(format!("not in the baseline: {}; not in the new profile: {}", list(baseline), list(new)));
    }
    found
}

type Pairs = [(String, String)];

fn sorted(pairs: &Pairs) -> Vec<(String, String)> {
    let mut pairs = pairs.to_vec();
    pairs.sort();
    pairs
}

/// One sentence for each key whose values differ. A key may come several times, like `--include`.
fn compare(found: &mut Vec<String>, what: &str, a: &Pairs, b: &Pairs) {
    let mut keys: Vec<&str> = a.iter().chain(b).map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let of = |side: &Pairs| {
            let mut values = side.iter().filter(|(other, _)| other == key).peekable();
            values.peek()?;
            let values: Vec<&str> = values.map(|(_, value)| value.as_str()).collect();
            Some(values.join(", "))
        };
        let show = |value: Option<String>| match value.as_deref() {
            None => "not set".to_owned(),
            Some("") => "set".to_owned(),
            Some(value) => value.to_owned(),
        };
        let (before, after) = (of(a), of(b));
        if before != after {
            let (before, after) = (show(before), show(after));
            found.push(format!("the {what} {key} is {before} in the baseline, {after} in the new profile"));
        }
    }
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "an unknown JVM" } else { text }
}

fn or_nothing(text: &str) -> &str {
    if text.is_empty() { "nothing" } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quipu_profile::Builder;

    fn profile(version: &str, options: &[(&str, &str)]) -> Profile {
        let mut builder = Builder::new();
        builder.meta.jvm.version = version.to_owned();
        builder.meta.options = options.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        builder.finish()
    }

    #[test]
    fn a_different_jdk_or_option_is_a_sentence() {
        let a = profile("17.0.1", &[("bba", "default"), ("include", "x"), ("include", "y")]);
        assert!(differences(&a, &a).is_empty());
        let reordered = profile("17.0.1", &[("include", "y"), ("bba", "default"), ("include", "x")]);
        assert!(differences(&a, &reordered).is_empty());
        let other = profile("25", &[("bba", "precise"), ("include", "x"), ("sites", "")]);
        let found = differences(&a, &other);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[0].contains("17.0.1") && found[0].contains("25"));
        assert_eq!(found[1], "the option bba is default in the baseline, precise in the new profile");
        assert_eq!(found[2], "the option include is x, y in the baseline, x in the new profile");
        assert_eq!(found[3], "the option sites is not set in the baseline, set in the new profile");
        assert!(notes(&a, &a)[0].contains("--deterministic"));
    }
}
