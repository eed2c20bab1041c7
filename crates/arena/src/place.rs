//! Where arenas live: a private directory below the user's runtime directory.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// File name extension of arenas.
pub const EXTENSION: &str = "arena";

/// The directory for this user's arenas, made if it is not there. Refuses one that others could
/// have prepared: profiles name the classes and threads of the target.
pub fn directory() -> io::Result<PathBuf> {
    let uid = current_uid()?;
    let dir = match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from) {
        Some(run) if run.is_absolute() && fs::metadata(&run).is_ok_and(|m| m.is_dir() && m.uid() == uid) => {
            run.join("quipu")
        }
        _ => std::env::temp_dir().join(format!("quipu-{uid}")),
    };
    match DirBuilder::new().mode(0o700).create(&dir) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
        _ => {}
    }
    let meta = fs::symlink_metadata(&dir)?;
    if !meta.is_dir() || meta.uid() != uid || meta.mode() & 0o077 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("{} must be a directory of yours that only you can enter (chmod 700)", dir.display()),
        ));
    }
    Ok(dir)
}

/// The uid this process acts as, without a C call.
fn current_uid() -> io::Result<u32> {
    Ok(fs::metadata("/proc/self")?.uid())
}

/// File name for the arena of a process.
pub fn file_name(pid: u32, token: u64) -> String {
    format!("{pid}-{token:016x}.{EXTENSION}")
}

/// Where the target whose arena this is listens to commands.
pub fn socket_of(arena: &Path) -> PathBuf {
    arena.with_extension("socket")
}

/// Name of the directory for the arenas of one run of a process.
pub fn run_name(pid: u32, number: u32) -> String {
    format!("run-{pid}-{number}")
}

/// The process whose run a directory is for.
pub fn run_of(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?.strip_prefix("run-")?;
    name.split('-').next()?.parse().ok()
}

/// The process an arena's file name speaks of.
pub fn pid_of(path: &Path) -> Option<u32> {
    if path.extension()? != EXTENSION {
        return None;
    }
    path.file_stem()?.to_str()?.split_once('-')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_their_process() {
        let name = file_name(42, 7);
        assert_eq!(pid_of(Path::new(&name)), Some(42));
        assert_eq!(run_of(Path::new(&run_name(42, 7))), Some(42));
        assert_eq!(run_of(Path::new("run-x")), None);
        assert_eq!(pid_of(Path::new("42.txt")), None);
        assert_eq!(pid_of(Path::new("x-1.arena")), None);
    }
}
