//! `quipu attach`: profile a JVM that runs, then leave it as it was.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use quipu_collector::arena::ArenaFile;
use quipu_collector::attach::{Attach as Channel, Target};
use quipu_collector::import::{self, Baseline};
use quipu_collector::jvms;

use crate::agent;
use crate::exit::{DONE, Failure};
use crate::kinds::Kinds;
use crate::progress;
use crate::run::save;

/// Profile a running JVM, then leave it as it was.
///
/// Counting begins with the calls made after the attach: methods that are on the stack already are not counted until
/// they are called again.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  quipu attach 4711 -d 10 -o slow.quipu
  quipu attach 4711 --cpu -d 30 -o cpu.quipu
  quipu attach com.acme.Main --include com.acme
  quipu ps                                  lists the JVMs to choose from")]
pub struct Attach {
    /// Process id, or part of the main class's name
    #[arg(value_name = "PID|NAME")]
    target: String,

    #[command(flatten)]
    kinds: Kinds,

    /// For how long; until Ctrl-C or the end of the target if absent
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds)]
    duration: Option<Duration>,

    /// Where to write the profile
    #[arg(short, long, value_name = "FILE", default_value = "profile.quipu")]
    output: PathBuf,
}

/// Retransforming a large application takes its time.
const ANSWER: Duration = Duration::from_secs(120);

impl Attach {
    /// Attaches, waits, detaches, saves.
    pub fn run(self) -> anyhow::Result<u8> {
        let pid = find(&self.target)?;
        let library = agent::library()?;
        let target = Target::find(pid).map_err(Failure::target)?;
        let channel = Channel::new(&target).with_timeout(ANSWER);
        // Counts of earlier profiles of the same target are taken off.
        let before = match ArenaFile::of_process(pid).map_err(Failure::target)? {
            Some(mut arena) => Some(Baseline::read(&arena.read()?).map_err(Failure::target)?),
            None => None,
        };
        let options = agent::attach_options(&self.kinds);
        let starting = || channel.load_agent(&library, &options);
        progress::during("rewriting its classes", starting).map_err(Failure::target)?;
        let mut arena = ArenaFile::of_process(pid).map_err(Failure::target)?.ok_or_else(|| {
            Failure::target(format!(
                "process {pid} has no profile, though the agent was loaded; see its standard error"
            ))
        })?;
        eprintln!("quipu: profiling {pid}{}", if self.duration.is_some() { "" } else { "; Ctrl-C ends it" });
        let alive = progress::during(format!("profiling {pid}"), || wait(&target, self.duration))?;
        if alive {
            let stopping = || channel.load_agent(&library, "stop");
            progress::during("putting its classes back", stopping).map_err(Failure::target)?;
        }
        let mut profile = progress::during("reading the profile", || {
            import::profile_since(&arena.read()?, before.as_ref()).map_err(Failure::target)
        })?;
        profile.meta.target.command = vec!["attach".to_owned(), profile.meta.target.main.clone()];
        profile.meta.options.extend(crate::recorded::options(&self.kinds));
        save(&profile, &self.output)?;
        if !alive {
            // The target ended first and left its arena to us.
            let _ = std::fs::remove_file(arena.path());
        }
        Ok(DONE)
    }
}

/// Waits for the time to pass, for Ctrl-C, or for the target to end; tells whether the target still runs.
fn wait(target: &Target, duration: Option<Duration>) -> anyhow::Result<bool> {
    let interrupted = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&interrupted))?;
    let end = duration.map(|duration| Instant::now() + duration);
    while !interrupted.load(Ordering::Relaxed) && end.is_none_or(|end| Instant::now() < end) {
        if Target::find(target.pid()).is_err() {
            return Ok(false);
        }
        let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
        std::thread::sleep(left.min(Duration::from_millis(100)));
    }
    Ok(true)
}

/// The process a person means.
pub fn find(target: &str) -> anyhow::Result<u32> {
    if let Ok(pid) = target.parse() {
        return Ok(pid);
    }
    let matching: Vec<_> = jvms::list()
        .into_iter()
        .filter(|jvm| jvm.main.as_deref().is_some_and(|main| main.contains(target)))
        .collect();
    match matching.as_slice() {
        [one] => Ok(one.pid),
        [] => Err(Failure::target(format!("no JVM runs '{target}'; `quipu ps` lists those that run"))),
        several => {
            let list: Vec<String> = several
                .iter()
                .map(|jvm| format!("{} {}", jvm.pid, jvm.main.as_deref().unwrap_or("?")))
                .collect();
            Err(Failure::usage(format!(
                "'{target}' fits several JVMs, name one by its id: {}",
                list.join(", ")
            )))
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 =
        text.trim_end_matches('s').parse().map_err(|_| "must be a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(number).map_err(|_| "must be a number of seconds".to_owned())
}
