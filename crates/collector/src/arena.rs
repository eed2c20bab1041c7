//! Finding and reading the arena of a process.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use quipu_arena::bytes::Bytes;
use quipu_arena::layout::{self, header, tally};
use quipu_arena::place;

/// An open arena file. It stays readable when its name is gone.
#[derive(Debug)]
pub struct ArenaFile {
    file: File,
    path: PathBuf,
}

/// Whether a file is an arena, whatever its name.
pub fn is_arena(path: &Path) -> bool {
    // Profiles begin with the same four letters; theirs go on where an arena has its (small) version.
    const NO_VERSION: u32 = 1 << 16;
    let mut start = [0; 8];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    let word = |at| Bytes(&start).u32(at);
    read.is_ok()
        && word(header::MAGIC) == Some(layout::MAGIC)
        && word(header::VERSION).is_some_and(|version| version < NO_VERSION)
}

impl ArenaFile {
    /// Opens a file.
    pub fn open(path: &Path) -> io::Result<ArenaFile> {
        Ok(ArenaFile { file: File::open(path)?, path: path.to_owned() })
    }

    /// The arena that a running process has open, whatever became of its name.
    pub fn of_process(pid: u32) -> io::Result<Option<ArenaFile>> {
        for entry in fs::read_dir(format!("/proc/{pid}/fd"))?.flatten() {
            let Ok(target) = fs::read_link(entry.path()) else { continue };
            let name = target.to_string_lossy();
            let name = Path::new(name.trim_end_matches(" (deleted)"));
            if place::pid_of(name).is_some() {
                return Ok(Some(ArenaFile { file: File::open(entry.path())?, path: name.to_owned() }));
            }
        }
        Ok(None)
    }

    /// Where it is or was.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The part that is in use: the file is sparse, and as long as it may ever become.
    pub fn read(&mut self) -> io::Result<Vec<u8>> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut bytes = Vec::new();
        (&self.file).take(layout::HEADER_SIZE).read_to_end(&mut bytes)?;
        let used = Bytes(&bytes).u64(header::USED).unwrap_or(0);
        // Never more than the file really has: the number is the target's.
        let there = used.min(self.file.metadata()?.len()).saturating_sub(bytes.len() as u64);
        (&self.file).take(there).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == used {
            self.read_tallies(&mut bytes)?;
        }
        Ok(bytes)
    }

    /// How often the target was asked for a dump.
    pub fn dump_requests(&mut self) -> io::Result<u64> {
        let mut word = [0; 8];
        self.file.seek(SeekFrom::Start(header::DUMP_REQUESTS))?;
        self.file.read_exact(&mut word)?;
        Ok(u64::from_ne_bytes(word))
    }

    /// Writes a file that has all that this one has now, and stays as it is.
    pub fn copy_to(&mut self, path: &Path) -> io::Result<()> {
        let mut copy = File::create(path)?;
        let copied = self.copy_into(&mut copy);
        if copied.is_err() {
            let _ = fs::remove_file(path);
        }
        copied
    }

    /// What is not in use stays a hole.
    fn copy_into(&mut self, copy: &mut File) -> io::Result<()> {
        let bytes = self.read()?;
        let number = |at| Bytes(&bytes).u64(at).unwrap_or(0);
        let (used, limit, each) =
            (number(header::USED), number(header::LIMIT), number(header::TALLY_USED).min(tally::STRIDE));
        let used = usize::try_from(used).unwrap_or(usize::MAX).min(bytes.len());
        let (chunks, tallies) = bytes.split_at(used);
        copy.write_all(chunks)?;
        let each = usize::try_from(each).unwrap_or(usize::MAX).max(1);
        for (i, tally) in (0..).zip(tallies.chunks(each)) {
            let at = u64::checked_mul(i, tally::STRIDE).and_then(|at| at.checked_add(limit));
            copy.seek(SeekFrom::Start(at.ok_or(io::ErrorKind::InvalidData)?))?;
            copy.write_all(tally)?;
        }
        Ok(())
    }

    /// Appends what is used of each tally, as readers expect it.
    fn read_tallies(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let number = |at| Bytes(bytes).u64(at).unwrap_or(0);
        let (limit, count, used) =
            (number(header::LIMIT), number(header::TALLIES), number(header::TALLY_USED).min(tally::STRIDE));
        for i in 0..count.min(tally::MOST) {
            // A file that has no such place has no more tallies either: the reader sees that they are missing.
            let Some(at) = limit.checked_add(i * tally::STRIDE) else { break };
            self.file.seek(SeekFrom::Start(at))?;
            (&self.file).take(used).read_to_end(bytes)?;
        }
        Ok(())
    }
}
