//! The `*.quipu` file. `docs/file-format.md` is its description; this module is its only reader and writer.
//!
//! A file is a header and a row of sections. A section is one column or one table, compressed and checksummed on
//! its own, so a reader can skip what it does not know and say which part is damaged. Bounds are checked in one place,
//! [`bytes::Reader`]; how far a file may expand is decided in one place, [`section`].

mod bytes;
mod decode;
mod encode;
mod error;
mod nodes;
mod parallel;
mod section;
mod tables;
mod whole;

pub use error::{FileError, ReadError};
pub use whole::{replace_file, try_place};

use crate::Profile;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// The version this crate writes, and the newest it reads.
pub const FORMAT_VERSION: u32 = 1;

pub(crate) const MAGIC: [u8; 8] = *b"QUIPU\x1a\r\n";

/// Which parts of a profile to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contents {
    /// Everything.
    #[default]
    All,
    /// All but [`Run`](crate::Run): equal for two runs that counted the same.
    WithoutRun,
}

/// A section that two profiles have not in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Differing {
    tag: [u8; 4],
}

impl fmt::Display for Differing {
    /// Its tag, and what it holds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match &self.tag {
            b"STRS" => "names",
            b"METH" => "methods",
            b"SHAP" => "the shape of the trees",
            b"NMET" => "which methods the contexts are of",
            b"THRD" => "threads",
            b"NSIT" => "call sites",
            b"METR" => "counts",
            b"BLKS" => "counts of blocks",
            b"SAMP" => "samples",
            b"LABL" => "labels",
            b"PLAC" => "where in their methods samples were taken",
            b"EVCX" => "contexts of events",
            _ => "events",
        };
        write!(f, "{} ({what})", String::from_utf8_lossy(&self.tag))
    }
}

impl Profile {
    /// The bytes of the profile's file. The same content gives the same bytes.
    pub fn to_bytes(&self, contents: Contents) -> Vec<u8> {
        encode::encode(self, contents)
    }

    /// The first section of the file whose bytes are not the same in another profile, of those that hold what was measured:
    /// all but `META` and `RUN `. `None` if they are all the same.
    pub fn differing_section(&self, other: &Profile) -> Option<Differing> {
        let (mut ours, mut theirs) = (encode::measured(self), encode::measured(other));
        loop {
            let tag = match (ours.next(), theirs.next()) {
                (None, None) => return None,
                (Some(a), Some(b)) if a == b => continue,
                // A section that only one of them has comes before those that follow it in the other.
                (Some((a, _)), Some((b, _))) => a.min(b),
                (Some((tag, _)), None) | (None, Some((tag, _))) => tag,
            };
            return Some(Differing { tag });
        }
    }

    /// Reads a file's bytes. Whatever the bytes are, this neither panics nor allocates out of proportion to them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Profile, ReadError> {
        decode::decode(bytes)
    }

    /// Reads a file.
    pub fn load(path: impl AsRef<Path>) -> Result<Profile, FileError> {
        let path = path.as_ref();
        let bytes = read(path).map_err(|error| FileError::io(path, "read", error))?;
        Profile::from_bytes(&bytes).map_err(|error| FileError::Content { path: path.to_owned(), error })
    }

    /// Writes a file: to a temporary name next to it, synced, then renamed. A crash leaves the old file or the new.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let path = path.as_ref();
        let bytes = self.to_bytes(Contents::All);
        let written = replace_file(path, |file| file.write_all(&bytes));
        written.map_err(|error| FileError::io(path, "write", error))
    }
}

/// The whole file, but no more than its head when that is not ours: the path may be an endless device.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    (&mut file).take(MAGIC.len() as u64).read_to_end(&mut bytes)?;
    if bytes == MAGIC {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
