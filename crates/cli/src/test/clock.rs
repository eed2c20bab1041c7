//! Tests that do more work than they did, and ask for the time: two runs of the same program can both be unlucky.

use std::collections::{BTreeMap, BTreeSet};

use quipu_gate::{Verdict, suite};

use super::count::{Counted, Detail, Runner};
use super::unstable;

/// Runs more that a test must do the same in before its work is taken for its own doing.
const MORE: usize = 3;

/// Of the tests that do more work and ask for the time, those that do other work in some further run, with a sentence for each.
pub(super) fn chances(
    runner: &Runner<'_>,
    first: &Counted,
    verdict: &Verdict,
    known: &BTreeMap<String, String>,
) -> anyhow::Result<BTreeMap<String, String>> {
    let failed = verdict.failed().map(|subject| subject.name.as_str());
    let mut doubted: BTreeSet<&str> = failed
        .filter(|&test| !known.contains_key(test) && suite::reads_clock(&first.profile, test))
        .collect();
    let mut found = BTreeMap::new();
    for _ in 0..MORE {
        if doubted.is_empty() {
            break;
        }
        match doubted.len() {
            1 => eprintln!("quipu: it asks for the time; running again, to tell its work from chance"),
            n => eprintln!(
                "quipu: {n} of them ask for the time; running again, to tell their work from chance"
            ),
        }
        let Ok(again) = runner.count(Detail::Numbers, None)? else { break };
        if again.incomplete.is_some() {
            break;
        }
        for (test, sentence) in unstable::partings(first, &again) {
            if doubted.remove(test.as_str()) {
                found.insert(test, format!("{sentence}; it asks for the time"));
            }
        }
    }
    Ok(found)
}
