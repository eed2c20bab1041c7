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
        let mut baseline = Baseline::default();
        for (at, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(jvm) = line.strip_prefix("jvm:") {
                baseline.jvm = jvm.trim().to_owned();
                continue;
            }
            let (name, entry) = entry(line).map_err(|why| Malformed { line: at, why })?;
            if baseline.tests.insert(name.clone(), entry).is_some() {
                return Err(Malformed { line: at, why: format!("{name} is there already") });
            }
        }
        Ok(baseline)
    }

    /// The text; the same for the same numbers.
    pub fn to_text(&self) -> String {
        let mut out = format!("{HEADING}jvm: {}\n", self.jvm);
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
    fn a_wrong_line_is_named() {
        let error = |text| Baseline::parse(text).unwrap_err().to_string();
        assert_eq!(error("\na.B.c() bytecodes=x"), "line 2: bytecodes=x: must be a number");
        assert_eq!(error("a.B.c()"), "line 1: a.B.c() has neither bytecodes=… nor unstable");
        assert_eq!(error("a.B.c() unstable\na.B.c() unstable"), "line 2: a.B.c() is there already");
        assert!(error("a.B.c() bytecodes=1 maxx=1%").contains("maxx=1% is not known"));
        assert!(error("rubbish").contains("a test is missing"));
        assert!(error("a.B.c() bytecodes=1 max=1").contains("is not a percentage"));
    }
}
