//! What can be wrong with an input, in one sentence each.

use std::fmt;

/// Why something could not be instrumented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// No zip file, or its end is missing.
    NotAZip,
    /// Something in a zip file lies outside of it, or makes no sense.
    Damaged(&'static str),
    /// An entry cannot be unpacked.
    Entry {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The contents are out of all proportion to the file.
    Bomb {
        /// What was allowed.
        limit: u64,
    },
    /// Jars in jars in jars.
    TooDeep,
    /// More than a zip file, or the table of methods, can hold.
    TooLarge(&'static str),
    /// It has been through here before.
    Again,
    /// In a jar within the jar.
    Nested {
        /// Its name.
        name: String,
        /// What is wrong with it.
        error: Box<Error>,
    },
    /// No class file.
    Class(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotAZip => write!(f, "is not a jar, or its end is missing"),
            Error::Damaged(what) => write!(f, "is damaged: {what}"),
            Error::Entry { name, why } => write!(f, "has an entry {name:?} that {why}"),
            Error::Bomb { limit } => {
                write!(f, "unpacks to more than {} MB, which no sensible jar of its size does", limit >> 20)
            }
            Error::TooDeep => write!(f, "has jars within jars, too many levels deep"),
            Error::TooLarge(what) => write!(f, "is too large: {what}"),
            Error::Again => write!(f, "is instrumented already: give the original"),
            Error::Nested { name, error } => write!(f, "has a jar {name:?} that {error}"),
            Error::Class(why) => write!(f, "is not a class file: {why}"),
        }
    }
}

impl std::error::Error for Error {}
