//! `quipu test`: how much work each test of a suite does, held against a baseline.

mod clock;
mod count;
mod others;
mod unstable;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;

use clap::Args;
use quipu_gate::suite::{self, Baseline, Entry, Work};
use quipu_gate::{Limit, Outcome, Share, Verdict};
use quipu_profile::Profile;

use crate::deterministic;
use crate::exit::{BUILD_AND_GATE, DONE, Failure, GATE};
use crate::files;
use crate::kinds;
use crate::output;
use crate::variation;
pub(crate) use count::{Counted, Detail, Runner};
use count::{in_words, way};

/// Count the work of each JUnit test, and fail when one does more than it did.
///
/// Runs the command (mvn, gradle, or any that starts JUnit) and counts, in every JVM that runs tests, the bytecodes,
/// calls and allocation instructions of each test: without what JUnit, constructors and set-up methods do, and
/// without class loading and initialisation. The numbers are the same every run. They are held against a baseline, a
/// text file with one line for each test that belongs into the repository.
///
/// When tests do more work, and with --update, the command is run a second time. A test whose two runs differ is not
/// deterministic: it is run twice more without the others, named with the place where the runs part, and left out. One that
/// does more and asks for the time must do so in three more runs. If other tests ran than the baseline has, up to ten of
/// those that do more are run each by itself: one that does what the baseline says then meets what other tests leave
/// behind, which is told.
#[derive(Args, Debug)]
#[command(after_help = "\
Exit status: 0 held, 1 a test does more work, 2 the numbers cannot be compared (or wrong use), 3 no test was counted,
the arena had no room for all contexts, or it was told to end. When the command itself fails, its own status; 4 when it
fails and a test does more work as well.

Examples:
  quipu test --update -- mvn test                    make the baseline, or accept the new numbers
  quipu test -- mvn test                             hold the tests against it
  quipu test --max 0% --max-absolute 0 -- gradle test --rerun     any growth at all fails
  quipu test --markdown -- mvn -q test >> \"$GITHUB_STEP_SUMMARY\"

In the baseline a test may have limits of its own: write max=2% or max-absolute=1000 behind its numbers.")]
pub struct Test {
    /// The baseline; contexts are kept beside it, in a file that ends with .quipu
    #[arg(long, value_name = "FILE", default_value = "quipu-tests.txt")]
    baseline: PathBuf,

    /// Most growth of a test relative to the baseline; only what exceeds --max-absolute, too, counts
    #[arg(long, value_name = "PERCENT", default_value = "1%")]
    max: Share,

    /// Most growth of a test in the metric's unit; only what exceeds --max, too, counts
    #[arg(long, value_name = "N", default_value_t = 100)]
    max_absolute: u64,

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

impl Test {
    /// Runs the tests and judges them.
    pub fn run(self) -> anyhow::Result<u8> {
        if self.update {
            output::check(&self.baseline)?;
            output::check(&self.contexts())?;
        }
        let baseline = self.read_baseline()?;
        let runner = self.runner();
        let first = match runner.count(Detail::Numbers, None)? {
            Ok(counted) => counted,
            Err(status) => return Ok(status),
        };
        if first.status != DONE && self.update {
            eprintln!("quipu: {} is left as it is", self.baseline.display());
            return Ok(first.status);
        }
        if let Some(sentence) = &first.incomplete {
            return self.refuse(sentence, Failure::target(sentence));
        }
        let jvm = jvm_of(&first.profile)?;
        let comparable = match &baseline {
            Some(baseline) => match self.why_not(baseline, &jvm, &first) {
                None => Some(baseline),
                Some(sentence) if self.update => {
                    eprintln!("quipu: {sentence}");
                    None
                }
                Some(sentence) if first.status == DONE => {
                    return self.refuse(&sentence, Failure::usage(&sentence));
                }
                Some(sentence) => {
                    let status = first.status;
                    return self.refuse(&sentence, Failure { status, message: sentence.clone() }.into());
                }
            },
            None => None,
        };
        let mut verdict = comparable.map(|baseline| self.judge(baseline, &first.tests));
        let failed = verdict.as_ref().map_or(0, |verdict| verdict.failed().count());
        let mut second = None;
        if !self.once && first.status == DONE && (failed > 0 || self.update) {
            self.say_why_again(failed);
            second = match runner.count(Detail::Lines, None)? {
                Ok(Counted { incomplete: Some(sentence), .. }) => {
                    eprintln!("quipu: the second run is as if it had not been: {sentence}");
                    None
                }
                Ok(counted) => Some(counted),
                Err(status) => return Ok(status),
            };
            if let Some(status) = second.as_ref().map(|second| second.status).filter(|&status| status != DONE)
                && self.update
            {
                // Tests that did not run a second time are not known to do the same.
                eprintln!("quipu: {} is left as it is", self.baseline.display());
                return Ok(status);
            }
        }
        let mut unstable =
            second.as_ref().map_or_else(BTreeMap::new, |second| unstable::partings(&first, second));
        if !unstable.is_empty() {
            unstable::look_closer(&runner, &first, &mut unstable)?;
        }
        if let Some(verdict) = verdict.as_ref().filter(|_| second.is_some() && !self.update) {
            unstable.extend(clock::chances(&runner, &first, verdict, &unstable)?);
        }
        for (test, sentence) in &unstable {
            eprintln!("quipu: {test} does not do the same work each time, and is left out: {sentence}");
        }
        let beyond = suite::beyond_budget(&first.profile);
        if let Some(verdict) = &mut verdict {
            if let Some((baseline, second)) = comparable.zip(second.as_ref()) {
                let again = self.judge(baseline, &second.tests);
                leave_out(verdict, &again, baseline, &unstable);
                let judge = |tests: &BTreeMap<String, Work>| self.judge(baseline, tests);
                let moved_by_others = match self.update {
                    true => BTreeMap::new(),
                    false => others::because_of_others(&runner, &first, verdict, judge)?,
                };
                for (test, sentence) in moved_by_others {
                    eprintln!(
                        "quipu: {test} does more work because of other tests, and is left out: {sentence}"
                    );
                    moved(verdict, &test, sentence);
                }
            }
            // One that was cut short may not have come to what grew.
            let closer = second.as_ref().filter(|second| second.status == DONE);
            self.explain(verdict, closer.map_or(&first.profile, |second| &second.profile));
            verdict.beyond_budget.clone_from(&beyond);
            crate::gate::print(verdict, self.json, self.markdown)?;
        }
        say_threads(&first);
        beyond.iter().for_each(|sentence| eprintln!("quipu: FAILED: {sentence}"));
        if self.update && !beyond.is_empty() {
            // As where the framework itself fails such a test.
            eprintln!("quipu: {} is left as it is", self.baseline.display());
            return Ok(GATE);
        }
        if self.update {
            say_pins(&first.profile);
            self.accept(jvm, baseline.unwrap_or_default(), &first, second.as_ref(), &unstable)?;
            return Ok(DONE);
        }
        let held = verdict.is_none_or(|verdict| verdict.passed()) && beyond.is_empty();
        Ok(match (held, first.status) {
            (true, status) => status,
            (false, DONE) => GATE,
            (false, _) => BUILD_AND_GATE,
        })
    }

    fn runner(&self) -> Runner<'_> {
        Runner {
            command: &self.command,
            arena_limit: self.arena_limit,
            warm: self.warm,
            quiet: self.json || self.markdown,
        }
    }

    fn read_baseline(&self) -> anyhow::Result<Option<Baseline>> {
        let name = self.baseline.display();
        let parse = if self.update { Baseline::parse_to_replace } else { Baseline::parse };
        match fs::read_to_string(&self.baseline) {
            Ok(text) => match parse(&text) {
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

    /// What is in the way of comparing.
    fn why_not(&self, baseline: &Baseline, jvm: &str, new: &Counted) -> Option<String> {
        let name = self.baseline.display();
        if baseline.jvm != jvm {
            let was = &baseline.jvm;
            return Some(format!(
                "{name} is of {was}, these tests ran on {jvm}: another JDK does other work for the same program. Use that \
                 JDK, or make a new baseline with --update"
            ));
        }
        let [was, is] = [&baseline.at_a_time, &new.at_a_time].map(Option::as_ref);
        (way(was) != way(is)).then(|| {
            format!(
                "{name} was made with tests that ran {}, these ran {}: which of them is the first to use something, and \
                 fills a cache that others find, is not the same. Run them as before (forkCount, maxParallelForks, \
                 junit.jupiter.execution.parallel.enabled), or make a new baseline with --update",
                in_words(was),
                in_words(is)
            )
        })
    }

    /// Says that nothing was compared, also where the verdict would be.
    fn refuse(&self, sentence: &str, failure: anyhow::Error) -> anyhow::Result<u8> {
        if self.markdown {
            println!("### ⚠️ Not compared\n\n{sentence}.");
        } else if self.json {
            println!("{:#}", serde_json::json!({ "passed": null, "not_compared": sentence }));
        }
        Err(failure)
    }

    /// Where the contexts behind the baseline's numbers are kept.
    fn contexts(&self) -> PathBuf {
        self.baseline.with_extension("quipu")
    }

    fn judge(&self, baseline: &Baseline, tests: &BTreeMap<String, Work>) -> Verdict {
        let limit = Limit { relative: Some(self.max), absolute: Some(self.max_absolute) };
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
        if let Some(sentence) = suite::differences(&baseline, new).first() {
            eprintln!("quipu: {}: {sentence}; where the new work is, is not known", path.display());
            return;
        }
        match suite::explain(verdict, &baseline, new) {
            Ok(stale) if stale.is_empty() => {}
            Ok(stale) => eprintln!(
                "quipu: of {} {} has not the contexts that {} has the numbers of; where the new work of {} is, is not known",
                match stale.len() {
                    1 => stale.first().cloned().unwrap_or_default(),
                    n => format!("{n} tests"),
                },
                path.display(),
                self.baseline.display(),
                if stale.len() == 1 { "it" } else { "these" }
            ),
            Err(error) => eprintln!("quipu: where the new work is, is not known: {error}"),
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
        let mut baseline = Baseline { jvm, at_a_time: first.at_a_time.clone(), ..Baseline::default() };
        let renumbered = suite::renumbered(&old, &first.tests);
        for (name, &work) in &first.tests {
            let was = renumbered.get(name.as_str()).copied().unwrap_or(name);
            let limit = old.tests.get(was).and_then(|entry| entry.limit);
            // With a limit of its own, a test may differ by that much.
            let kept = limit.is_some() || !unstable.contains_key(name);
            baseline.tests.insert(name.clone(), Entry { work: kept.then_some(work), limit });
        }
        // Numbers without their contexts are still numbers: if there is no room for both files, the old ones stay.
        let profile = second.map_or(&first.profile, |second| &second.profile);
        profile.save(self.contexts())?;
        files::replace(&self.baseline, baseline.to_text().as_bytes())?;
        let name = self.baseline.display();
        eprintln!(
            "quipu: {name} has the work of {} tests, {} has the contexts",
            baseline.tests.values().filter(|entry| entry.work.is_some()).count(),
            self.contexts().display()
        );
        Ok(())
    }
}

/// Takes back that a test failed: what it does more depends on the tests that ran before it.
fn moved(verdict: &mut Verdict, test: &str, sentence: String) {
    for subject in verdict.subjects.iter_mut().filter(|subject| subject.name == test) {
        subject.outcome = Outcome::Unstable;
        subject.note = Some(sentence.clone());
    }
}

/// What is the same in every run, and what is not and was used by tests.
fn say_pins(profile: &Profile) {
    let flags = deterministic::flags_for_tests();
    let pinned = profile.meta.pins.keys().map(String::as_str).chain(flags.iter().map(|(_, what)| *what));
    let mut pinned: Vec<&str> = pinned.filter(|what| !what.is_empty()).collect();
    pinned.sort_unstable();
    pinned.dedup();
    eprintln!("quipu: pinned: {}", pinned.join(", "));
    for note in variation::unpinned_in_tests(profile) {
        eprintln!("quipu: not pinned: {note}");
    }
}

/// What other threads do is no part of a test.
fn say_threads(counted: &Counted) {
    const SHOWN: usize = 5;
    let started = suite::threads_started(&counted.profile);
    for (test, threads) in started.iter().take(SHOWN) {
        let bytecodes = counted.tests.get(test).map_or(0, |work| work.bytecodes);
        let threads =
            if *threads == 1 { "1 thread was".to_owned() } else { format!("{threads} threads were") };
        eprintln!(
            "quipu: {test}: counted {bytecodes} bytecodes on its own thread; {threads} started, which are not in it"
        );
    }
    if started.len() > SHOWN {
        eprintln!("quipu: {} more tests started threads", started.len() - SHOWN);
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
