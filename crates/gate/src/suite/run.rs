//! Runs of tests, as a listener tells of them.
//!
//! A note has tabs between its fields: what [`TestMethod`] has, the class that was run (an inherited test runs in
//! many), the number of the run and what JUnit shows of it (both empty for a test that is run once), then bytecodes,
//! calls and allocation instructions, threads that were started meanwhile, and the directory that the JVM ran in.

use std::collections::{BTreeMap, BTreeSet};

use quipu_profile::Profile;

use super::method::TestMethod;
use super::work::Work;
use crate::number::grouped;

/// Key of a note.
pub(super) const NOTE: &str = "test";
/// Key of a note with the most that a test may do, in place of what it did.
pub(super) const BUDGET: &str = "budget";

/// Key of a note with the most tests that have run at the same time so far; there is none before the second does.
const AT_ONCE: &str = "tests at once";

/// One run of a test's method.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TestRun {
    pub(super) method: TestMethod,
    class: String,
    number: String,
    text: String,
    counts: [u64; 3],
    threads: u64,
}

impl TestRun {
    fn parse(note: &str) -> Option<TestRun> {
        let mut method = TestMethod::parse(note)?;
        let mut rest = note.split('\t').skip(4);
        let mut text = || rest.next().map(str::to_owned);
        let (class, number, display) = (text()?, text()?, text()?);
        let mut count = || rest.next()?.parse().ok();
        let counts = [count()?, count()?, count()?];
        // Of older agents.
        let mut last: Vec<&str> = rest.collect();
        method.module = last.pop().unwrap_or_default().to_owned();
        let threads = last.pop().and_then(|threads| threads.parse().ok()).unwrap_or(0);
        Some(TestRun { method, class, number, text: display, counts, threads })
    }

    /// `com.acme.OrderTest.adds(int)[2: 17]`.
    fn title(&self, full: bool) -> String {
        let method = self.method.title_in(&self.class, full);
        match (self.number.as_str(), self.text.as_str()) {
            ("", _) => method,
            (number, "") => format!("{method}[{number}]"),
            (number, text) => format!("{method}[{number}: {text}]"),
        }
    }

    /// What tells it from other runs.
    fn key(&self) -> (&TestMethod, &str, &str) {
        (&self.method, &self.class, &self.number)
    }

    fn work(&self) -> Work {
        let [bytecodes, calls, allocations] = self.counts;
        Work { runs: 1, bytecodes, calls, allocations: Some(allocations) }
    }
}

/// All runs that a profile tells of.
pub(super) fn runs(profile: &Profile) -> Vec<TestRun> {
    let notes = profile.meta.extra.iter().filter(|(key, _)| key == NOTE);
    let mut runs: Vec<TestRun> = notes.filter_map(|(_, note)| TestRun::parse(note)).collect();
    runs.sort();
    runs
}

/// The most tests of a JVM that ran at the same time.
pub fn at_once(profile: &Profile) -> u64 {
    let told = profile.meta.extra.iter().filter(|(key, _)| key == AT_ONCE);
    let most = told.filter_map(|(_, most)| most.parse().ok()).max();
    most.unwrap_or(u64::from(!runs(profile).is_empty()))
}

/// Makes the directories in notes relative to one: where a test is, is part of its name unless it is there.
pub fn relative_to(profile: &mut Profile, root: &str) {
    for (_, note) in profile.meta.extra.iter_mut().filter(|(key, _)| key == NOTE || key == BUDGET) {
        if let Some((rest, directory)) = note.rsplit_once('\t') {
            let inside =
                directory.strip_prefix(root).filter(|inside| inside.is_empty() || inside.starts_with('/'));
            let module = inside.map_or(directory, |inside| inside.trim_start_matches('/'));
            *note = format!("{rest}\t{module}");
        }
    }
}

/// Tests that started threads, whose work is not theirs, and how many.
pub fn threads_started(profile: &Profile) -> BTreeMap<String, u64> {
    let runs = runs(profile);
    let titled = runs.iter().zip(titles(&runs)).filter(|(run, _)| run.threads > 0);
    titled.map(|(run, title)| (title, run.threads)).collect()
}

/// What each run is called. Types of parameters have short names where that tells methods apart.
fn titles(runs: &[TestRun]) -> Vec<String> {
    let mut methods: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for run in runs {
        methods.entry(run.title(false)).or_default().insert(&run.method.descriptor);
    }
    let ambiguous = |title: &str| methods.get(title).is_some_and(|descriptors| descriptors.len() > 1);
    runs.iter().map(|run| (run, run.title(false))).map(|(run, title)| run.title(ambiguous(&title))).collect()
}

/// The work of every test of a profile. What ran more than once under the same name is added up.
pub fn works(profile: &Profile) -> BTreeMap<String, Work> {
    let runs = runs(profile);
    let mut works: BTreeMap<String, Work> = BTreeMap::new();
    for (run, title) in runs.iter().zip(titles(&runs)) {
        works.entry(title).and_modify(|work| *work = work.plus(&run.work())).or_insert_with(|| run.work());
    }
    works
}

/// Sentences about tests that did more than their budget, as far as their framework does not see to that itself.
pub fn beyond_budget(profile: &Profile) -> Vec<String> {
    let (runs, works) = (runs(profile), works(profile));
    let titles: BTreeMap<_, _> =
        runs.iter().zip(titles(&runs)).map(|(run, title)| (run.key(), title)).collect();
    let notes = profile.meta.extra.iter().filter(|(key, _)| key == BUDGET);
    let budgets = notes.filter_map(|(_, note)| {
        // The directory, and nothing about threads.
        let (rest, directory) = note.rsplit_once('\t')?;
        TestRun::parse(&format!("{rest}\t0\t{directory}"))
    });
    let mut sentences = Vec::new();
    for budget in budgets {
        let Some((title, work)) =
            titles.get(&budget.key()).and_then(|title| Some((title, works.get(title)?)))
        else {
            continue;
        };
        for (metric, most) in Work::METRICS.into_iter().zip(budget.counts) {
            let done = work.get(metric).unwrap_or(0) / work.runs.max(1);
            if done > most {
                let (done, most) = (grouped(done), grouped(most));
                sentences.push(format!("{title} did {done} {metric}; its budget is {most}"));
            }
        }
    }
    sentences.sort();
    sentences.dedup();
    sentences
}

/// By test, `class#method` of what is to be run to have it run.
pub fn selectors(profile: &Profile) -> BTreeMap<String, String> {
    let runs = runs(profile);
    let selector = |run: &TestRun| format!("{}#{}", run.class, run.method.name);
    runs.iter().zip(titles(&runs)).map(|(run, title)| (title, selector(run))).collect()
}

/// By test, the tree that has its contexts, together with those of other runs of the same method.
pub fn trees(profile: &Profile) -> BTreeMap<String, String> {
    let runs = runs(profile);
    let methods = super::tests::methods(&runs);
    let tree = |run: &TestRun| methods.get(&run.method).cloned();
    runs.iter().zip(titles(&runs)).filter_map(|(run, title)| Some((title, tree(run)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_the_name_of_their_class_and_what_was_given_to_them() {
        let title = |rest: &str| {
            let note = format!("method\ta.Base\tadds\t(I)V\t{rest}\t1\t2\t3");
            TestRun::parse(&note).map(|run| run.title(false)).unwrap_or_default()
        };
        assert_eq!(title("a.ListTest\t\t"), "a.ListTest.adds(int)");
        assert_eq!(title("a.ListTest\t2\t"), "a.ListTest.adds(int)[2]");
        assert_eq!(title("a.ListTest\t2.1\tx = [1]"), "a.ListTest.adds(int)[2.1: x = [1]]");
        assert_eq!(title("a.ListTest"), "", "damaged");
        let note = "method\ta.Base\tadds\t(I)V\ta.ListTest\t\t\t1\t2\t3\t4\tparts/one";
        let run = TestRun::parse(note).unwrap();
        assert_eq!((run.title(false).as_str(), run.threads), ("parts/one/a.ListTest.adds(int)", 4));
    }
}
