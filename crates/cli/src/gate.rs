//! `quipu gate`: fail a build when a program does more work than it did.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use quipu_gate::{Limit, Question, Share, Verdict};
use quipu_profile::Profile;

use crate::collect::load;
use crate::exit::{DONE, Failure, GATE};
use crate::variation;

/// Fail when a profile has more work in it than the baseline, and name the place.
///
/// Compares the total of every thread of the application, and of every method chosen with --method, and ends with
/// status 1 when one of them grew beyond the limit. Less work is reported, never a failure. Renamed methods and calls
/// that moved do not matter as long as the totals hold.
#[derive(Args, Debug)]
#[command(after_help = "\
With both --max and --max-absolute, growth counts only if it exceeds both: small methods may grow by much,
large ones by a little. With neither, the limit is 0.5 %.

Exit status: 0 held, 1 grew beyond the limit, 2 the profiles cannot be compared (or wrong use).

Examples:
  quipu run --deterministic -o new.quipu -- java -cp classes com.acme.Main
  quipu gate --baseline base.quipu new.quipu --max 0.5%
  quipu gate --baseline base.quipu new.quipu --method 'com.acme.Parser.*' --max 1% --max-absolute 1000
  quipu gate --baseline base.quipu new.quipu --markdown >> \"$GITHUB_STEP_SUMMARY\"
  quipu gate --baseline base.quipu new.quipu --update        accept the new numbers")]
pub struct Gate {
    /// The profile to hold the new one against
    #[arg(long, value_name = "FILE")]
    baseline: PathBuf,

    /// The new profile
    new: PathBuf,

    /// Most growth relative to the baseline, e.g. 0.5% [default: 0.5%, if --max-absolute is not given]
    #[arg(long, value_name = "PERCENT")]
    max: Option<Share>,

    /// Most growth in the metric's unit; with --max, growth must exceed both to count
    #[arg(long, value_name = "N")]
    max_absolute: Option<u64>,

    /// Metric to compare [default: the first with totals, bytecodes in exact profiles]
    #[arg(long, value_name = "METRIC")]
    on: Option<String>,

    /// Only threads of this name; `*` stands for anything [default: all but those of the JVM and class loading]
    #[arg(long, value_name = "NAME")]
    thread: Option<String>,

    /// Also compare the inclusive total of methods whose name contains this, or matches it if it has a `*`; repeatable
    #[arg(long, value_name = "PATTERN")]
    method: Vec<String>,

    /// Accept the new numbers: show what changed, then replace the baseline file with the new profile
    #[arg(long)]
    update: bool,

    /// Compare profiles of different JDKs or options all the same
    #[arg(long)]
    force: bool,

    /// For programs: one JSON object, see docs/gate.md
    #[arg(long, conflicts_with = "markdown")]
    json: bool,

    /// For a pull request: a table and a list in Markdown
    #[arg(long)]
    markdown: bool,
}

impl Gate {
    /// Prints the verdict.
    pub fn run(self) -> anyhow::Result<u8> {
        let new = load(&self.new)?;
        if self.update && !self.baseline.exists() {
            return self.accept(&new);
        }
        if !self.baseline.exists() {
            let name = self.baseline.display();
            return Err(Failure::usage(format!("there is no {name} yet; make it with --update")));
        }
        let baseline = load(&self.baseline)?;
        if !self.may_compare(&baseline, &new)? {
            return self.accept(&new);
        }
        let question = Question {
            metric: self.on.clone(),
            limit: match (self.max, self.max_absolute) {
                (None, None) => Limit::DEFAULT,
                (relative, absolute) => Limit { relative, absolute },
            },
            thread: self.thread.clone(),
            methods: self.method.clone(),
            is_application: &variation::is_application,
        };
        let verdict = quipu_gate::gate(&baseline, &new, &question).map_err(Failure::usage)?;
        print(&verdict, self.json, self.markdown)?;
        match (self.update, verdict.passed()) {
            (true, _) => self.accept(&new),
            (false, true) => Ok(DONE),
            (false, false) => Ok(GATE),
        }
    }

    /// Says what is in the way of comparing; false when there is nothing to compare but an update to make.
    fn may_compare(&self, baseline: &Profile, new: &Profile) -> anyhow::Result<bool> {
        let differences = quipu_gate::differences(baseline, new);
        for note in quipu_gate::notes(baseline, new) {
            eprintln!("quipu: {note}");
        }
        if differences.is_empty() || self.force {
            differences.iter().for_each(|difference| eprintln!("quipu: {difference}"));
            return Ok(true);
        }
        let sentences = differences.join("\nquipu: ");
        if self.update {
            eprintln!("quipu: {sentences}");
            return Ok(false);
        }
        Err(Failure::usage(format!(
            "{sentences}\nquipu: counts cannot be compared. Make a new baseline with --update, or compare all the same \
             with --force"
        )))
    }

    fn accept(&self, new: &Profile) -> anyhow::Result<u8> {
        new.save(&self.baseline)?;
        eprintln!("quipu: {} now has the new numbers", self.baseline.display());
        Ok(DONE)
    }
}

/// Prints a verdict: for people, or in one of the other forms.
pub fn print(verdict: &Verdict, json: bool, markdown: bool) -> anyhow::Result<()> {
    let text = match (json, markdown) {
        (true, _) => quipu_gate::json(verdict),
        (_, true) => quipu_gate::markdown(verdict),
        _ => quipu_gate::text(verdict),
    };
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}
