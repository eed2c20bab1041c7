//! New numbers against the baseline.

use std::collections::{BTreeMap, BTreeSet};

use quipu_profile::Profile;

use super::baseline::{Baseline, Entry};
use super::order::{natural, renumbered};
use super::run::{trees, works};
use super::work::Work;
use crate::{GateError, Limit, Outcome, Question, Subject, SubjectKind, Verdict, gate};

/// Judges every test in one metric. What is not in the baseline, or not run any more, is told and does not fail.
///
/// A test that is run more or less often than before was given more or less to do: its work is compared by the run.
pub fn judge(baseline: &Baseline, new: &BTreeMap<String, Work>, metric: &str, limit: Limit) -> Verdict {
    let mut subjects = Vec::new();
    let renumbered = renumbered(baseline, new);
    let replaced: BTreeSet<&str> = renumbered.values().copied().collect();
    let old = baseline.tests.keys().filter(|name| !replaced.contains(name.as_str()));
    let mut names: Vec<&String> = old.chain(new.keys()).collect();
    names.sort_by(|a, b| natural(a, b));
    names.dedup();
    for name in names {
        let was = renumbered.get(name.as_str()).copied().unwrap_or(name);
        let entry = baseline.tests.get(was);
        let before = entry.and_then(|entry| entry.work);
        let after = new.get(name).copied();
        let values = [before, after].map(|work| work.and_then(|work| work.get(metric)).unwrap_or_default());
        let mut note = None;
        let outcome = match (entry, before, after) {
            (None, _, _) => Outcome::New,
            (Some(_), _, None) => Outcome::Gone,
            (Some(_), None, Some(_)) => Outcome::Unstable,
            (Some(entry), Some(before), Some(after)) => {
                if before.runs != after.runs {
                    note = Some(format!("runs {} times, not {}", after.runs, before.runs));
                }
                let (was, is) = (scaled(values[0], before.runs, after.runs), values[1]);
                match () {
                    () if was == is => Outcome::Same,
                    () if is < was => Outcome::Improved,
                    () if entry.limit.unwrap_or(limit).exceeded(was, is) => Outcome::Failed,
                    () => Outcome::Grew,
                }
            }
        };
        let [before, after] = values;
        subjects.push(Subject { kind: SubjectKind::Test, name: name.clone(), before, after, outcome, note });
    }
    Verdict {
        metric: metric.to_owned(),
        sampled: false,
        limit,
        subjects,
        culprits: Vec::new(),
        improvements: Vec::new(),
        renamed: Vec::new(),
        moved: Vec::new(),
        beyond_budget: Vec::new(),
    }
}

/// What `value` would be if it had come of so many runs as there are now.
fn scaled(value: u64, runs: u64, now: u64) -> u64 {
    let scaled = (u128::from(value) * u128::from(now)).div_ceil(u128::from(runs.max(1)));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Options that decide which lines can be told, not what is counted.
const OF_DETAIL: [&str; 3] = ["sites", "blocks", "allocations"];

/// Why the contexts of a baseline cannot explain those of a run, one sentence each. How closely was looked at either is no
/// reason: a place without its line is better than none.
pub fn differences(baseline: &Profile, new: &Profile) -> Vec<String> {
    crate::comparable::differences_but(baseline, new, &OF_DETAIL)
}

/// Finds the places where the new work of failed tests is, in the contexts of both runs. Tests of which the baseline's contexts
/// are not those of its number are left out, and get a note; their names.
pub fn explain(
    verdict: &mut Verdict,
    baseline: &Profile,
    new: &Profile,
) -> Result<BTreeSet<String>, GateError> {
    let stale = note_stale(verdict, baseline);
    let trees = trees(new);
    let explained = |subject: &Subject| subject.outcome == Outcome::Failed && !stale.contains(&subject.name);
    let failed: BTreeSet<String> = verdict
        .subjects
        .iter()
        .filter(|subject| explained(subject))
        .filter_map(|subject| trees.get(&subject.name).cloned())
        .collect();
    if failed.is_empty() {
        return Ok(stale);
    }
    // Of failed tests' methods only: then both profiles have threads of the same names.
    let select = |profile: &Profile| profile.select_threads(|p, thread| failed.contains(p.str(thread.name)));
    let question = Question {
        metric: Some(verdict.metric.clone()),
        limit: Limit::default(),
        thread: None,
        methods: Vec::new(),
        is_application: &|_| true,
    };
    let found = gate(&select(baseline), &select(new), &question)?;
    verdict.culprits = found.culprits;
    verdict.renamed = found.renamed;
    verdict.moved = found.moved;
    for subject in verdict.subjects.iter_mut().filter(|subject| explained(subject)) {
        let Some(tree) = trees.get(&subject.name) else { continue };
        let of_tree = |profile: &Profile| profile.select_thread(tree);
        if gate(&of_tree(baseline), &of_tree(new), &question)?.culprits.is_empty() {
            subject.note = Some(of_several(new, tree));
        }
    }
    // A path begins with the test's method; naming the test before it would be saying it twice.
    verdict.culprits.iter_mut().for_each(|culprit| culprit.thread.clear());
    Ok(stale)
}

/// The failed tests of which the baseline's contexts are not those of its number: where a line of the text came from another
/// branch, or was written by hand.
fn note_stale(verdict: &mut Verdict, baseline: &Profile) -> BTreeSet<String> {
    let works = works(baseline);
    let entries = works.iter().map(|(name, work)| (name.clone(), Entry { work: Some(*work), limit: None }));
    let was = Baseline { tests: entries.collect(), ..Baseline::default() };
    let failed: BTreeMap<String, Work> =
        verdict.failed().map(|subject| (subject.name.clone(), Work::default())).collect();
    let renumbered = renumbered(&was, &failed);
    let metric = verdict.metric.clone();
    let mut stale = BTreeSet::new();
    for subject in verdict.subjects.iter_mut().filter(|subject| subject.outcome == Outcome::Failed) {
        let name = renumbered.get(subject.name.as_str()).copied().unwrap_or(&subject.name);
        if works.get(name).and_then(|work| work.get(&metric)) != Some(subject.before) {
            let note =
                "where is not known, since the baseline's contexts are not of the run that its number is of";
            subject.note.get_or_insert_with(|| note.to_owned());
            stale.insert(subject.name.clone());
        }
    }
    stale
}

/// Where the work of a test is that has its contexts in one tree with others, which do that much less.
fn of_several(profile: &Profile, tree: &str) -> String {
    let mut threads = profile.threads().iter();
    let root = threads.find(|thread| profile.str(thread.name) == tree).map(|thread| thread.root);
    let first =
        root.and_then(|root| profile.tree().subtree(root).find_map(|node| profile.tree().method(node)));
    let place = first.map_or_else(
        || tree.to_owned(),
        |id| {
            let method = profile.method(id);
            let line = method.lines.first().map_or(0, |line| line.line);
            format!("{} ({}:{line})", profile.method_name(id), profile.str(method.source))
        },
    );
    format!("below {place}, where other runs of the same method do less: their contexts are counted together")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(runs: u64, bytecodes: u64) -> Work {
        Work { runs, bytecodes, calls: runs, allocations: None }
    }

    fn outcome(entry: Option<Entry>, after: Option<Work>) -> Outcome {
        let mut baseline = Baseline::default();
        baseline.tests.extend(entry.map(|entry| ("t()".to_owned(), entry)));
        let new = after.map(|work| ("t()".to_owned(), work)).into_iter().collect();
        judge(&baseline, &new, "bytecodes", Limit::DEFAULT).subjects[0].outcome
    }

    #[test]
    fn tests_are_judged_one_by_one() {
        let entry = |work| Some(Entry { work: Some(work), limit: None });
        assert_eq!(outcome(entry(work(1, 1000)), Some(work(1, 1000))), Outcome::Same);
        assert_eq!(outcome(entry(work(1, 1000)), Some(work(1, 1005))), Outcome::Grew);
        assert_eq!(outcome(entry(work(1, 1000)), Some(work(1, 1006))), Outcome::Failed);
        assert_eq!(outcome(entry(work(1, 1000)), Some(work(1, 999))), Outcome::Improved);
        assert_eq!(outcome(entry(work(3, 3000)), Some(work(4, 4000))), Outcome::Same);
        assert_eq!(outcome(entry(work(3, 3000)), Some(work(2, 2200))), Outcome::Failed);
        assert_eq!(outcome(None, Some(work(1, 1000))), Outcome::New);
        assert_eq!(outcome(entry(work(1, 1000)), None), Outcome::Gone);
        assert_eq!(outcome(Some(Entry::default()), Some(work(1, 1000))), Outcome::Unstable);
    }

    #[test]
    fn a_limit_in_the_baseline_is_the_one_that_counts() {
        let limit = Some(Limit { relative: Some("10%".parse().unwrap()), absolute: None });
        let entry = |limit| Some(Entry { work: Some(work(1, 1000)), limit });
        assert_eq!(outcome(entry(limit), Some(work(1, 1100))), Outcome::Grew);
        assert_eq!(outcome(entry(limit), Some(work(1, 1101))), Outcome::Failed);
    }
}
