//! From arena files to a profile.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use quipu_arena::place;
use quipu_collector::import;
use quipu_profile::Profile;

/// The merged profile of all arenas in a directory; `None` if there are none.
pub fn from_directory(directory: &Path) -> anyhow::Result<Option<Profile>> {
    let mut arenas: Vec<PathBuf> = fs::read_dir(directory)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| place::pid_of(path).is_some())
        .collect();
    arenas.sort();
    let mut profiles = Vec::new();
    for path in &arenas {
        profiles.push(from_file(path)?);
    }
    Ok(match profiles.len() {
        0 | 1 => profiles.pop(),
        _ => Some(Profile::merge(&profiles.iter().collect::<Vec<_>>())?),
    })
}

/// The profile in one arena file.
pub fn from_file(path: &Path) -> anyhow::Result<Profile> {
    let bytes = read_used(path).with_context(|| format!("cannot read {}", path.display()))?;
    import::profile(&bytes).map_err(|e| anyhow::anyhow!("{} {e}", path.display()))
}

/// The part of an arena file that is in use: the file is sparse and as long as it may ever become.
fn read_used(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut file = fs::File::open(path)?;
    let mut bytes = vec![0; usize::try_from(quipu_arena::layout::HEADER_SIZE).unwrap_or(0)];
    let n = file.read(&mut bytes)?;
    bytes.truncate(n);
    let used = quipu_arena::bytes::Bytes(&bytes).u64(quipu_arena::layout::header::USED).unwrap_or(0);
    let rest = used.saturating_sub(n as u64);
    file.take(rest).read_to_end(&mut bytes)?;
    Ok(bytes)
}
