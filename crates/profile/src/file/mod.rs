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

impl Profile {
    /// The bytes of the profile's file. The same content gives the same bytes.
    pub fn to_bytes(&self, contents: Contents) -> Vec<u8> {
        encode::encode(self, contents)
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
