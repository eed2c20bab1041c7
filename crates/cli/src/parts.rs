//! What is written while the target runs: parts of a profile, one after the other, and snapshots of all of it so far.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use quipu_arena::place;
use quipu_collector::arena::ArenaFile;
use quipu_collector::control::Control;
use quipu_collector::import::{self, Baseline};
use quipu_profile::Profile;

use crate::collect;
use crate::exit::Failure;
use crate::output::numbered;

/// How often it is looked whether a snapshot was asked for.
pub const GLANCE: Duration = Duration::from_millis(100);

/// How a profile is divided.
pub struct Parts {
    /// The time that goes into a part; if there is none, files on the way are snapshots of all so far.
    every: Option<Duration>,
    /// What names of files are made of; nothing is written on the way without.
    output: Option<PathBuf>,
    written: AtomicU32,
    /// What each target had counted when the last part was written.
    before: Mutex<HashMap<PathBuf, Baseline>>,
}

/// What was done since the last part, and what each target has counted at the end of it.
type Part = (Profile, Vec<(PathBuf, Baseline)>);

impl Parts {
    /// Not at all.
    pub fn one() -> Parts {
        Parts { every: None, output: None, written: AtomicU32::new(0), before: Mutex::default() }
    }

    /// Not at all; snapshots have names made from this one.
    pub fn with_snapshots(output: &Path) -> Parts {
        Parts { output: Some(output.to_owned()), ..Parts::one() }
    }

    /// In files of so much time each, with names made from this one.
    pub fn every(time: Duration, output: &Path) -> Parts {
        Parts { every: Some(time), ..Parts::with_snapshots(output) }
    }

    /// Where the last part goes.
    pub fn last(&self, output: &Path) -> PathBuf {
        match &self.every {
            Some(_) => numbered(output, self.written.load(Ordering::Relaxed) + 1),
            None => output.to_owned(),
        }
    }

    /// Does something, and meanwhile has `save` write what the targets with arenas in a directory have done: when it is time
    /// for a part, and when a target was asked for a dump (SIGQUIT, `jcmd`).
    pub fn during<T>(
        &self,
        directory: &Path,
        mut save: impl FnMut(&mut Profile, &Path) -> anyhow::Result<()> + Send,
        body: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let Some(output) = &self.output else { return body() };
        let (done, wait) = mpsc::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                let (mut requests, mut last) = (Requests::default(), Instant::now());
                while let Err(mpsc::RecvTimeoutError::Timeout) = wait.recv_timeout(GLANCE) {
                    let asked = requests.more_in(directory);
                    if !asked && self.every.is_none_or(|every| last.elapsed() < every) {
                        continue;
                    }
                    last = Instant::now();
                    let number = self.written.load(Ordering::Relaxed) + 1;
                    let written = self.next(directory, true).and_then(|part| {
                        let Some((mut part, now)) = part else { return Ok(false) }; // No JVM has started yet.
                        save(&mut part, &numbered(output, number))?;
                        // Only now: if it cannot be written, the next file has this part, too.
                        self.before().extend(now);
                        Ok(true)
                    });
                    match written {
                        Ok(written) => _ = self.written.fetch_add(written.into(), Ordering::Relaxed),
                        Err(error) => eprintln!("quipu: {error:#}"),
                    }
                }
            });
            let result = body();
            drop(done);
            result
        })
    }

    /// What was done since the last part, or at all, when the targets have ended; `None` if there were none.
    pub fn rest(&self, directory: &Path) -> anyhow::Result<Option<Profile>> {
        match self.every {
            Some(_) => Ok(self.next(directory, false)?.map(|(profile, _)| profile)),
            None => collect::from_directory(directory),
        }
    }

    fn before(&self) -> MutexGuard<'_, HashMap<PathBuf, Baseline>> {
        self.before.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, directory: &Path, running: bool) -> anyhow::Result<Option<Part>> {
        let (mut parts, mut now) = (Vec::new(), Vec::new());
        for path in collect::arenas_in(directory)? {
            if running && let Some(pid) = place::pid_of(&path) {
                // Names of what was sampled last must be there; an agent that cannot be asked has told most of them.
                let _ = Control::of_process(pid).and_then(|control| control.ask(&["dump"]));
            }
            let bytes = ArenaFile::open(&path)?.read()?;
            parts.push(import::profile_since(&bytes, self.before().get(&path)).map_err(Failure::target)?);
            if self.every.is_some() {
                now.push((path, Baseline::read(&bytes).map_err(Failure::target)?));
            }
        }
        if running {
            // One that is on its way up will be in the next.
            parts.retain(|part| collect::not_measured(part).is_none());
        }
        Ok(collect::merge(collect::measured(parts)?)?.map(|part| (part, now)))
    }
}

/// Dumps that targets were asked for, as far as they have been seen.
#[derive(Default)]
pub struct Requests(HashMap<PathBuf, u64>);

impl Requests {
    /// Whether a target with an arena in this directory was asked for one more.
    fn more_in(&mut self, directory: &Path) -> bool {
        let arenas = collect::arenas_in(directory).unwrap_or_default();
        // All are looked at: one snapshot answers the requests to all of them.
        arenas
            .iter()
            .filter(|path| ArenaFile::open(path).is_ok_and(|mut arena| self.more(&mut arena)))
            .count()
            > 0
    }

    /// Whether the target with this arena was asked for one more.
    pub fn more(&mut self, arena: &mut ArenaFile) -> bool {
        let Ok(now) = arena.dump_requests() else { return false };
        self.0.insert(arena.path().to_owned(), now).unwrap_or(0) < now
    }
}
