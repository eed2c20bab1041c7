//! A profile in many files, one after the other, while the target runs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use quipu_arena::place;
use quipu_collector::arena::ArenaFile;
use quipu_collector::control::Control;
use quipu_collector::import::{self, Baseline};
use quipu_profile::Profile;

use crate::collect;
use crate::exit::Failure;
use crate::output::numbered;

/// How a profile is divided.
pub struct Parts {
    every: Option<(Duration, PathBuf)>,
    written: AtomicU32,
    /// What each target had counted when the last file was written.
    before: Mutex<HashMap<PathBuf, Baseline>>,
}

impl Parts {
    /// Not at all.
    pub fn one() -> Parts {
        Parts { every: None, written: AtomicU32::new(0), before: Mutex::default() }
    }

    /// In files of so much time each, with names made from this one.
    pub fn every(time: Duration, output: &Path) -> Parts {
        Parts { every: Some((time, output.to_owned())), ..Parts::one() }
    }

    /// Where the last part goes.
    pub fn last(&self, output: &Path) -> PathBuf {
        match &self.every {
            Some(_) => numbered(output, self.written.load(Ordering::Relaxed) + 1),
            None => output.to_owned(),
        }
    }

    /// Does something, and meanwhile has `save` write what the targets with arenas in a directory have done.
    pub fn during<T>(
        &self,
        directory: &Path,
        mut save: impl FnMut(&mut Profile, &Path) -> anyhow::Result<()> + Send,
        body: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let Some((time, output)) = &self.every else { return body() };
        let (done, wait) = mpsc::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                while let Err(mpsc::RecvTimeoutError::Timeout) = wait.recv_timeout(*time) {
                    let number = self.written.load(Ordering::Relaxed) + 1;
                    let written = self.next(directory, true).and_then(|part| match part {
                        Some(mut part) => save(&mut part, &numbered(output, number)).map(|()| true),
                        None => Ok(false), // No JVM has started yet.
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
            Some(_) => self.next(directory, false),
            None => collect::from_directory(directory),
        }
    }

    fn next(&self, directory: &Path, running: bool) -> anyhow::Result<Option<Profile>> {
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let mut parts = Vec::new();
        for entry in std::fs::read_dir(directory)?.flatten() {
            let path = entry.path();
            let Some(pid) = place::pid_of(&path) else { continue };
            if running {
                // Names of what was sampled last must be there; an agent that cannot be asked has told most of them.
                let _ = Control::of_process(pid).and_then(|control| control.ask(&["dump"]));
            }
            let bytes = ArenaFile::open(&path)?.read()?;
            parts.push(import::profile_since(&bytes, before.get(&path)).map_err(Failure::target)?);
            before.insert(path, Baseline::read(&bytes).map_err(Failure::target)?);
        }
        if running {
            // One that is on its way up will be in the next.
            parts.retain(|part| collect::not_measured(part).is_none());
        }
        collect::merge(collect::measured(parts)?)
    }
}
