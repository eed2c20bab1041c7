//! Tests that do more work only because other tests run before them than when the baseline was made, or no longer do.
//!
//! Only looked for when other tests ran than the baseline has: JUnit's order is always the same, so among the same tests it is
//! the program that does more.

use std::collections::{BTreeMap, BTreeSet};

use quipu_gate::suite::{self, Work};
use quipu_gate::{Outcome, Subject, Verdict};

use super::count::{Counted, Detail, Runner};

/// Most tests that are run each by itself, which takes a run of the command for each.
pub(super) const MOST_ALONE: usize = 10;

/// Whether other tests ran than are in the baseline.
fn others_ran(verdict: &Verdict) -> bool {
    verdict.subjects.iter().any(|subject| matches!(subject.outcome, Outcome::New | Outcome::Gone))
}

/// Whether there is a test that may have done before what a test does now: it did not run, or does less.
fn may_have_moved(verdict: &Verdict) -> bool {
    verdict.subjects.iter().any(|subject| matches!(subject.outcome, Outcome::Gone | Outcome::Improved))
}

/// Of the tests that do more work, those that do it because of others, with a sentence for each. `judge` holds numbers
/// against the baseline.
pub(super) fn because_of_others(
    runner: &Runner<'_>,
    among_others: &Counted,
    verdict: &Verdict,
    judge: impl Fn(&BTreeMap<String, Work>) -> Verdict,
) -> anyhow::Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    if !others_ran(verdict) {
        return Ok(found);
    }
    let selectors = suite::selectors(&among_others.profile);
    let failed: Vec<&str> = verdict.failed().map(|subject| subject.name.as_str()).take(MOST_ALONE).collect();
    if failed.is_empty() {
        return Ok(found);
    }
    eprintln!(
        "quipu: other tests ran than the baseline has; running those that do more each by itself, to see why"
    );
    // One that breaks without the others does less because of that, and one that does far less than the baseline says would
    // hide growth.
    let holds = |counted: &Counted, test: &str| {
        let held = |subject: &Subject| {
            subject.outcome != Outcome::Failed && !verdict.limit.exceeded(subject.after, subject.before)
        };
        counted.is_whole()
            && counted.tests.contains_key(test)
            && judge(&counted.tests).subjects.iter().any(|subject| subject.name == test && held(subject))
    };
    let mut add = |counted: &Counted, test: &str, when: &str, why: &str| {
        if !holds(counted, test) {
            return false;
        }
        let place = suite::parting(&among_others.profile, &counted.profile, test);
        let place = place.map_or_else(String::new, |place| {
            let ([now, then], metric) = (place.values, place.metric);
            format!(", in {}: {now} {metric} among the others, {then} then", place.path.join(" > "))
        });
        found.insert(test.to_owned(), format!("{when} it does what the baseline says. {why}{place}"));
        true
    };
    for test in failed {
        let only: BTreeSet<String> = selectors.get(test).cloned().into_iter().collect();
        if only.is_empty() {
            continue;
        }
        let alone = count(runner, &only, false)?;
        if alone.is_some_and(|alone| {
            add(&alone, test, "without the other tests", "It meets what they leave behind")
        }) || !may_have_moved(verdict)
        {
            continue;
        }
        if let Some(again) = count(runner, &only, true)? {
            let why = "It is now the first to use something that is kept, which a test before it did";
            add(&again, test, "when it is run a second time", why);
        }
    }
    Ok(found)
}

/// A run of these tests alone; none if the command does not bear that.
fn count(runner: &Runner<'_>, only: &BTreeSet<String>, warm: bool) -> anyhow::Result<Option<Counted>> {
    let runner = Runner { warm: warm || runner.warm, ..*runner };
    Ok(runner.count(Detail::Numbers, Some(only))?.ok())
}
