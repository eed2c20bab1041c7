//! `quipu attach`: profile a JVM that runs, then leave it as it was.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Args;
use quipu_arena::place;
use quipu_collector::arena::ArenaFile;
use quipu_collector::attach::{Attach as Channel, Target};
use quipu_collector::control::Control;
use quipu_collector::import::{self, Baseline};
use quipu_collector::jvms;
use quipu_kinds::{Chosen, Kind, kind};

use crate::agent;
use crate::clean;
use crate::collect;
use crate::exit::{DONE, Failure};
use crate::kinds::Kinds;
use crate::output;
use crate::parts::{GLANCE, Requests};
use crate::progress;
use crate::run::save;
use crate::signals;
use crate::typos;

/// What is measured unless something else is asked for: it costs somebody's production next to nothing.
const DEFAULT_KIND: &str = "cpu";

/// Profile a running JVM, then leave it as it was.
///
/// Without a kind, CPU time is sampled. Exact counting begins with the calls made after the attach: methods that are on the
/// stack already are not counted until they are called again. If this command is killed, the target is left as it was, too.
/// On SIGQUIT (Ctrl-\ in a terminal) the profile so far is written: profile-0001.quipu, and so on.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  quipu attach 4711 -d 10 -o slow.quipu              stacks, 100 times a second of CPU time
  quipu attach 4711 --wall -d 30 -o wall.quipu       what its threads wait for, too
  quipu attach 4711 --cpu --loop 60 -o cpu.quipu     cpu-0001.quipu after a minute, and so on
  quipu attach com.acme.Main --exact --include com.acme -d 10
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

    /// Write a file every so many seconds, each with what happened since the one before: profile-0001.quipu, …
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    r#loop: Option<Duration>,

    /// Where to write the profile; a name that ends like an export (.html, .pb.gz, .speedscope.json, …) is written as one
    #[arg(short, long, value_name = "FILE", default_value = "profile.quipu")]
    output: PathBuf,

    /// Go on measuring in the target if this command is killed; `quipu ctl` ends it then
    #[arg(long)]
    keep: bool,
}

/// Retransforming a large application takes its time.
const ANSWER: Duration = Duration::from_secs(120);

impl Attach {
    /// Attaches, waits, detaches, saves.
    pub fn run(self) -> anyhow::Result<u8> {
        let chosen = self.kinds.chosen(DEFAULT_KIND)?;
        output::check(&self.output)?;
        clean::remove_old();
        let pid = find(&self.target)?;
        let library = agent::library()?;
        let target = Target::find(pid).map_err(Failure::target)?;
        let channel = Channel::new(&target).with_timeout(ANSWER);
        let mut before = None;
        for line in costs(&chosen) {
            eprintln!("quipu: {line}");
        }
        let held = if self.keep { "" } else { agent::HELD };
        let options = format!("{}{held}", chosen.text());
        // From here on the target must not be left as it is then.
        signals::end_wanted()?;
        let snapshot = signals::snapshot_wanted()?;
        let starting = || channel.load_own_agent(&library, &options);
        progress::during("rewriting its classes", starting).map_err(Failure::target)?;
        let mut arena = ArenaFile::of_process(pid).map_err(Failure::target)?.ok_or_else(|| {
            Failure::target(format!(
                "process {pid} has no profile, though the agent was loaded; see its standard error"
            ))
        })?;
        // Dropped when the target is as it was; closed by the kernel if this process is killed.
        let holding = || Control::of_process(pid).and_then(|control| control.hold());
        let _held = match (!self.keep).then(holding) {
            None => None,
            Some(Ok(held)) => Some(held),
            Some(Err(error)) => {
                eprintln!("quipu: nobody will leave the target as it was if this command is killed: {error}");
                None
            }
        };
        eprintln!("quipu: profiling {pid}{}", if self.duration.is_some() { "" } else { "; Ctrl-C ends it" });
        let until = self.duration.map(|duration| Instant::now() + duration);
        let mut files = 0;
        let mut requests = Requests::default();
        requests.more(&mut arena);
        let alive = loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let next = self.r#loop.filter(|every| left.is_none_or(|left| *every < left));
            let state = progress::during(format!("profiling {pid}"), || {
                wait(&target, next.or(left), || {
                    let here = snapshot.swap(false, Ordering::Relaxed);
                    requests.more(&mut arena) || here
                })
            })?;
            match state {
                Waited::Enough if next.is_some() => {}
                Waited::Asked => {}
                state => break state != Waited::TargetEnded,
            }
            // Names of what was sampled last must be there; an agent that cannot be asked has told most of them.
            let _ = Control::of_process(pid).and_then(|control| control.ask(&["dump"]));
            let bytes = arena.read()?;
            match self.save(&bytes, before.as_ref(), &output::numbered(&self.output, files + 1)) {
                Ok(_) => {
                    files += 1;
                    // Without --loop, it is a snapshot of all so far.
                    before =
                        self.r#loop.is_some().then_some(Baseline::read(&bytes).map_err(Failure::target)?);
                }
                // The next file will have it, if there is room for that one.
                Err(error) => eprintln!("quipu: {error:#}"),
            }
        };
        if alive {
            let stopping = || channel.load_own_agent(&library, "stop");
            progress::during("putting its classes back", stopping).map_err(Failure::target)?;
        }
        let output = match self.r#loop {
            Some(_) => output::numbered(&self.output, files + 1),
            None => self.output.clone(),
        };
        let Told { filters, without_agent } = match self.save(&arena.read()?, before.as_ref(), &output) {
            Ok(told) => told,
            Err(error) => return Err(keep(&mut arena, alive, error)),
        };
        if !alive {
            // The target ended first and left its arena to us.
            let _ = std::fs::remove_file(arena.path());
        }
        // A part of many may well have nothing of what is asked for.
        filters.iter().filter(|_| files == 0).for_each(|sentence| eprintln!("quipu: {sentence}"));
        without_agent.map_or(Ok(DONE), |sentence| Err(Failure::target(sentence)))
    }

    /// Writes the profile.
    fn save(&self, arena: &[u8], before: Option<&Baseline>, output: &Path) -> anyhow::Result<Told> {
        let reading = || import::profile_since(arena, before).map_err(Failure::target);
        let mut profile = progress::during("reading the profile", reading)?;
        if let Some(why) = collect::not_measured(&profile) {
            return Err(Failure::target(format!("nothing was measured: {why}")));
        }
        profile.meta.target.command = vec!["attach".to_owned(), profile.meta.target.main.clone()];
        let chosen = self.kinds.chosen(DEFAULT_KIND)?;
        collect::tell_options(&mut profile, &chosen);
        let filters = typos::in_filters(&chosen, &mut profile);
        save(&profile, output)?;
        Ok(Told { filters, without_agent: typos::in_agent(&chosen, &profile) })
    }
}

/// What a profile is without, in sentences.
struct Told {
    /// Of filters that nothing matched.
    filters: Vec<String>,
    /// Of a user's agent that could not be made.
    without_agent: Option<String>,
}

/// What each kind will roughly cost, but for the one that is chosen by default: others depend on the program.
fn costs(chosen: &Chosen) -> Vec<String> {
    let cheap = kind(DEFAULT_KIND);
    let beside = |kind: &Kind| match (chosen.rewriters().any(|other| other.name() == kind.name()), cheap) {
        (true, Some(cheap)) => format!("; --{}: {}", cheap.name(), cheap.cost),
        _ => String::new(),
    };
    let dear = chosen.kinds().filter(|kind| kind.name() != DEFAULT_KIND);
    dear.map(|kind| format!("--{}: {}{}", kind.name(), kind.cost, beside(kind))).collect()
}

/// The profile could not be written: it is left where it can be read.
fn keep(arena: &mut ArenaFile, alive: bool, error: anyhow::Error) -> anyhow::Error {
    if !alive {
        return collect::kept(&error, &[arena.path().to_owned()]);
    }
    // The arena's name is gone, and the target will use it again.
    let copy = place::directory()
        .map(|directory| directory.join(place::file_name(std::process::id(), 0)))
        .and_then(|path| arena.copy_to(&path).map(|()| path));
    match copy {
        Ok(path) => collect::kept(&error, &[path]),
        Err(also) => error.context(format!("the profile could not be kept either: {also}")),
    }
}

/// Why waiting is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// The time has passed.
    Enough,
    /// The target was asked for a dump, or this process was.
    Asked,
    /// Somebody pressed Ctrl-C, or sent SIGTERM or SIGHUP.
    Interrupted,
    /// The target has ended.
    TargetEnded,
}

/// Waits for the time to pass, for Ctrl-C, for the target to end, or to be `asked`.
pub fn wait(
    target: &Target,
    duration: Option<Duration>,
    mut asked: impl FnMut() -> bool,
) -> anyhow::Result<Waited> {
    let interrupted = signals::end_wanted()?;
    let end = duration.map(|duration| Instant::now() + duration);
    while !interrupted.load(Ordering::Relaxed) {
        if end.is_some_and(|end| Instant::now() >= end) {
            return Ok(Waited::Enough);
        }
        if Target::find(target.pid()).is_err() {
            return Ok(Waited::TargetEnded);
        }
        if asked() {
            return Ok(Waited::Asked);
        }
        let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
        std::thread::sleep(left.min(GLANCE));
    }
    Ok(Waited::Interrupted)
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

/// A number of seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 =
        text.trim_end_matches('s').parse().map_err(|_| "must be a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(number).map_err(|_| "must be a number of seconds".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quipu_kinds::KINDS;

    /// Before anything is begun in somebody's production, what it costs is said.
    #[test]
    fn the_cost_of_every_kind_but_the_default_is_said() {
        for kind in KINDS {
            let mut chosen = Chosen::default();
            chosen.set(kind.name(), kind.switch.bare.unwrap_or_default()).unwrap();
            let said = costs(&chosen).join("\n");
            assert_eq!(said.contains(kind.cost), kind.name() != DEFAULT_KIND, "{}: {said}", kind.name());
        }
        let exact = costs(&Chosen::parse("exact").unwrap());
        assert!(exact[0].ends_with("; --cpu: below 1 % at the default rate"), "{exact:?}");
    }
}
