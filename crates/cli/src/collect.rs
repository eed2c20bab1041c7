//! From arena files to a profile.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use quipu_arena::place;
use quipu_collector::arena::{ArenaFile, is_arena};
use quipu_collector::control::ControlError;
use quipu_collector::import;
use quipu_kinds::Chosen;
use quipu_profile::Profile;

use crate::ctl::ask;
use crate::exit::Failure;
use crate::progress;

/// The merged profile of all arenas in a directory; `None` if there are none.
pub fn from_directory(directory: &Path) -> anyhow::Result<Option<Profile>> {
    merge(measured(all_in(directory)?)?)
}

/// In none of the JVMs anything was measured: there is nothing that another attempt could read.
#[derive(Debug)]
pub struct NotMeasured(String);

impl fmt::Display for NotMeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotMeasured {}

/// Leaves out JVMs in which nothing was measured, and says why; [`NotMeasured`] if that is so of all of them.
pub fn measured(profiles: Vec<Profile>) -> anyhow::Result<Vec<Profile>> {
    let mut why_not = Vec::new();
    let mut good = Vec::new();
    for profile in profiles {
        match not_measured(&profile) {
            Some(why) => {
                let pid = profile.run.pid.map_or("?".to_owned(), |pid| pid.to_string());
                why_not.push(format!("JVM {pid} was not profiled: {why}"));
            }
            None => good.push(profile),
        }
    }
    if good.is_empty() && !why_not.is_empty() {
        return Err(NotMeasured(why_not.join("\nquipu: ")).into());
    }
    why_not.iter().for_each(|why| eprintln!("quipu: {why}"));
    Ok(good)
}

/// Says what was chosen. What was changed while the target ran, the target has told.
pub fn tell_options(profile: &mut Profile, chosen: &Chosen) {
    let options = &mut profile.meta.options;
    let told: Vec<String> = options.iter().map(|(name, _)| name.clone()).collect();
    options.extend(chosen.recorded().into_iter().filter(|(name, _)| !told.contains(name)));
}

/// Why nothing was measured in a JVM that had an agent; `None` if something was.
pub fn not_measured(profile: &Profile) -> Option<String> {
    let mut said = profile.run.extra.iter().filter(|(key, _)| key == "start.failed");
    match said.next() {
        Some((_, why)) => Some(why.clone()),
        // What VM it is, an agent tells when it begins.
        None if profile.meta.jvm.version.is_empty() => Some(
            "it ended before it was up; see what it said above, and whether it runs without quipu".to_owned(),
        ),
        None => None,
    }
}

/// The profiles of all arenas in a directory.
pub fn all_in(directory: &Path) -> anyhow::Result<Vec<Profile>> {
    arenas_in(directory)?.iter().map(|path| from_arena(path)).collect()
}

/// The arenas in a directory.
pub fn arenas_in(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut arenas: Vec<PathBuf> = fs::read_dir(directory)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| place::pid_of(path).is_some())
        .collect();
    arenas.sort();
    Ok(arenas)
}

/// The error for a profile that could not be written, and is in these arenas still.
pub fn kept(error: &anyhow::Error, arenas: &[PathBuf]) -> anyhow::Error {
    let arenas: Vec<String> = arenas.iter().map(|path| path.display().to_string()).collect();
    Failure::target(format!(
        "{error:#}\nquipu: what was measured is kept. Write it to another file with: quipu merge {} -o FILE",
        arenas.join(" ")
    ))
}

/// All profiles in one; `None` if there are none.
pub fn merge(mut profiles: Vec<Profile>) -> anyhow::Result<Option<Profile>> {
    Ok(match profiles.len() {
        0 | 1 => profiles.pop(),
        _ => {
            let parts: Vec<&Profile> = profiles.iter().collect();
            Some(progress::during("adding profiles up", || Profile::merge(&parts))?)
        }
    })
}

/// The profile in one arena file.
pub fn from_arena(path: &Path) -> anyhow::Result<Profile> {
    progress::during(format!("reading {}", path.display()), || {
        let bytes = ArenaFile::open(path).and_then(|mut arena| arena.read());
        let bytes = bytes.with_context(|| format!("cannot read {}", path.display()))?;
        import::profile(&bytes).map_err(|e| Failure::usage(format!("{} {e}", path.display())))
    })
}

/// The profile of a process so far, which goes on.
pub fn live(pid: u32) -> anyhow::Result<Profile> {
    ask(pid, &["dump".to_owned()])?;
    let arena = ArenaFile::of_process(pid).map_err(Failure::target)?;
    let mut arena = arena.ok_or_else(|| Failure::target(ControlError::NoAgent))?;
    let mut profile = import::profile(&arena.read()?).map_err(Failure::target)?;
    profile.meta.target.command = vec!["attach".to_owned(), profile.meta.target.main.clone()];
    Ok(profile)
}

/// The process that is meant by what could be a file's name, and is none.
fn process(path: &Path) -> Option<u32> {
    path.to_str().filter(|_| !path.exists())?.parse().ok()
}

/// A profile from a `.quipu` file, or from an arena: of a target that was killed, or that had no agent; or the one that is being
/// taken of a process.
pub fn load(path: &Path) -> anyhow::Result<Profile> {
    if let Some(pid) = process(path) {
        return progress::during(format!("reading the profile of process {pid}"), || live(pid));
    }
    if is_arena(path) {
        return from_arena(path);
    }
    progress::during(format!("reading {}", path.display()), || Profile::load(path)).map_err(Failure::usage)
}
