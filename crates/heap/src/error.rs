//! What can be wrong with a dump, each with the place in the file.

use std::fmt;
use std::io;

/// Why a dump could not be read, or a question about it not be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeapError {
    /// The file does not begin like a dump.
    #[error("this is not a heap dump: it does not begin with 'JAVA PROFILE 1.0.1' or '1.0.2' ({found})")]
    NotADump {
        /// How it begins instead.
        found: String,
    },
    /// The size of ids is none that is known.
    #[error("ids of {size} bytes at offset {offset}: 4 and 8 are known")]
    IdSize {
        /// The size that the file says.
        size: u32,
        /// Where it says so.
        offset: u64,
    },
    /// There is no heap in it.
    #[error("there are no objects in this dump ({})", damage_or_whole(.0))]
    Empty(Vec<Damage>),
    /// The file, the machine or the place for intermediate results failed.
    #[error("{doing} at offset {offset}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// Where in the file.
        offset: u64,
        /// The system's answer.
        source: io::Error,
    },
    /// A question that this dump has no answer to.
    #[error("{0}")]
    Question(String),
}

fn damage_or_whole(damage: &[Damage]) -> String {
    damage.first().map_or("it is whole, but for them".to_owned(), ToString::to_string)
}

/// A place where a dump is not as it should be. What is before it, and what comes in later segments, was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The offset in the file.
    pub offset: u64,
    /// What was found there.
    pub what: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {}: {}", self.offset, self.what)
    }
}

/// Why reading stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The record goes on behind the end of what it is in.
    Short { offset: u64 },
    /// Something that cannot be.
    Bad(Damage),
    /// The file could not be read.
    Io { offset: u64, source: io::Error },
}

impl Stop {
    pub(crate) fn bad(offset: u64, what: impl Into<String>) -> Stop {
        Stop::Bad(Damage { offset, what: what.into() })
    }

    /// What is wrong with the dump; or that the machine failed.
    pub(crate) fn damage(self) -> Result<Damage, HeapError> {
        match self {
            Stop::Short { offset } => {
                Ok(Damage { offset, what: "the dump ends in the middle of a record".to_owned() })
            }
            Stop::Bad(damage) => Ok(damage),
            Stop::Io { offset, source } => Err(HeapError::Io { doing: "reading the dump", offset, source }),
        }
    }
}
