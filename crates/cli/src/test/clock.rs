//! Tests that do more work than they did, and ask for the time or start threads: two runs of the same program can both be
//! unlucky.

use std::collections::BTreeMap;

use quipu_gate::{Verdict, suite};

use super::count::{Counted, Detail, Runner};
use super::unstable;

/// Runs more that a test must do the same in before its work is taken for its own doing.
const MORE: usize = 3;

/// Of the tests that do more work and depend on chance, those that do other work in some further run, with a sentence for each.
pub(super) fn chances(
    runner: &Runner<'_>,
    first: &Counted,
    verdict: &Verdict,
    known: &BTreeMap<String, String>,
) -> anyhow::Result<BTreeMap<String, String>> {
    let started = suite::threads_started(&first.profile);
    let why = |test: &str| match () {
        () if suite::reads_clock(&first.profile, test) => Some("it asks for the time"),
        // How far they are when it looks is chance.
        () if started.contains_key(test) => Some("it starts threads"),
        () => None,
    };
    let failed = verdict.failed().map(|subject| subject.name.as_str());
    let mut doubted: BTreeMap<&str, &str> = failed
        .filter(|&test| !known.contains_key(test))
        .filter_map(|test| Some((test, why(test)?)))
        .collect();
    let mut found = BTreeMap::new();
    for _ in 0..MORE {
        if doubted.is_empty() {
            break;
        }
        match (doubted.len(), doubted.values().next()) {
            (1, Some(why)) => eprintln!("quipu: {why}; running again, to tell its work from chance"),
            (n, _) => eprintln!(
                "quipu: {n} of them ask for the time or start threads; running again, to tell their work from chance"
            ),
        }
        let Ok(again) = runner.count(Detail::Numbers, None)? else { break };
        if again.incomplete.is_some() {
            break;
        }
        for (test, sentence) in unstable::partings(first, &again) {
            if let Some(why) = doubted.remove(test.as_str()) {
                found.insert(test, format!("{sentence}; {why}"));
            }
        }
    }
    Ok(found)
}
