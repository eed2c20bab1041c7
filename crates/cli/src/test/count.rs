//! Runs the command of a suite, and counts what its tests do.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use quipu_gate::suite::{self, Work};
use quipu_profile::{Profile, loses_counts, lost_in_words};

use crate::collect;
use crate::deterministic;
use crate::exit::{DONE, Failure, TARGET};
use crate::kinds;
use crate::launch::{self, Reach, RunDirectory};

/// What a run of the command has shown.
pub(crate) struct Counted {
    /// A tree for each test.
    pub profile: Profile,
    pub tests: BTreeMap<String, Work>,
    /// How many tests ran at a time, unless it was one after the other.
    pub at_a_time: Option<String>,
    /// The command's own.
    pub status: u8,
    /// Why the numbers are not all there, if they are not.
    pub incomplete: Option<String>,
}

impl Counted {
    /// Whether nothing failed and nothing is missing.
    pub fn is_whole(&self) -> bool {
        self.status == DONE && self.incomplete.is_none()
    }

    /// Why its numbers cannot be held against those of another run.
    pub fn differs_from(&self, other: &Counted) -> Option<String> {
        let [jvm, before] = [self, other].map(|counted| {
            let jvm = &counted.profile.meta.jvm;
            format!("{} {}", jvm.name, jvm.version)
        });
        if jvm != before {
            return Some(format!("its tests ran on {jvm}, and others on {before}"));
        }
        let differ = way(self.at_a_time.as_ref()) != way(other.at_a_time.as_ref());
        differ.then(|| {
            let [now, then] = [self, other].map(|counted| in_words(counted.at_a_time.as_ref()));
            format!("its tests ran {now}, and others {then}")
        })
    }
}

/// How closely to look.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// As much as the numbers need.
    Numbers,
    /// Also which line it is.
    Lines,
}

/// How tests are run.
pub(crate) struct Runner<'a> {
    pub command: &'a [OsString],
    pub arena_limit: Option<u64>,
    /// All tests run once before they are counted.
    pub warm: bool,
    /// What the command prints goes to standard error.
    pub quiet: bool,
}

impl Runner<'_> {
    /// Runs the command once; the status to end with if no test was counted, which is said. Of all tests, or of those that are
    /// named as [`suite::selectors`] does. An error if somebody tells it to end: what was counted until then is no suite.
    pub fn count(
        &self,
        detail: Detail,
        only: Option<&BTreeSet<String>>,
    ) -> anyhow::Result<Result<Counted, u8>> {
        let directory = RunDirectory::new()?;
        let chosen = kinds::for_tests(self.arena_limit, detail == Detail::Lines)?;
        let mut flags = launch::waiting_flags(&chosen, &directory, &deterministic::flags_for_tests())?;
        if self.warm {
            flags.push("-Dquipu.warm=true".into());
        }
        if let Some(only) = only {
            let file = directory.0.join("only.txt");
            fs::write(&file, only.iter().map(|test| format!("{test}\n")).collect::<String>())?;
            flags.push(format!("-Dquipu.only={}", file.display()).into());
        }
        let ended = launch::run(self.command, &flags, Reach::All { quiet: self.quiet }, &directory)?;
        if ended.told {
            return Err(Failure::target("told to end"));
        }
        let status = ended.status;
        let mut all = collect::all_in(&directory.0)?;
        let root = std::env::current_dir().unwrap_or_default().to_string_lossy().into_owned();
        all.iter_mut().for_each(|profile| suite::relative_to(profile, &root));
        let at_a_time = at_a_time(&all);
        if let Some(how) = at_a_time.as_ref().filter(|_| detail == Detail::Numbers && only.is_none()) {
            eprintln!(
                "quipu: tests ran {how}: each is counted on its own, but what they do to each other, and which of them fills \
                 a cache, is not the same each time. Let them run one after the other"
            );
        }
        let profiles = all.iter().map(suite::of_tests);
        let with_tests: Vec<Profile> = profiles.filter(|profile| !profile.threads().is_empty()).collect();
        if !status.success() {
            let program = self.command.first().map(|program| Path::new(program).display().to_string());
            let (name, status) = (program.unwrap_or_default(), launch::exit_status(status));
            if with_tests.is_empty() {
                eprintln!("quipu: {name} ended with status {status}: nothing is compared");
                return Ok(Err(status));
            }
            eprintln!(
                "quipu: {name} ended with status {status}; the tests that ran are compared, those that failed, too"
            );
        }
        let mut notes: Vec<_> = with_tests.iter().flat_map(|profile| profile.meta.extra.clone()).collect();
        notes.sort();
        let Some(mut profile) = collect::merge(with_tests)? else {
            eprintln!(
                "quipu: no test was counted: no JVM ran tests with the JUnit Platform (JUnit 5 or newer, or JUnit 4 through \
                 its vintage engine). Gradle runs no tests that are up to date, and gives a daemon's workers another \
                 environment: add --rerun, and leave --daemon out"
            );
            return Ok(Err(TARGET));
        };
        profile.meta.extra = notes;
        collect::tell_options(&mut profile, &chosen);
        for (cause, n) in &profile.meta.lost {
            eprintln!("quipu: not counted: {}", lost_in_words(cause, *n));
        }
        let incomplete = incomplete(&profile);
        let tests = suite::works(&profile);
        let status = if status.success() { DONE } else { launch::exit_status(status) };
        Ok(Ok(Counted { profile, tests, at_a_time, status, incomplete }))
    }
}

/// How tests ran. How many threads a pool has had is chance; on threads or in JVMs is not.
pub(super) fn way(at_a_time: Option<&String>) -> Option<&str> {
    at_a_time.and_then(|how| how.split(' ').next())
}

/// The same for people.
pub(super) fn in_words(at_a_time: Option<&String>) -> &str {
    at_a_time.map_or("one after the other", String::as_str)
}

/// Why some of a test's work may not be in its numbers.
fn incomplete(profile: &Profile) -> Option<String> {
    let lost = profile.meta.lost.iter().find(|(cause, _)| loses_counts(cause));
    lost.map(|(cause, &n)| {
        let more = if cause == "contexts.refused" { "; give it more with --arena-limit" } else { "" };
        format!("the numbers of tests are without {}{more}", lost_in_words(cause, n))
    })
}

/// `in 2 JVMs at a time`, `on 4 threads at a time`; none if tests ran one after the other. Tests at the same time are counted
/// apart, but can disturb each other.
fn at_a_time(all: &[Profile]) -> Option<String> {
    let with_tests: Vec<&Profile> = all.iter().filter(|profile| suite::at_once(profile) > 0).collect();
    let most = with_tests.iter().map(|profile| suite::at_once(profile)).max().unwrap_or(0);
    if most > 1 {
        return Some(format!("on {most} threads"));
    }
    let spans: Vec<(u64, u64)> = with_tests
        .iter()
        .filter_map(|profile| Some((profile.run.started?, profile.run.started? + profile.run.duration?)))
        .collect();
    let others = |at: u64| spans.iter().filter(|(began, ended)| *began <= at && at < *ended).count();
    let jvms = spans.iter().map(|(began, _)| others(*began)).max().unwrap_or(0);
    (jvms > 1).then(|| format!("in {jvms} JVMs at a time"))
}

#[cfg(test)]
mod tests {
    use quipu_profile::Builder;

    use super::*;

    #[test]
    fn runs_on_other_jvms_or_at_the_same_time_are_not_compared() {
        let counted = |jvm: &str, at_a_time: Option<&str>| {
            let mut profile = Builder::with_capacity(0).finish();
            jvm.clone_into(&mut profile.meta.jvm.version);
            let at_a_time = at_a_time.map(str::to_owned);
            Counted { profile, tests: BTreeMap::new(), at_a_time, status: DONE, incomplete: None }
        };
        let one = counted("17", None);
        assert_eq!(one.differs_from(&counted("17", None)), None);
        assert!(
            one.differs_from(&counted("21", None))
                .is_some_and(|why| why.contains(" 17") && why.contains(" 21"))
        );
        let [four, five] = ["on 4 threads", "on 5 threads"].map(|how| counted("17", Some(how)));
        assert_eq!(four.differs_from(&five), None);
        let why = four.differs_from(&one).unwrap();
        assert_eq!(why, "its tests ran on 4 threads, and others one after the other");
    }
}
