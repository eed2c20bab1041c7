//! `quipu bisect`: the commit that made tests do more work.

mod history;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use clap::Args;
use quipu_gate::suite::{self, Baseline, Entry, Work};
use quipu_gate::{Limit, Share, Verdict};

use crate::exit::{DONE, Failure};
use crate::kinds;
use crate::test::{Counted, Detail, Runner};
use history::{Commit, Repository};

/// Find the commit that made tests do more work, and the place in it.
///
/// Counts do not flake, so the search needs one run of each commit it tries: the command is run in a work tree of its own for
/// each, halving what is left. What is in your own work tree is not touched. Commits in which the command fails before any
/// test was counted are left out.
#[derive(Args, Debug)]
#[command(after_help = "\
Exit status: 0 found, 2 wrong use (a revision that is not there, nothing that grew), 3 it cannot be told.

Examples:
  quipu bisect --good v1.4 --bad HEAD -- mvn -q test
  quipu bisect --good main --bad HEAD --test SortingTest.sortsMany -- mvn -q test -Dtest=SortingTest
  quipu bisect --good HEAD~20 --bad HEAD --on allocations -- gradle test --rerun")]
pub struct Bisect {
    /// A revision in which the tests do less work
    #[arg(long, value_name = "REV")]
    good: String,

    /// A later one in which they do more
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    bad: String,

    /// Only tests whose name contains this [default: all that grew]
    #[arg(long, value_name = "NAME")]
    test: Option<String>,

    /// What to compare
    #[arg(long, value_name = "METRIC", default_value = "bytecodes", value_parser = Work::METRICS)]
    on: String,

    /// Growth of a test that does not count, relative to the good revision
    #[arg(long, value_name = "PERCENT", default_value = "1%")]
    max: Share,

    /// Growth of a test that does not count, in the metric's unit
    #[arg(long, value_name = "N", default_value_t = 100)]
    max_absolute: u64,

    /// Run all tests once in each JVM before they are counted
    #[arg(long)]
    warm: bool,

    /// For programs: one JSON object, the verdict of docs/gate.md with the commit
    #[arg(long)]
    json: bool,

    /// Most memory for a profile while a JVM runs, e.g. 500M or 8G [default: 10% of RAM, at most 4G]
    #[arg(long, value_name = "SIZE", value_parser = kinds::size)]
    arena_limit: Option<u64>,

    /// The command that builds and runs the tests, in the root of a work tree or in the folder that this one is run in
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Bisect {
    /// Searches, and prints what was found.
    pub fn run(self) -> anyhow::Result<u8> {
        let repository = Repository::here()?;
        let [good, bad] = [repository.commit(&self.good)?, repository.commit(&self.bad)?];
        let base = repository.merge_base(&good, &bad)?;
        // What came on the good revision's own branch is not in the bad one, and cannot have made it so.
        let (good, named) = if base.id == good.id {
            (good, self.good.clone())
        } else {
            eprintln!(
                "quipu: {} is not before {}: they part after {base}, which is taken for the good one",
                self.good, self.bad
            );
            let named = format!("{}, where {} and {} part", base.id, self.good, self.bad);
            (base, named)
        };
        let between = repository.between(&good, &bad)?;
        let Some(last) = between.len().checked_sub(1) else {
            return Err(Failure::usage(format!(
                "there is no commit from {} to {}: the good revision must come before the bad one",
                self.good, self.bad
            )));
        };
        let steps = between.len().ilog2() + 2;
        eprintln!("quipu: {} commits, of which about {steps} are to be tried", between.len());
        let mut tried = Tried { bisect: &self, repository: &repository, counted: BTreeMap::new() };
        let Some(before) = tried.count(&good)? else {
            return Err(Failure::usage(format!("no test was counted in the good revision {named}")));
        };
        let baseline = self.baseline(before);
        let Some(after) = tried.count(&bad)? else {
            return Err(Failure::usage(format!(
                "the bad revision {} has no numbers to compare, see above",
                self.bad
            )));
        };
        let grown: BTreeSet<String> =
            self.judge(&baseline, &after.tests).failed().map(|subject| subject.name.clone()).collect();
        if grown.is_empty() {
            return Err(Failure::usage(format!(
                "no test{} does more work in {} than in {}",
                self.test.as_ref().map_or_else(String::new, |name| format!(" called {name}")),
                self.bad,
                named
            )));
        }
        let is_bad = |counted: &Counted| {
            self.judge(&baseline, &counted.tests).failed().any(|subject| grown.contains(&subject.name))
        };
        // Everything below `low` is good, everything from `high` on bad.
        let (mut low, mut high) = (0, last);
        let mut unknown = BTreeSet::new();
        while let Some(at) = nearest_to_middle(low, high, &unknown) {
            match tried.count(&between[at])?.map(&is_bad) {
                Some(true) => high = at,
                Some(false) => low = at + 1,
                None => _ = unknown.insert(at),
            }
        }
        let found = &between[high];
        if low < high {
            let suspects = between[low..=high].iter().map(|commit| format!("\n  {commit}"));
            return Err(Failure::target(format!(
                "it is one of these, of which all but the last could not be built:{}",
                suspects.collect::<String>()
            )));
        }
        let parent = if high == 0 { &good } else { &between[high - 1] };
        let tried_commits = tried.counted.len();
        let (Some(before), Some(after)) = (tried.counted.get(&parent.id), tried.counted.get(&found.id))
        else {
            return Err(Failure::target("the commit before it was not counted"));
        };
        self.report(found, between.len(), tried_commits, before.as_ref(), after.as_ref())
    }

    fn report(
        &self,
        found: &Commit,
        commits: usize,
        tried: usize,
        before: Option<&Counted>,
        after: Option<&Counted>,
    ) -> anyhow::Result<u8> {
        let (Some(before), Some(after)) = (before, after) else {
            return Err(Failure::target("the commit before it was not counted"));
        };
        let mut verdict = self.judge(&self.baseline(before), &after.tests);
        if let Err(error) = suite::explain(&mut verdict, &before.profile, &after.profile) {
            eprintln!("quipu: where the new work is, is not known: {error}");
        }
        if self.json {
            let mut value: serde_json::Value = serde_json::from_str(&quipu_gate::json(&verdict))?;
            value["commit"] = serde_json::json!({
                "id": found.id, "subject": found.subject, "author": found.author, "date": found.date,
            });
            println!("{value:#}");
        } else {
            println!("{found}\nis the first of {commits} commits with more work; {tried} were tried.\n");
            print!("{}", quipu_gate::text(&verdict));
        }
        Ok(DONE)
    }

    /// What a revision does, to hold others against.
    fn baseline(&self, counted: &Counted) -> Baseline {
        let wanted = |name: &str| self.test.as_ref().is_none_or(|part| name.contains(part.as_str()));
        let tests = counted.tests.iter().filter(|(name, _)| wanted(name));
        Baseline {
            tests: tests
                .map(|(name, work)| (name.clone(), Entry { work: Some(*work), limit: None }))
                .collect(),
            ..Baseline::default()
        }
    }

    fn judge(&self, baseline: &Baseline, tests: &BTreeMap<String, Work>) -> Verdict {
        let limit = Limit { relative: Some(self.max), absolute: Some(self.max_absolute) };
        let known: BTreeMap<String, Work> = tests
            .iter()
            .filter(|(name, _)| baseline.tests.contains_key(*name))
            .map(|(name, work)| (name.clone(), *work))
            .collect();
        suite::judge(baseline, &known, &self.on, limit)
    }
}

/// What was counted so far, by commit; nothing where the command fails.
struct Tried<'a> {
    bisect: &'a Bisect,
    repository: &'a Repository,
    counted: BTreeMap<String, Option<Counted>>,
}

impl Tried<'_> {
    fn count(&mut self, commit: &Commit) -> anyhow::Result<Option<&Counted>> {
        if !self.counted.contains_key(&commit.id) {
            eprintln!("quipu: trying {commit}");
            let tree = self.repository.check_out(commit)?;
            let runner = Runner {
                command: &self.bisect.command,
                arena_limit: self.bisect.arena_limit,
                warm: self.bisect.warm,
                quiet: true,
            };
            let counted = tree.inside(|| runner.count(Detail::Lines, None))?;
            if let Ok(Counted { incomplete: Some(sentence), .. }) = &counted {
                return Err(Failure::target(sentence));
            }
            let counted = counted.map_err(|_| "no test was counted".to_owned()).and_then(|counted| {
                let first = self.counted.values().flatten().next();
                match first.and_then(|first| counted.differs_from(first)) {
                    None => Ok(counted),
                    Some(sentence) => Err(sentence),
                }
            });
            if let Err(why) = &counted {
                eprintln!("quipu: {} is left out: {why}", commit.id);
            }
            self.counted.insert(commit.id.clone(), counted.ok());
        }
        Ok(self.counted.get(&commit.id).and_then(Option::as_ref))
    }
}

/// The commit to try next: as near to the middle as there is one that can be built; none if there is none left.
fn nearest_to_middle(low: usize, high: usize, unknown: &BTreeSet<usize>) -> Option<usize> {
    let middle = usize::midpoint(low, high);
    (low..high).filter(|at| !unknown.contains(at)).min_by_key(|at| at.abs_diff(middle))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where commits from `first_bad` on are bad and some cannot be built.
    fn search(commits: usize, first_bad: usize, broken: &[usize]) -> (usize, usize, usize) {
        let (mut low, mut high, mut tries) = (0, commits - 1, 0);
        let mut unknown = BTreeSet::new();
        while let Some(at) = nearest_to_middle(low, high, &unknown) {
            tries += 1;
            match () {
                () if broken.contains(&at) => _ = unknown.insert(at),
                () if at >= first_bad => high = at,
                () => low = at + 1,
            }
        }
        (low, high, tries)
    }

    #[test]
    fn every_commit_is_found_in_few_steps() {
        for commits in 1..40 {
            for first_bad in 0..commits {
                let (low, high, tries) = search(commits, first_bad, &[]);
                assert_eq!((low, high), (first_bad, first_bad), "of {commits}");
                assert!(tries <= commits.ilog2() as usize + 1, "{tries} of {commits}");
            }
        }
    }

    #[test]
    fn commits_that_cannot_be_built_leave_a_range_at_most() {
        assert_eq!(search(9, 5, &[4]).1, 5);
        assert_eq!(search(9, 5, &[2, 7]).0, 5);
        let (low, high, _) = search(9, 5, &[3, 4]);
        assert_eq!((low, high), (3, 5), "one of them");
    }
}
