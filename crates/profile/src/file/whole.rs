//! Files that are written whole or not at all.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Has a file written under a temporary name next to it, syncs it, and gives it its name. If anything fails, what was
/// there before still is, and nothing else. A device or pipe cannot be replaced, only written to.
pub fn replace_file<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    let target = followed(path);
    if fs::metadata(&target).is_ok_and(|found| !found.is_file()) {
        return write(&mut File::options().write(true).open(&target)?);
    }
    let temporary = temporary_name(&target);
    let mut file = File::create_new(&temporary)?;
    let written = write(&mut file).and_then(|()| {
        file.sync_all()?;
        Ok(fs::rename(&temporary, &target)?)
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
        return written;
    }
    // The rename is durable once the directory is; a file system that cannot sync directories has done its best.
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Tries whether [`replace_file`] could begin, and leaves everything as it was.
pub fn try_place(path: &Path) -> io::Result<()> {
    let target = followed(path);
    match fs::metadata(&target) {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        // Opening one for a try can block, or tell its reader that all is over.
        Ok(found) if !found.is_file() => Ok(()),
        found => {
            if found.is_ok() {
                // Who has made it read-only wants it kept, although another file could take its name.
                File::options().append(true).open(&target)?;
            }
            let temporary = temporary_name(&target);
            File::create_new(&temporary)?;
            fs::remove_file(&temporary)
        }
    }
}

/// What a link points to is replaced, not the link.
fn followed(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn temporary_name(target: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".{}-{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    target.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("quipu-whole-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        folder
    }

    #[test]
    fn a_failure_leaves_what_was_there_and_nothing_else() {
        let folder = folder("failure");
        let path = folder.join("file");
        replace_file(&path, |file| file.write_all(b"old")).unwrap();
        let failed = replace_file(&path, |file| {
            file.write_all(b"ne")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        });
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_try_says_what_is_wrong_and_changes_nothing() {
        let folder = folder("try");
        try_place(&folder.join("new")).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        let kind = |path: &Path| try_place(path).unwrap_err().kind();
        assert_eq!(kind(&folder), io::ErrorKind::IsADirectory);
        assert_eq!(kind(&folder.join("missing/file")), io::ErrorKind::NotFound);
        fs::write(folder.join("file"), b"old").unwrap();
        assert_eq!(kind(&folder.join("file/below")), io::ErrorKind::NotADirectory);
        try_place(&folder.join("file")).unwrap();
        assert_eq!(fs::read(folder.join("file")).unwrap(), b"old");
        try_place(Path::new("/dev/full")).unwrap();
        fs::remove_dir_all(folder).unwrap();
    }
}
