//! `quipu test`: how much work each test of a suite does, held against a baseline.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use quipu_gate::suite::{self, Baseline, Entry, Work};
use quipu_gate::{Limit, Outcome, Share, Verdict};
use quipu_profile::Profile;

use crate::collect;
use crate::deterministic;
use crate::exit::{DONE, Failure, GATE};
use crate::files;
use crate::kinds;
use crate::launch::{self, Reach, RunDirectory};

/// Count the work of each JUnit test, and fail when one does more than it did.
///
/// Runs the command (mvn, gradle, or any that starts JUnit) and counts, in every JVM that runs tests, the bytecodes,
/// calls and allocation instructions of each test: without what JUnit, constructors and set-up methods do, and
/// without class loading and initialisation. The numbers are the same every run. They are held against a baseline, a
/// text file with one line for each test that belongs into the repository.
///
/// When tests do more work, and with --update, the command is run a second time. A test whose two runs differ is not
/// deterministic: it is named with the place where they part, and left out.
#[derive(Args, Debug)]
#[command(after_help = "\
Exit status: 0 held, 1 a test does more work, 2 the numbers cannot be compared (or wrong use), 3 no test was counted.
When the command itself fails, its own status.

Examples:
  quipu test --update -- mvn test                    make the baseline, or accept the new numbers
  quipu test -- mvn test                             hold the tests against it
  quipu test --max 1% --max-absolute 500 -- gradle test --rerun
  quipu test --markdown -- mvn -q test >> \"$GITHUB_STEP_SUMMARY\"

In the baseline a test may have limits of its own: write max=2% or max-absolute=1000 behind its numbers.")]
pub struct Test {
    /// The baseline; contexts are kept beside it, in a file that ends with .quipu
    #[arg(long, value_name = "FILE", default_value = "quipu-tests.txt")]
    baseline: PathBuf,

    /// Most growth of a test relative to the baseline, e.g. 0.5% [default: 0.5%, if --max-absolute is not given]
    #[arg(long, value_name = "PERCENT")]
    max: Option<Share>,

    /// Most growth of a test in the metric's unit; with --max, growth must exceed both to count
    #[arg(long, value_name = "N")]
    max_absolute: Option<u64>,

    /// What to compare
    #[arg(long, value_name = "METRIC", default_value = "bytecodes", value_parser = Work::METRICS)]
    on: String,

    /// Accept the new numbers: show what changed, then write the baseline anew
    #[arg(long)]
    update: bool,

    /// Do not run the command a second time: growth is not explained line by line, and chance is not told from change
    #[arg(long)]
    once: bool,

    /// Run all tests once in each JVM before they are counted: what is kept from the first use of something (formats,
    /// patterns, other caches) is then in no test, and a test has the same numbers alone and among others
    #[arg(long)]
    warm: bool,

    /// For programs: one JSON object, see docs/gate.md; what the command prints goes to standard error
    #[arg(long, conflicts_with = "markdown")]
    json: bool,

    /// For a pull request: a table and a list in Markdown; what the command prints goes to standard error
    #[arg(long)]
    markdown: bool,

    /// Most memory for a profile while a JVM runs, e.g. 500M or 8G [default: 10% of RAM, at most 4G]
    #[arg(long, value_name = "SIZE", value_parser = kinds::size)]
    arena_limit: Option<u64>,

    /// The command that runs the tests
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// What a run of the command has shown.
struct Counted {
    /// A tree for each test.
    profile: Profile,
    tests: BTreeMap<String, Work>,
}

/// How closely to look.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// As much as the numbers need.
    Numbers,
    /// Also which line it is.
    Lines,
}

impl Test {
    /// Runs the tests and judges them.
    pub fn run(self) -> anyhow::Result<u8> {
        let baseline = self.read_baseline()?;
        let first = match self.count(Detail::Numbers)? {
            Ok(counted) => counted,
            Err(status) => return Ok(status),
        };
        let jvm = jvm_of(&first.profile)?;
        let comparable = baseline.as_ref().filter(|baseline| baseline.jvm == jvm);
        if let (Some(baseline), None) = (&baseline, comparable) {
            let sentence = format!(
                "{} is of {}, these tests ran on {jvm}: another JDK does other work for the same program",
                self.baseline.display(),
                baseline.jvm
            );
            if !self.update {
                return Err(Failure::usage(format!(
                    "{sentence}. Use that JDK, or make a new baseline with --update"
                )));
            }
            eprintln!("quipu: {sentence}");
        }
        let mut verdict = comparable.map(|baseline| self.judge(baseline, &first.tests));
        let failed = verdict.as_ref().map_or(0, |verdict| verdict.failed().count());
        let mut second = None;
        if !self.once && (failed > 0 || self.update) {
            self.say_why_again(failed);
            second = match self.count(Detail::Lines)? {
                Ok(counted) => Some(counted),
                Err(status) => return Ok(status),
            };
        }
        let unstable = second.as_ref().map_or_else(BTreeMap::new, |second| partings(&first, second));
        for (test, sentence) in &unstable {
            eprintln!("quipu: {test} does not do the same work each time, and is left out: {sentence}");
        }
        if let Some(verdict) = &mut verdict {
            if let Some((baseline, second)) = comparable.zip(second.as_ref()) {
                let again = self.judge(baseline, &second.tests);
                leave_out(verdict, &again, baseline, &unstable);
            }
            if let Some(second) = &second {
                self.explain(verdict, &second.profile);
            }
            crate::gate::print(verdict, self.json, self.markdown)?;
        }
        if self.update {
            self.accept(jvm, baseline.unwrap_or_default(), &first, second.as_ref(), &unstable)?;
            return Ok(DONE);
        }
        Ok(if verdict.is_none_or(|verdict| verdict.passed()) { DONE } else { GATE })
    }

    fn read_baseline(&self) -> anyhow::Result<Option<Baseline>> {
        let name = self.baseline.display();
        match fs::read_to_string(&self.baseline) {
            Ok(text) => match Baseline::parse(&text) {
                Ok(baseline) => Ok(Some(baseline)),
                Err(error) => Err(Failure::usage(format!("{name}, {error}"))),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.update => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(Failure::usage(format!("there is no {name} yet; make it with --update")))
            }
            Err(error) => Err(Failure::usage(format!("cannot read {name}: {error}"))),
        }
    }

    /// Where the contexts behind the baseline's numbers are kept.
    fn contexts(&self) -> PathBuf {
        self.baseline.with_extension("quipu")
    }

    /// Runs the command once; its status if it failed.
    fn count(&self, detail: Detail) -> anyhow::Result<Result<Counted, u8>> {
        let directory = RunDirectory::new()?;
        let chosen = kinds::for_tests(self.arena_limit, detail == Detail::Lines)?;
        let program = self.command.first().cloned().unwrap_or_default();
        let mut flags = launch::waiting_flags(&chosen, &directory, &deterministic::flags_for_tests())?;
        if self.warm {
            flags.push("-Dquipu.warm=true".into());
        }
        let quiet = self.json || self.markdown;
        let status = launch::run(&self.command, &flags, Reach::All { quiet }, &directory)?.status;
        if !status.success() {
            let name = Path::new(&program).display();
            eprintln!("quipu: {name} ended with status {}: nothing is compared", launch::describe(status));
            return Ok(Err(launch::exit_status(status)));
        }
        let all = collect::all_in(&directory.0)?;
        if detail == Detail::Numbers {
            all.iter().for_each(say_if_parallel);
        }
        let profiles = all.iter().map(suite::of_tests);
        let with_tests: Vec<Profile> = profiles.filter(|profile| !profile.threads().is_empty()).collect();
        let mut notes: Vec<_> = with_tests.iter().flat_map(|profile| profile.meta.extra.clone()).collect();
        notes.sort();
        let mut profile = collect::merge(with_tests)?.ok_or_else(|| {
            Failure::target(
                "no test was counted: no JVM ran tests with the JUnit Platform (JUnit 5 or newer, or JUnit 4 through \
                 its vintage engine). Gradle runs no tests that are up to date, and gives a daemon's workers another \
                 environment: add --rerun, and leave --daemon out",
            )
        })?;
        profile.meta.extra = notes;
        profile.meta.options.extend(chosen.recorded());
        for (cause, n) in &profile.meta.lost {
            eprintln!("quipu: not counted: {}", quipu_profile::lost_in_words(cause, *n));
        }
        let tests = suite::works(&profile);
        Ok(Ok(Counted { profile, tests }))
    }

    fn judge(&self, baseline: &Baseline, tests: &BTreeMap<String, Work>) -> Verdict {
        let limit = match (self.max, self.max_absolute) {
            (None, None) => Limit::DEFAULT,
            (relative, absolute) => Limit { relative, absolute },
        };
        suite::judge(baseline, tests, &self.on, limit)
    }

    fn say_why_again(&self, failed: usize) {
        match failed {
            0 => eprintln!("quipu: running a second time, to see which tests do the same work each time"),
            1 => eprintln!("quipu: a test does more work; running again, to be sure and to see where"),
            n => eprintln!("quipu: {n} tests do more work; running again, to be sure and to see where"),
        }
    }

    /// Adds the places where the new work is, if the contexts behind the baseline are at hand.
    fn explain(&self, verdict: &mut Verdict, new: &Profile) {
        let path = self.contexts();
        if verdict.passed() {
            return;
        }
        let baseline = match Profile::load(&path) {
            Ok(baseline) => baseline,
            Err(error) => {
                eprintln!("quipu: where the new work is, is not known: {error}. --update writes that file");
                return;
            }
        };
        let was: BTreeMap<String, Work> = suite::works(&baseline);
        let agrees = |verdict: &Verdict| {
            verdict
                .failed()
                .all(|test| was.get(&test.name).and_then(|work| work.get(&self.on)) == Some(test.before))
        };
        if !quipu_gate::differences(&baseline, new).is_empty() || !agrees(verdict) {
            eprintln!(
                "quipu: {} is not of the run that {} is of; where the new work is, is not known",
                path.display(),
                self.baseline.display()
            );
        } else if let Err(error) = suite::explain(verdict, &baseline, new) {
            eprintln!("quipu: where the new work is, is not known: {error}");
        }
    }

    /// Writes the baseline, with the limits it had, and the contexts.
    fn accept(
        &self,
        jvm: String,
        old: Baseline,
        first: &Counted,
        second: Option<&Counted>,
        unstable: &BTreeMap<String, String>,
    ) -> anyhow::Result<()> {
        let mut baseline = Baseline { jvm, ..Baseline::default() };
        let renumbered = suite::renumbered(&old, &first.tests);
        for (name, &work) in &first.tests {
            let was = renumbered.get(name.as_str()).copied().unwrap_or(name);
            let limit = old.tests.get(was).and_then(|entry| entry.limit);
            // With a limit of its own, a test may differ by that much.
            let kept = limit.is_some() || !unstable.contains_key(name);
            baseline.tests.insert(name.clone(), Entry { work: kept.then_some(work), limit });
        }
        files::replace(&self.baseline, baseline.to_text().as_bytes())?;
        let profile = second.map_or(&first.profile, |second| &second.profile);
        profile.save(self.contexts())?;
        let name = self.baseline.display();
        eprintln!(
            "quipu: {name} has the work of {} tests, {} has the contexts",
            baseline.tests.values().filter(|entry| entry.work.is_some()).count(),
            self.contexts().display()
        );
        Ok(())
    }
}

/// Tests at the same time are counted apart, but can disturb each other.
fn say_if_parallel(profile: &Profile) {
    let threads = suite::threads_of_tests(profile);
    if threads.iter().map(|thread| thread.threads).sum::<u64>() > 1 {
        let names: Vec<&str> = threads.iter().map(|thread| profile.str(thread.name)).collect();
        eprintln!(
            "quipu: tests ran on several threads ({}): each is counted on its own, but what they do to each other is \
             not the same each time. Let them run one after the other (junit.jupiter.execution.parallel.enabled)",
            names.join(", ")
        );
    }
}

/// The JVM in words; tests that ran on several cannot be one suite.
fn jvm_of(profile: &Profile) -> anyhow::Result<String> {
    let jvm = &profile.meta.jvm;
    match (jvm.name.as_str(), jvm.version.as_str()) {
        ("", _) | (_, "") => {
            Err(Failure::usage("the tests ran on different JVMs: count those of one JVM at a time"))
        }
        (name, version) => Ok(format!("{name} {version}")),
    }
}

/// The tests whose two runs were not the same, and where they part.
fn partings(first: &Counted, second: &Counted) -> BTreeMap<String, String> {
    let mut unstable = BTreeMap::new();
    for (name, work) in &first.tests {
        match second.tests.get(name) {
            Some(again) if again == work => {}
            Some(_) => {
                let place = suite::parting(&first.profile, &second.profile, name);
                let sentence = place.map_or_else(String::new, |place| place.sentence());
                unstable.insert(name.clone(), sentence);
            }
            None => {
                unstable.insert(name.clone(), "it ran in only one of two runs".to_owned());
            }
        }
    }
    unstable
}

/// Takes back what was said of tests that are not deterministic. Beyond a limit of its own in both runs, a test does
/// more work, however much it varies.
fn leave_out(
    verdict: &mut Verdict,
    again: &Verdict,
    baseline: &Baseline,
    unstable: &BTreeMap<String, String>,
) {
    let twice_beyond = |name: &str| {
        let limited = baseline.tests.get(name).is_some_and(|entry| entry.limit.is_some());
        limited && again.failed().any(|subject| subject.name == name)
    };
    for subject in verdict.subjects.iter_mut().filter(|subject| subject.outcome == Outcome::Failed) {
        if let Some(sentence) = unstable.get(&subject.name).filter(|_| !twice_beyond(&subject.name)) {
            subject.outcome = Outcome::Unstable;
            subject.note = Some(sentence.clone());
        }
    }
}
