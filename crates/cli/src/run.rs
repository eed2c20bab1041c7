//! `quipu run`: start a JVM and profile it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use quipu_kinds::{Chosen, EVENT_METRIC};
use quipu_profile::{Matching, Metric, MetricKind, On, Profile, Unit};

use crate::agent;
use crate::attach::seconds;
use crate::clean;
use crate::collect::{self, NotMeasured};
use crate::deterministic;
use crate::exit::Failure;
use crate::kinds::{self, Kinds};
use crate::launch::{self, Reach, RunDirectory};
use crate::output;
use crate::parts::Parts;
use crate::perf_events;
use crate::progress;
use crate::signals::Ended;
use crate::typos;
use crate::variation;

/// Start a JVM and profile it.
///
/// The program's output, input and exit status are its own. Programs that start JVMs of their own (mvn, gradle,
/// scripts) work too: all their JVMs go into one profile. Without a kind, everything is counted exactly.
///
/// SIGTERM, SIGHUP, SIGINT and SIGQUIT are passed on to the program; the profile is written when it has ended. On SIGQUIT
/// (Ctrl-\ in a terminal) the profile so far is written as well: profile-0001.quipu, and so on.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  quipu run -- java -jar app.jar
  quipu run --exact --bba precise -o app.quipu -- java -cp classes com.acme.Main input.txt
  quipu run --cpu -o app.quipu -- java -jar app.jar             stacks, 100 times a second of CPU time
  quipu run --cpu --loop 60 -o app.quipu -- java -jar app.jar   app-0001.quipu after a minute, and so on
  quipu run --event page-faults -- java -jar app.jar            where memory is touched first; --event list has more
  quipu run --wall --threads 'http-*' -- java -jar app.jar      what those threads wait for, too
  quipu run --include com.acme --deterministic -- java -jar app.jar
  quipu run --bytecodes -- java -jar app.jar                         a context sample every 10,000 bytecodes
  quipu run --bytecodes 1000 --jitter 50 --verify -- java -jar app.jar
  quipu run --cpu -o app.html -- java -jar app.jar              a page for the browser, at once
  quipu report app.quipu --by method")]
pub struct Run {
    #[command(flatten)]
    kinds: Kinds,

    /// Where to write the profile; a name that ends like an export (.html, .pb.gz, .speedscope.json, …) is written as one
    #[arg(short, long, value_name = "FILE", default_value = "profile.quipu")]
    output: PathBuf,

    /// Write a file every so many seconds, each with what happened since the one before: profile-0001.quipu, …
    #[arg(long, value_name = "SECONDS", value_parser = seconds, conflicts_with = "verify")]
    r#loop: Option<Duration>,

    /// Run the command a second time, count exactly, and say how much of the samples is right
    #[arg(long, requires = "bytecodes")]
    verify: bool,

    /// The command that starts the JVM
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Run {
    /// Runs the command; the result is its exit status.
    pub fn run(self) -> anyhow::Result<u8> {
        let chosen = self.kinds.chosen("exact")?;
        perf_events::check(&chosen, true)?;
        output::check(&self.output)?;
        clean::remove_old();
        let (profile, typos, ended) = self.profile(&chosen, &self.output)?;
        if chosen.has("deterministic") {
            let pinned: Vec<&str> = profile.meta.pins.keys().map(String::as_str).collect();
            eprintln!("quipu: pinned: {}", pinned.join(", "));
            for note in variation::unpinned(&profile) {
                eprintln!("quipu: not pinned: {note}");
            }
        }
        if self.verify && ended.told {
            eprintln!("quipu: told to end: not running it again to verify");
        } else if self.verify {
            eprintln!("quipu: running it again, counting exactly");
            let (exact, ..) = self.take(&kinds::exactly(&chosen)?, &Parts::one(), RunDirectory::new()?)?;
            let overlap =
                quipu_report::overlap_text(&profile, &exact, On::Context, None, Matching::default());
            eprint!("quipu: overlap with the exact profile: {}", overlap.map_err(Failure::usage)?);
        }
        typos.iter().for_each(|sentence| eprintln!("quipu: {sentence}"));
        if let Some(sentence) = typos::in_agent(&chosen, &profile) {
            return Err(Failure::target(sentence));
        }
        Ok(launch::exit_status(ended.status))
    }

    /// Runs the command once and writes what it did, in one file or in many. The last part, or all, is returned.
    fn profile(&self, chosen: &Chosen, output: &Path) -> anyhow::Result<(Profile, Vec<String>, Ended)> {
        let parts = match self.r#loop {
            Some(every) => Parts::every(every, output),
            None => Parts::with_snapshots(output),
        };
        let (mut profile, ended, directory) = self.take(chosen, &parts, RunDirectory::new()?)?;
        let typos = typos::in_filters(chosen, &mut profile);
        match save(&profile, &parts.last(output)) {
            Ok(()) => Ok((profile, typos, ended)),
            Err(error) => Err(directory.keep(error)),
        }
    }

    /// Runs the command once; its arenas go to the directory, and stay there if no profile can be made of them.
    fn take(
        &self,
        chosen: &Chosen,
        parts: &Parts,
        directory: RunDirectory,
    ) -> anyhow::Result<(Profile, Ended, RunDirectory)> {
        let mut flags = launch::agent_flags(chosen, &agent::run_options(chosen, &directory.0))?;
        let pins = match self.command.first() {
            Some(program) if chosen.has("deterministic") => deterministic::flags(program),
            _ => Vec::new(),
        };
        flags.extend(pins.iter().map(|(flag, _)| (*flag).into()));
        let ran = parts.during(
            &directory.0,
            |profile, path| {
                self.describe(profile, chosen, &pins);
                save(profile, path)
            },
            || launch::run(&self.command, &flags, Reach::First, &directory),
        );
        let read = ran.and_then(|ended| Ok((ended, parts.rest(&directory.0)?)));
        let (ended, profile) = match read {
            Err(error) if !error.is::<NotMeasured>() => return Err(directory.keep(error)),
            read => read?,
        };
        let mut profile = profile.ok_or_else(|| {
            Failure::target(format!(
                "{} started no JVM that could be profiled (its exit status was {}); see the messages above",
                self.command.first().map_or("it", |c| c.to_str().unwrap_or("it")),
                launch::describe(ended.status)
            ))
        })?;
        self.describe(&mut profile, chosen, &pins);
        Ok((profile, ended, directory))
    }

    fn describe(&self, profile: &mut Profile, chosen: &Chosen, pins: &[(&'static str, &'static str)]) {
        profile.meta.target.command = self.command.iter().map(|c| c.to_string_lossy().into_owned()).collect();
        collect::tell_options(profile, chosen);
        if chosen.has("deterministic") {
            // The agent does not count in them.
            profile.meta.pins.insert("threads of the JVM".to_owned(), "left out".to_owned());
        }
        for (flag, what) in pins.iter().filter(|(_, what)| !what.is_empty()) {
            profile.meta.pins.insert((*what).to_owned(), (*flag).to_owned());
        }
    }
}

/// Writes a profile and says so.
pub fn save(profile: &Profile, path: &Path) -> anyhow::Result<()> {
    let written = progress::during(format!("writing {}", path.display()), || output::save(profile, path))?;
    let profile = &*written;
    // States are parts of a metric that is there as a whole.
    let whole = profile.metrics().iter().filter(|metric| {
        let of = metric.name().split('.').next();
        !metric.spec().is_variance()
            && !metric.name().contains(".age-")
            && (of == Some(metric.name()) || profile.metrics().iter().all(|other| Some(other.name()) != of))
    });
    let totals: String = whole.map(|metric| format!(", {}", described(metric))).collect();
    let file = path.display();
    let next = match output::format_of(path) {
        Some(format) => format!(" ({} format)", format.name()),
        None => format!(". Look at it with: quipu report {file}"),
    };
    let contexts = profile.tree().len() - profile.threads().len();
    eprintln!("quipu: wrote {file}: {contexts} contexts{totals}{next}");
    for (cause, n) in &profile.meta.lost {
        eprintln!("quipu: not in it: {}", quipu_profile::lost_in_words(cause, *n));
    }
    for (event, said) in profile.meta.extra.iter().filter_map(of_event) {
        eprintln!("quipu: {event}: {said}");
    }
    for (what, said) in profile.run.extra.iter().filter(|(key, _)| key.starts_with("chained ")) {
        eprintln!("quipu: {what}: {said}");
    }
    if let Some(why) = walked_by_the_vm(profile) {
        eprintln!("quipu: not in it: tiers, native and JVM frames, since {why}");
    }
    Ok(())
}

/// What is to be known of an event's numbers, and of which event.
fn of_event((key, said): &(String, String)) -> Option<(&str, &str)> {
    let event = key.strip_suffix(".turns").or_else(|| key.strip_suffix(".scope"))?;
    event.starts_with(EVENT_METRIC).then_some((event, said))
}

/// Why the VM walked stacks, which tells less than Quipu's own walk; `None` if it did not, or no stack was walked in a handler.
fn walked_by_the_vm(profile: &Profile) -> Option<&str> {
    let fact = |key| profile.run.extra.iter().find(|(found, _)| found == key).map(|(_, value)| &**value);
    fact("stack walks").filter(|&walks| walks != "0")?;
    fact("walker")?.strip_prefix("AsyncGetCallTrace, because ")
}

/// `3 calls`, `1.25 s cpu in 125 samples`.
fn described(metric: &Metric) -> String {
    let (total, name) = (metric.total(), metric.name());
    match (&metric.spec().unit, metric.spec().kind) {
        (Unit::Nanoseconds, MetricKind::Sampled { period }) => {
            let samples = total / period.max(1);
            format!("{:.2} s {name} in {samples} samples", total as f64 / 1e9)
        }
        (Unit::Nanoseconds, MetricKind::Exact) => format!("{:.2} s {name}", total as f64 / 1e9),
        _ => format!("{total} {name}"),
    }
}
