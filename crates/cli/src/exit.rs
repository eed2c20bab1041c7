//! Exit statuses, as the command line contract has them.

use std::fmt;

use crate::collect::NotMeasured;

/// Done.
pub const DONE: u8 = 0;
/// A gate failed, or two profiles are not the same.
pub const GATE: u8 = 1;
/// Wrong use: bad arguments, a file that is not what it should be.
pub const USAGE: u8 = 2;
/// The target or the machine could not do it.
pub const TARGET: u8 = 3;

/// The command that ran tests failed, and so did the gate.
pub const BUILD_AND_GATE: u8 = 4;

/// An error with the exit status it leads to.
#[derive(Debug)]
pub struct Failure {
    /// The status.
    pub status: u8,
    /// What to tell the person.
    pub message: String,
}

impl Failure {
    /// Wrong use.
    pub fn usage(message: impl fmt::Display) -> anyhow::Error {
        Failure { status: USAGE, message: message.to_string() }.into()
    }

    /// The target or machine could not do it.
    pub fn target(message: impl fmt::Display) -> anyhow::Error {
        Failure { status: TARGET, message: message.to_string() }.into()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// The status for an error that reached `main`: wrong use, unless something said otherwise.
pub fn status_of(error: &anyhow::Error) -> u8 {
    if error.is::<NotMeasured>() {
        return TARGET;
    }
    error.downcast_ref::<Failure>().map_or(USAGE, |failure| failure.status)
}
