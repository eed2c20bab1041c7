//! From arena files to a profile.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use quipu_arena::place;
use quipu_collector::arena::{ArenaFile, is_arena};
use quipu_collector::import;
use quipu_profile::Profile;

use crate::exit::Failure;
use crate::progress;

/// The merged profile of all arenas in a directory; `None` if there are none.
pub fn from_directory(directory: &Path) -> anyhow::Result<Option<Profile>> {
    merge(all_in(directory)?)
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

/// A profile from a `.quipu` file, or from an arena: of a target that was killed, or that had no agent.
pub fn load(path: &Path) -> anyhow::Result<Profile> {
    if is_arena(path) {
        return from_arena(path);
    }
    progress::during(format!("reading {}", path.display()), || Profile::load(path)).map_err(Failure::usage)
}
