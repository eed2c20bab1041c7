//! Arenas that targets have left behind: of those that were killed, and of runs whose own process was.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use quipu_arena::place;
use rustix::fs::{FlockOperation, flock};

/// An arena that no process uses.
#[derive(Debug)]
pub struct Orphan {
    /// Where it is.
    pub path: PathBuf,
    /// How long ago it was written to.
    pub age: Duration,
    /// What it takes on the disk; the file itself is longer.
    pub bytes: u64,
}

impl Orphan {
    /// Removes it, with what belongs to it.
    pub fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)?;
        let _ = fs::remove_file(place::socket_of(&self.path));
        Ok(())
    }
}

/// Those in the directory for arenas, and in those of runs below it.
pub fn list(directory: &Path) -> Vec<Orphan> {
    let mut found = Vec::new();
    find(directory, &mut found);
    for run in runs(directory) {
        find(&run, &mut found);
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Removes what is left of runs that have no arenas any more, and sockets of processes that are gone.
pub fn sweep(directory: &Path) {
    for run in runs(directory) {
        let empty = entries(&run).all(|path| place::pid_of(&path).is_none());
        if empty {
            let _ = fs::remove_dir_all(run);
        }
    }
    for path in entries(directory) {
        let arena = path.with_extension(place::EXTENSION);
        // The arena of a process that is attached to has no name, but that process is there.
        if path == place::socket_of(&path) && place::pid_of(&arena).is_some_and(is_gone) && !arena.exists() {
            let _ = fs::remove_file(path);
        }
    }
}

/// Directories of runs that are over.
fn runs(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let over = |path: &PathBuf| place::run_of(path).is_some_and(is_gone) && path.is_dir() && is_free(path);
    entries(directory).filter(over)
}

fn find(directory: &Path, found: &mut Vec<Orphan>) {
    for path in entries(directory) {
        if !place::pid_of(&path).is_some_and(is_gone) || !is_free(&path) {
            continue;
        }
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        let age = metadata.modified().ok().and_then(|time| SystemTime::now().duration_since(time).ok());
        found.push(Orphan { age: age.unwrap_or_default(), bytes: metadata.blocks() * 512, path });
    }
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn is_gone(pid: u32) -> bool {
    !Path::new(&format!("/proc/{pid}")).exists()
}

/// Whether no process holds a lock on it. A process of another container is not seen by its id, but its lock is.
fn is_free(path: &Path) -> bool {
    let lock = |file: File| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    File::open(path).is_ok_and(lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No process has it: larger than the kernel's limit.
    const NOBODY: u32 = 0x7fff_fff0;

    fn names(directory: &Path) -> Vec<String> {
        let name = |orphan: &Orphan| orphan.path.strip_prefix(directory).unwrap().display().to_string();
        list(directory).iter().map(name).collect()
    }

    #[test]
    fn what_nobody_uses_is_found_wherever_it_is() {
        let directory = std::env::temp_dir().join(format!("quipu-orphans-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        let (us, nobody) = (std::process::id(), NOBODY);
        let files = [
            format!("{nobody}-0000000000000001.arena"),
            format!("{us}-0000000000000002.arena"),
            format!("run-{nobody}-0/{nobody}-0000000000000003.arena"),
            format!("run-{us}-0/{nobody}-0000000000000004.arena"),
            format!("run-{nobody}-1/{nobody}-0000000000000005.socket"),
            format!("{nobody}-0000000000000006.arena"),
            format!("{nobody}-0000000000000007.socket"),
            format!("{us}-0000000000000008.socket"),
        ];
        for file in &files {
            let path = directory.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        // Of a process that is not to be seen from here.
        let locked = File::open(directory.join(&files[5])).unwrap();
        flock(&locked, FlockOperation::LockShared).unwrap();
        assert_eq!(names(&directory), [files[0].as_str(), files[2].as_str()]);
        list(&directory).iter().for_each(|orphan| orphan.remove().unwrap());
        sweep(&directory);
        let left = |file: &String| directory.join(file).exists();
        assert_eq!(
            files.iter().map(left).collect::<Vec<_>>(),
            [false, true, false, true, false, true, false, true]
        );
        assert!(!directory.join(format!("run-{nobody}-0")).exists());
        fs::remove_dir_all(directory).unwrap();
    }
}
