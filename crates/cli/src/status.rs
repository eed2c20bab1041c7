//! What an agent says of itself, for people.

use quipu_kinds::{ALL, KINDS, Kind, Value, kind};
use quipu_profile::{Unit, lost_in_words};
use quipu_report::{grouped, in_unit, printable};

/// Facts of `quipu ctl status` as sentences; those of newer agents as they are.
pub fn text(facts: &[(String, String)]) -> String {
    let fact = |name: &str| facts.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value);
    let number = |name: &str| fact(name).parse::<u64>().unwrap_or(0);
    let bytes = |name: &str| in_unit(number(name), &Unit::Bytes);
    let nanos = |name: &str| in_unit(number(name), &Unit::Nanoseconds);
    let mut lines = vec![("process", format!("{}, agent {}", fact("pid"), fact("version")))];
    let kinds: Vec<String> = KINDS.iter().filter_map(|kind| in_words(kind, fact(kind.name()))).collect();
    lines.push(("measures", if kinds.is_empty() { "nothing".to_owned() } else { kinds.join("; ") }));
    lines.push((
        "threads",
        if fact("threads").is_empty() { "all".into() } else { fact("threads").to_owned() },
    ));
    if number("samples") > 0 || number("walks") > 0 {
        let (samples, walks) = (grouped(number("samples")), grouped(number("walks")));
        lines.push((
            "samples",
            format!("{samples}, of {walks} stacks walked, which took {}", nanos("sampling.nanos")),
        ));
    }
    if number("rewrite.nanos") > 0 {
        lines.push(("instrumenting", format!("took {}", nanos("rewrite.nanos"))));
    }
    lines.push(("arena", format!("{} of {}, {}", bytes("arena.used"), bytes("arena.limit"), fact("arena"))));
    lines.push(("heap", format!("{} allocated so far", bytes("allocated"))));
    let mut out = String::new();
    for (name, value) in &lines {
        out.push_str(&format!("{name:<14} {}\n", printable(value)));
    }
    for (key, value) in facts {
        if let (Some(cause), Ok(count)) = (key.strip_prefix("lost."), value.parse()) {
            out.push_str(&format!("{:<14} {}\n", "not in it", printable(&lost_in_words(cause, count))));
        }
    }
    let known = |key: &str| KNOWN.contains(&key) || kind(key).is_some() || key.starts_with("lost.");
    for (key, value) in facts.iter().filter(|(key, _)| !known(key)) {
        out.push_str(&format!("{:<14} {}\n", printable(key), printable(value)));
    }
    out
}

/// Facts beside the kinds that have a place in the lines above.
const KNOWN: [&str; 11] = [
    "version",
    "pid",
    "arena",
    "threads",
    "samples",
    "walks",
    "sampling.nanos",
    "rewrite.nanos",
    "arena.used",
    "arena.limit",
    "allocated",
];

/// `CPU time, 100 samples a second`; nothing for a kind that is off.
fn in_words(kind: &Kind, value: &str) -> Option<String> {
    match value {
        "" | "off" => None,
        ALL => Some(format!("{}, {ALL}", kind.title.to_lowercase())),
        value => Some(kind.running.replace("{}", &with_unit(&kind.switch.value, value))),
    }
}

/// A value as people write it.
fn with_unit(value: &Value, text: &str) -> String {
    let Ok(number) = text.parse() else { return text.to_owned() };
    match value {
        Value::OrAll { or, .. } => with_unit(or, text),
        Value::Size => in_unit(number, &Unit::Bytes),
        Value::Time => in_unit(number, &Unit::Nanoseconds),
        _ => grouped(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(changed: &[(&str, &str)]) -> Vec<(String, String)> {
        let mut facts: Vec<(String, String)> =
            KNOWN.iter().map(|name| ((*name).to_owned(), String::new())).collect();
        for (key, value) in changed {
            facts.retain(|(known, _)| known != key);
            facts.push(((*key).to_owned(), (*value).to_owned()));
        }
        facts
    }

    #[test]
    fn people_are_told_what_is_on_and_what_it_cost() {
        let facts = facts(&[
            ("version", "0.1.0"),
            ("pid", "4711"),
            ("arena", "/tmp/a.arena"),
            ("exact", "off"),
            ("bytecodes", "off"),
            ("cpu", "100"),
            ("wall", "off"),
            ("samples", "1200"),
            ("walks", "1100"),
            ("sampling.nanos", "2500000"),
            ("arena.used", "2097152"),
            ("arena.limit", "1073741824"),
            ("allocated", "1536"),
            ("some.news", "7"),
            ("lost.walks.stub", "2"),
        ]);
        assert_eq!(
            text(&facts),
            "\
process        4711, agent 0.1.0
measures       CPU time, 100 samples a second
threads        all
samples        1,200, of 1,100 stacks walked, which took 2.50 ms
arena          2.00 MiB of 1.00 GiB, /tmp/a.arena
heap           1.50 KiB allocated so far
not in it      2 stacks in stubs of the JVM
some.news      7
"
        );
    }

    #[test]
    fn nothing_is_said_of_what_is_off() {
        let off = KINDS.iter().map(|kind| (kind.name(), "off"));
        let facts = facts(&off.chain([("exact", "on")]).collect::<Vec<_>>());
        let text = text(&facts);
        assert!(text.contains("measures       exact counts\n") && !text.contains("samples"), "{text}");
        assert!(!text.contains("off"), "{text}");
    }

    /// Whatever kinds there are: each is told in words, with its value, and on no line of its own.
    #[test]
    fn every_kind_that_is_on_is_told() {
        for kind in KINDS {
            let value = match kind.switch.bare {
                None | Some("") => "on".to_owned(),
                Some(bare) => kind.switch.value.parse(bare).unwrap(),
            };
            let text = text(&facts(&[(kind.name(), &value)]));
            let measures = text.lines().find(|line| line.starts_with("measures")).unwrap();
            assert!(!measures.contains("nothing") && !measures.contains("{}"), "{}: {text}", kind.name());
            assert!(!text.lines().any(|line| line.starts_with(&format!("{} ", kind.name()))), "{text}");
        }
        let text = text(&facts(&[("alloc", "524288"), ("locks", "10000"), ("timeline", "on")]));
        let kinds = "objects that are made, one for every 512.00 KiB; waits for locks of at least 10.00 us; \
                     what takes place when";
        assert!(text.contains(kinds), "{text}");
    }

    #[test]
    fn everything_is_said_to_be_all() {
        let text = text(&facts(&[("alloc", "all")]));
        assert!(text.contains("measures       allocation, all\n"), "{text}");
    }
}
