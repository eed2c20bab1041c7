//! `quipu run`: start a JVM and profile it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use clap::Args;
use quipu_arena::place;
use quipu_profile::{Metric, MetricKind, Profile, Unit};

use crate::agent;
use crate::collect;
use crate::deterministic;
use crate::exit::Failure;
use crate::kinds::Kinds;
use crate::recorded;
use crate::variation;

/// Start a JVM and profile it.
///
/// The program's output, input and exit status are its own. Programs that start JVMs of their own (mvn, gradle,
/// scripts) work too: all their JVMs go into one profile.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  quipu run -- java -jar app.jar
  quipu run --exact --bba precise -o app.quipu -- java -cp classes com.acme.Main input.txt
  quipu run --cpu -o app.quipu -- java -jar app.jar             stacks, 100 times a second of CPU time
  quipu run --wall --threads 'http-*' -- java -jar app.jar      what those threads wait for, too
  quipu run --include com.acme --deterministic -- java -jar app.jar
  quipu report app.quipu --by method")]
pub struct Run {
    #[command(flatten)]
    kinds: Kinds,

    /// Where to write the profile
    #[arg(short, long, value_name = "FILE", default_value = "profile.quipu")]
    output: PathBuf,

    /// The command that starts the JVM
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// HotSpot compiles no method of more than 8,000 bytes, and inserted code can take one over that.
const SPEED_FLAG: &str = "-XX:-DontCompileHugeMethods";

/// Compiled code then knows where it is between calls as well; without it, samples are charged to the next call site.
const PLACE_FLAGS: [&str; 2] = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"];

impl Run {
    /// Runs the command; the result is its exit status.
    pub fn run(self) -> anyhow::Result<u8> {
        let library = agent::library()?;
        let directory = RunDirectory::new()?;
        let options = agent::run_options(&self.kinds, &directory.0);
        let mut agent = OsString::from("-agentpath:");
        agent.push(&library);
        agent.push("=");
        agent.push(&options);
        let mut flags = vec![agent];
        if self.kinds.exact() {
            flags.push(SPEED_FLAG.into());
        }
        if self.kinds.sampled() {
            flags.extend(PLACE_FLAGS.map(Into::into));
        }
        let deterministic = self.kinds.exact_options.deterministic;
        let pins = match self.command.first() {
            Some(program) if deterministic => deterministic::flags(program),
            _ => Vec::new(),
        };
        flags.extend(pins.iter().map(|(flag, _)| (*flag).into()));
        let status = self.spawn(flags)?;
        let mut profile = collect::from_directory(&directory.0)?.ok_or_else(|| {
            Failure::target(format!(
                "{} started no JVM that could be profiled (its exit status was {}); see the messages above",
                self.command.first().map_or("it", |c| c.to_str().unwrap_or("it")),
                describe(status)
            ))
        })?;
        profile.meta.target.command = self.command.iter().map(|c| c.to_string_lossy().into_owned()).collect();
        profile.meta.options.extend(recorded::options(&self.kinds));
        for (flag, what) in pins.iter().filter(|(_, what)| !what.is_empty()) {
            profile.meta.pins.insert((*what).to_owned(), (*flag).to_owned());
        }
        save(&profile, &self.output)?;
        if deterministic {
            let pinned: Vec<&str> = profile.meta.pins.keys().map(String::as_str).collect();
            eprintln!("quipu: pinned: {}", pinned.join(", "));
            for note in variation::unpinned(&profile) {
                eprintln!("quipu: not pinned: {note}");
            }
        }
        Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or_else(|| {
            // As a shell has it for a program that was killed.
            status.signal().and_then(|signal| u8::try_from(128 + signal).ok()).unwrap_or(crate::exit::TARGET)
        }))
    }

    fn spawn(&self, flags: Vec<OsString>) -> anyhow::Result<ExitStatus> {
        let (program, arguments) = self.command.split_first().context("no command")?;
        let mut command = Command::new(program);
        if Path::new(program).file_name().is_some_and(|name| name == "java") {
            command.args(&flags);
        } else {
            // Something that will start a JVM sooner or later; every JVM reads this variable.
            let mut all = std::env::var_os("JAVA_TOOL_OPTIONS").unwrap_or_default();
            for flag in &flags {
                all.push(" ");
                all.push(flag);
            }
            command.env("JAVA_TOOL_OPTIONS", all);
        }
        command.args(arguments);
        // Ctrl-C goes to the target as well; it decides how to end, and its profile is still written.
        let interrupted = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal_hook::consts::SIGINT, interrupted)?;
        let mut child = command
            .spawn()
            .map_err(|e| Failure::usage(format!("cannot start {}: {e}", Path::new(program).display())))?;
        loop {
            match child.wait() {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                waited => return Ok(waited?),
            }
        }
    }
}

/// Writes a profile and says so.
pub fn save(profile: &Profile, path: &Path) -> anyhow::Result<()> {
    profile.save(path)?;
    // States are parts of a metric that is there as a whole.
    let whole = profile.metrics().iter().filter(|metric| !metric.name().contains('.'));
    let totals: String = whole.map(|metric| format!(", {}", described(metric))).collect();
    eprintln!(
        "quipu: wrote {}: {} contexts{totals}. Look at it with: quipu report {}",
        path.display(),
        profile.tree().len() - profile.threads().len(),
        path.display()
    );
    for (cause, n) in &profile.meta.lost {
        eprintln!("quipu: not in it: {cause} {n}");
    }
    Ok(())
}

/// `3 calls`, `1.25 s cpu in 125 samples`.
fn described(metric: &Metric) -> String {
    let (total, name) = (metric.total(), metric.name());
    match (&metric.spec().unit, metric.spec().kind) {
        (Unit::Nanoseconds, MetricKind::Sampled { period }) => {
            let samples = total / period.max(1);
            format!("{:.2} s {name} in {samples} samples", total as f64 / 1e9)
        }
        _ => format!("{total} {name}"),
    }
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => code.to_string(),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => "unknown".to_owned(),
    }
}

/// A private directory for the arenas of one run, removed with them.
pub struct RunDirectory(pub PathBuf);

impl RunDirectory {
    /// Makes one, empty.
    pub fn new() -> anyhow::Result<RunDirectory> {
        let parent = place::directory()?;
        let path = parent.join(format!("run-{}", std::process::id()));
        // Left behind by a process that had the same id and was killed.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(RunDirectory(path))
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
