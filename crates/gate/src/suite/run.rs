//! Runs of tests, as a listener tells of them.
//!
//! A note has tabs between its fields: what [`TestMethod`] has, the class that was run (an inherited test runs in
//! many), the number of the run and what JUnit shows of it (both empty for a test that is run once), then bytecodes,
//! calls and allocation instructions.

use std::collections::{BTreeMap, BTreeSet};

use quipu_profile::Profile;

use super::method::TestMethod;
use super::work::Work;

/// Key of a note.
pub(super) const NOTE: &str = "test";

/// One run of a test's method.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TestRun {
    pub(super) method: TestMethod,
    class: String,
    number: String,
    text: String,
    counts: [u64; 3],
}

impl TestRun {
    fn parse(note: &str) -> Option<TestRun> {
        let method = TestMethod::parse(note)?;
        let mut rest = note.split('\t').skip(4);
        let mut text = || rest.next().map(str::to_owned);
        let (class, number, display) = (text()?, text()?, text()?);
        let mut count = || rest.next()?.parse().ok();
        Some(TestRun { method, class, number, text: display, counts: [count()?, count()?, count()?] })
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
    }
}
