//! Starting the program that is measured, with the agent in its JVMs.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::Context;
use quipu_arena::place;
use quipu_collector::arena::ArenaFile;
use quipu_collector::executable::{Unmeasurable, unmeasurable};
use quipu_kinds::Chosen;
use rustix::fs::{FlockOperation, flock};
use rustix::process::Pid;

use crate::agent;
use crate::collect;
use crate::deterministic;
use crate::exit::Failure;
use crate::signals::{Ended, Relay};

/// Which JVMs get the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The one that is started, if the command is `java`; otherwise all that come of it.
    First,
    /// All that come of the command. With `quiet`, what they print goes to standard error.
    All { quiet: bool },
}

/// The JVM's flags for the agent with these options.
pub fn agent_flags(chosen: &Chosen, options: &str) -> anyhow::Result<Vec<OsString>> {
    let mut agent = OsString::from("-agentpath:");
    agent.push(agent::library()?);
    agent.push("=");
    agent.push(options);
    let mut flags = vec![agent];
    flags.extend(chosen.flags().into_iter().map(Into::into));
    Ok(flags)
}

/// The JVM's flags for an agent that waits until a listener, in a jar that goes to the directory, says that tests begin.
pub fn waiting_flags(
    chosen: &Chosen,
    directory: &RunDirectory,
    pins: &deterministic::Flags,
) -> anyhow::Result<Vec<OsString>> {
    let jar = directory.0.join("quipu-listeners.jar");
    fs::write(&jar, quipu_api::listeners())?;
    let options = agent::run_options(chosen, &directory.0);
    let mut flags = agent_flags(chosen, &agent::with_tests(&options, &jar))?;
    flags.extend(pins.iter().map(|(flag, _)| (*flag).into()));
    Ok(flags)
}

/// Refuses what no agent can be loaded into, before it is started.
fn refuse(program: &Path) -> anyhow::Result<()> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = match program.components().count() {
        1 => std::env::split_paths(&paths).map(|folder| folder.join(program)).find(|path| path.is_file()),
        _ => Some(program.to_owned()),
    };
    let what = match found.as_deref().and_then(unmeasurable) {
        None => return Ok(()),
        Some(Unmeasurable::ThirtyTwoBits) => "a 32-bit program, and Quipu is for 64-bit JVMs",
        Some(Unmeasurable::NativeImage) => {
            "a GraalVM native image: there is no JVM in it, and no bytecode; run the program on a JVM to profile it"
        }
    };
    Err(Failure::target(format!("{} is {what}", program.display())))
}

/// Runs a command, whose JVMs have their arenas in a directory, to its end.
pub fn run(
    command: &[OsString],
    flags: &[OsString],
    reach: Reach,
    directory: &RunDirectory,
) -> anyhow::Result<Ended> {
    let (program, arguments) = command.split_first().context("no command")?;
    refuse(Path::new(program))?;
    let mut command = Command::new(program);
    if reach == Reach::First && Path::new(program).file_name().is_some_and(|name| name == "java") {
        command.args(flags);
    } else {
        // Something that will start a JVM sooner or later; every JVM reads this variable.
        let mut all = std::env::var_os("JAVA_TOOL_OPTIONS").unwrap_or_default();
        for flag in flags {
            all.push(" ");
            all.push(flag);
        }
        command.env("JAVA_TOOL_OPTIONS", all);
        // A Gradle daemon gives its test workers the environment that it was started with, not this one.
        let mut gradle = std::env::var_os("GRADLE_OPTS").unwrap_or_default();
        gradle.push(" -Dorg.gradle.daemon=false");
        command.env("GRADLE_OPTS", gradle);
    }
    command.args(arguments);
    if reach == (Reach::All { quiet: true }) {
        command.stdout(std::io::stderr());
    }
    // The target decides how to end, and its profile is still written.
    let signals = Relay::new()?;
    let mut child = command
        .spawn()
        .map_err(|e| Failure::usage(format!("cannot start {}: {e}", Path::new(program).display())))?;
    signals.until_ended(&mut child, || directory.running())
}

/// The status to end with after a program that ended like this.
pub fn exit_status(status: ExitStatus) -> u8 {
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or_else(|| {
        // As a shell has it for a program that was killed.
        status.signal().and_then(|signal| u8::try_from(128 + signal).ok()).unwrap_or(crate::exit::TARGET)
    })
}

/// The status in words.
pub fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => code.to_string(),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => "unknown".to_owned(),
    }
}

/// A private directory for the arenas of one run, removed with them.
pub struct RunDirectory(pub PathBuf, #[allow(dead_code, reason = "locked as long as it is open")] File);

impl RunDirectory {
    /// A new one, empty.
    pub fn new() -> anyhow::Result<RunDirectory> {
        let parent = place::directory()?;
        let mut number = 0;
        loop {
            // A process that had the same id may have left one behind; this one may have several.
            let path = parent.join(place::run_name(std::process::id(), number));
            match fs::create_dir(&path) {
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                made => {
                    made.with_context(|| format!("cannot make {}", path.display()))?;
                    // Tells a process that cleans up that what is in it is going to be read.
                    let lock = File::open(&path)?;
                    let _ = flock(&lock, FlockOperation::NonBlockingLockShared);
                    return Ok(RunDirectory(path, lock));
                }
            }
        }
    }

    /// What was measured could not be written: it stays here, if it is anything, and the person is told how to get at it.
    pub fn keep(self, error: anyhow::Error) -> anyhow::Error {
        let arenas = collect::arenas_in(&self.0).unwrap_or_default();
        if arenas.is_empty() {
            return error;
        }
        // Not dropped, and so not removed.
        std::mem::forget(self);
        collect::kept(&error, &arenas)
    }

    /// The JVMs that have an arena here and have not ended.
    fn running(&self) -> Vec<Pid> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| place::pid_of(&entry.path()));
        // One whose id is another process's by now, or of another name space, does not have the arena open.
        let here = |pid: u32| matches!(ArenaFile::of_process(pid), Ok(Some(arena)) if arena.path().starts_with(&self.0));
        pids.filter(|&pid| here(pid)).filter_map(|pid| Pid::from_raw(pid.try_into().ok()?)).collect()
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
