//! The baseline as it lies beside the sources: text, one line for each test, sorted, so that a review shows which
//! tests do more or less.
//!
//! ```text
//! # comment
//! jvm: OpenJDK 64-Bit Server VM 17.0.15+6
//! com.acme.OrderTest.adds() bytecodes=51200 calls=803 allocations=12
//! com.acme.OrderTest.parses(String)[1: "3.50"] bytecodes=9120 calls=77 allocations=6 max=2%
//! com.acme.OrderTest.waits() unstable
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;

use thiserror::Error;

use super::order::natural;
use super::work::Work;
use crate::{Limit, Share};

const HEADING: &str = "\
# How much work each test does, counted by `quipu test`; --update writes it anew.
# A line may have limits of its own: max=2% max-absolute=1000. They are kept.
";

/// The numbers to hold new ones against.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// The JVM that did the work; another does other work for the same program.
    pub jvm: String,
    /// How many tests ran at a time, if it was not one after the other in one JVM: which of them comes first is chance then.
    pub at_a_time: Option<String>,
    /// Tests by name.
    pub tests: BTreeMap<String, Entry>,
}

/// What the baseline says of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Its work; none if it is not the same each time.
    pub work: Option<Work>,
    /// How much more is accepted, if that is another limit than for all.
    pub limit: Option<Limit>,
}

/// What is done with a second line of the same test.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Twice {
    /// Which of the numbers to hold new ones against is not known.
    Refused,
    /// New numbers come anyway: the limits of both stay.
    Joined,
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {why}")]
pub struct Malformed {
    /// Which, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

impl Baseline {
    /// Reads the text.
    pub fn parse(text: &str) -> Result<Baseline, Malformed> {
        match conflict(text) {
            Some(line) => Err(Malformed {
                line,
                why: "it has a merge conflict. Run with --update, which counts anew and keeps the limits of both sides"
                    .to_owned(),
            }),
            None => Baseline::parse_side(text, Twice::Refused),
        }
    }

    /// Reads a text that is about to be replaced: of one with a merge conflict, what both sides have, and of one that git has
    /// put together out of both (`merge=union`), what both lines of a test say. Where they differ the last one counts, but
    /// for limits, which stay whichever side has them.
    pub fn parse_to_replace(text: &str) -> Result<Baseline, Malformed> {
        let mut sides = [String::new(), String::new()];
        let mut side = None;
        for line in text.lines() {
            match marker(line) {
                Some('<') => side = Some(Some(0)),
                Some('|') => side = Some(None),
                Some('=') => side = Some(Some(1)),
                Some(_) => side = None,
                // What both had before they parted is neither's.
                None if side == Some(None) => {}
                None => {
                    let of = sides.iter_mut().enumerate();
                    of.filter(|(at, _)| side.is_none_or(|side| side == Some(*at))).for_each(|(_, text)| {
                        text.push_str(line);
                        text.push('\n');
                    });
                }
            }
        }
        let [ours, mut theirs] = [
            Baseline::parse_side(&sides[0], Twice::Joined)?,
            Baseline::parse_side(&sides[1], Twice::Joined)?,
        ];
        for (name, entry) in ours.tests {
            let kept = theirs.tests.entry(name).or_insert_with(|| entry.clone());
            kept.limit = kept.limit.or(entry.limit);
        }
        Ok(theirs)
    }

    fn parse_side(text: &str, twice: Twice) -> Result<Baseline, Malformed> {
        let mut baseline = Baseline::default();
        for (at, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(jvm) = line.strip_prefix("jvm:") {
                baseline.jvm = jvm.trim().to_owned();
                continue;
            }
            if let Some(how) = line.strip_prefix("at a time:") {
                baseline.at_a_time = Some(how.trim().to_owned());
                continue;
            }
            let (name, mut entry) = entry(line).map_err(|why| Malformed { line: at, why })?;
            let before = baseline.tests.get(&name).map(|before| before.limit);
            if before.is_some() && twice == Twice::Refused {
                let why = format!(
                    "{name} is there already. If git has put two sides together (merge=union), run with --update, which \
                     counts anew and keeps the limits of both"
                );
                return Err(Malformed { line: at, why });
            }
            entry.limit = entry.limit.or(before.flatten());
            baseline.tests.insert(name, entry);
        }
        Ok(baseline)
    }

    /// The text; the same for the same numbers.
    pub fn to_text(&self) -> String {
        let mut out = format!("{HEADING}jvm: {}\n", self.jvm);
        out += &self.at_a_time.as_ref().map_or_else(String::new, |how| format!("at a time: {how}\n"));
        let mut tests: Vec<(&String, &Entry)> = self.tests.iter().collect();
        tests.sort_by(|(a, _), (b, _)| natural(a, b));
        for (name, Entry { work, limit }) in tests {
            out += name;
            // Writing to a string cannot fail.
            let _ = match work {
                None => write!(out, " unstable"),
                Some(work) => {
                    let runs = if work.runs == 1 { String::new() } else { format!(" runs={}", work.runs) };
                    write!(out, "{runs} bytecodes={} calls={}", work.bytecodes, work.calls)
                }
            };
            if let Some(allocations) = work.and_then(|work| work.allocations) {
                let _ = write!(out, " allocations={allocations}");
            }
            if let Some(relative) = limit.and_then(|limit| limit.relative) {
                let _ = write!(out, " max={}", relative.to_string().replace(' ', ""));
            }
            if let Some(absolute) = limit.and_then(|limit| limit.absolute) {
                let _ = write!(out, " max-absolute={absolute}");
            }
            out.push('\n');
        }
        out
    }
}

/// The character of a line that git writes where two sides do not agree.
fn marker(line: &str) -> Option<char> {
    let mark = line.chars().next().filter(|c| "<|=>".contains(*c))?;
    let rest = line.trim_start_matches(mark);
    (line.len() - rest.len() == 7 && (rest.is_empty() || rest.starts_with(' '))).then_some(mark)
}

/// The first such line, from 1.
fn conflict(text: &str) -> Option<usize> {
    text.lines().position(|line| marker(line).is_some()).map(|at| at + 1)
}

/// A name, which ends with a parenthesis or a bracket, and what is known of it.
fn entry(line: &str) -> Result<(String, Entry), String> {
    let end = line.rfind([')', ']']).ok_or("a test is missing, like com.acme.OrderTest.adds()")? + 1;
    let (name, facts) = line.split_at(end);
    let (mut work, mut unstable) = (Work { runs: 1, ..Work::default() }, false);
    let (mut limit, mut counted) = (Limit::default(), false);
    for fact in facts.split_whitespace() {
        let (key, value) = fact.split_once('=').unwrap_or((fact, ""));
        let number = || value.parse::<u64>().map_err(|_| format!("{fact}: must be a number"));
        match key {
            "runs" => work.runs = number()?.max(1),
            "bytecodes" => (work.bytecodes, counted) = (number()?, true),
            "calls" => work.calls = number()?,
            "allocations" => work.allocations = Some(number()?),
            "max" => limit.relative = Some(value.parse::<Share>()?),
            "max-absolute" => limit.absolute = Some(number()?),
            "unstable" => unstable = true,
            _ => {
                return Err(format!(
                    "{fact} is not known; there are bytecodes, calls, allocations, runs, max, max-absolute, unstable"
                ));
            }
        }
    }
    if !counted && !unstable {
        return Err(format!("{name} has neither bytecodes=… nor unstable"));
    }
    let work = (counted && !unstable).then_some(work);
    Ok((name.to_owned(), Entry { work, limit: (limit != Limit::default()).then_some(limit) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "jvm: A JVM 17
a.B.c() bytecodes=51200 calls=803 allocations=12
a.B.d(String) runs=3 bytecodes=9120 calls=77 max=2.5% max-absolute=1000
a.B.e(int)[2: x=1 max=3%] bytecodes=1 calls=1
a.B.e(int)[10] bytecodes=1 calls=1
a.B.two words (really)() bytecodes=1 calls=1
a.B.waits() unstable
";

    #[test]
    fn what_is_written_is_read() {
        let baseline = Baseline::parse(TEXT).unwrap();
        assert_eq!(baseline.to_text(), format!("{HEADING}{TEXT}"));
        assert_eq!(Baseline::parse(&baseline.to_text()).unwrap(), baseline);
        assert_eq!(baseline.tests["a.B.d(String)"].work.unwrap().runs, 3);
        assert_eq!(baseline.tests["a.B.waits()"], Entry::default());
    }

    #[test]
    fn a_merge_conflict_is_named_and_limits_of_both_sides_are_kept() {
        let text = "jvm: A JVM 17
a.B.a() bytecodes=1 calls=1
<<<<<<< HEAD
a.B.c() bytecodes=51200 calls=803 max=2%
||||||| base
a.B.c() bytecodes=1 calls=1
a.B.old() bytecodes=1 calls=1
=======
a.B.c() bytecodes=51300 calls=804
a.B.d() bytecodes=1 calls=1 max-absolute=7
>>>>>>> theirs
a.B.z() unstable
";
        let error = Baseline::parse(text).unwrap_err();
        assert_eq!(error.line, 3);
        assert!(error.to_string().contains("merge conflict") && error.to_string().contains("--update"));
        let both = Baseline::parse_to_replace(text).unwrap();
        assert_eq!(both.tests.keys().collect::<Vec<_>>(), ["a.B.a()", "a.B.c()", "a.B.d()", "a.B.z()"]);
        assert_eq!(both.tests["a.B.c()"].limit.unwrap().relative, Some("2%".parse().unwrap()));
        assert_eq!(both.tests["a.B.d()"].limit.unwrap().absolute, Some(7));
        let whole = Baseline::parse(TEXT).unwrap();
        assert_eq!(Baseline::parse_to_replace(TEXT).unwrap(), whole, "one without");
    }

    #[test]
    fn what_git_made_a_union_of_is_named_and_resolved() {
        let text = "jvm: A JVM 17
a.B.a() bytecodes=1 calls=1
a.B.c() bytecodes=51200 calls=803 max=2%
a.B.c() bytecodes=51300 calls=804
a.B.d() bytecodes=1 calls=1
a.B.d() bytecodes=2 calls=1 max-absolute=7
jvm: A JVM 17
";
        let error = Baseline::parse(text).unwrap_err();
        assert_eq!(error.line, 4);
        assert!(error.to_string().contains("merge=union") && error.to_string().contains("--update"));
        let both = Baseline::parse_to_replace(text).unwrap();
        assert_eq!(both.tests.len(), 3);
        assert_eq!(both.tests["a.B.c()"].work.unwrap().bytecodes, 51_300);
        assert_eq!(both.tests["a.B.c()"].limit.unwrap().relative, Some("2%".parse().unwrap()));
        assert_eq!(both.tests["a.B.d()"].limit.unwrap().absolute, Some(7));
    }

    #[test]
    fn how_many_ran_at_a_time_is_kept() {
        let text = "jvm: A JVM 17\nat a time: 2 JVMs\na.B.c() bytecodes=1 calls=1\n";
        let baseline = Baseline::parse(text).unwrap();
        assert_eq!(baseline.at_a_time.as_deref(), Some("2 JVMs"));
        assert_eq!(baseline.to_text(), format!("{HEADING}{text}"));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let error = |text| Baseline::parse(text).unwrap_err().to_string();
        assert_eq!(error("\na.B.c() bytecodes=x"), "line 2: bytecodes=x: must be a number");
        assert_eq!(error("a.B.c()"), "line 1: a.B.c() has neither bytecodes=… nor unstable");
        assert!(
            error("a.B.c() unstable\na.B.c() unstable")
                .starts_with("line 2: a.B.c() is there already. If git")
        );
        assert!(error("a.B.c() bytecodes=1 maxx=1%").contains("maxx=1% is not known"));
        assert!(error("rubbish").contains("a test is missing"));
        assert!(error("a.B.c() bytecodes=1 max=1").contains("is not a percentage"));
    }
}
