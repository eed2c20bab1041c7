//! What can be wrong with a file, in sentences.

use super::FORMAT_VERSION;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What is wrong with a file's content.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    /// Nothing in it.
    #[error("the file is empty")]
    Empty,
    /// Something else.
    #[error("this is not a Quipu profile")]
    Foreign,
    /// From a later release.
    #[error(
        "the profile has format version {version} and this quipu reads up to {FORMAT_VERSION}: use a newer quipu"
    )]
    Newer {
        /// The version it claims.
        version: u32,
    },
    /// Cut short.
    #[error("the profile is truncated: {at} bytes and no end mark")]
    Truncated {
        /// How much is there.
        at: usize,
    },
    /// A checksum does not match.
    #[error("the profile is damaged: the checksum of section {section} at byte {offset} is wrong")]
    Checksum {
        /// Which section.
        section: String,
        /// Where it starts.
        offset: usize,
    },
    /// A section that must be there is not.
    #[error("the profile is damaged: section {section} is missing")]
    Missing {
        /// Which section.
        section: String,
    },
    /// Expands further than a file of its size may.
    #[error(
        "the profile is damaged: section {section} claims {bytes} bytes, more than a file of this size may hold"
    )]
    TooLarge {
        /// Which section.
        section: String,
        /// Its claim.
        bytes: u64,
    },
    /// The bytes are intact and make no sense.
    #[error("the profile is damaged: section {section}: {what}")]
    Malformed {
        /// Which section.
        section: String,
        /// What does not hold.
        what: String,
    },
}

/// A [`ReadError`] or an operating system error, with the file's name.
#[derive(Debug, Error)]
pub enum FileError {
    /// The operating system refused.
    #[error("cannot {action} {}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// `read` or `write`.
        action: &'static str,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// The content is wrong.
    #[error("cannot read {}: {error}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        error: ReadError,
    },
}

impl FileError {
    pub(crate) fn io(path: &Path, action: &'static str, error: io::Error) -> FileError {
        FileError::Io { path: path.to_owned(), action, error }
    }
}
