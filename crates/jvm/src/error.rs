//! One error for both interfaces: which call failed, and why.

use crate::sys::{JVMTI_ERROR_NONE, jint, jvmtiError};
use std::fmt;

/// Shorthand for this crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A call into the VM that did not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The JNI or JVMTI function.
    pub call: &'static str,
    /// What it answered.
    pub cause: Cause,
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// A JVMTI error code.
    Jvmti(jvmtiError),
    /// A JNI error code.
    Jni(jint),
    /// Java code threw; the exception was cleared, this is its `toString()` as far as that could be had.
    Exception(String),
    /// This VM's table has no such function: it is older than the function.
    Unavailable,
    /// A null where an object was due.
    Null,
    /// An argument the interface cannot carry: a text with a NUL in it, or more than 2³¹-1 of something.
    Argument,
}

impl Error {
    pub(crate) fn new(call: &'static str, cause: Cause) -> Self {
        Self { call, cause }
    }

    pub(crate) fn check(call: &'static str, code: jvmtiError) -> Result<()> {
        if code == JVMTI_ERROR_NONE { Ok(()) } else { Err(Self::new(call, Cause::Jvmti(code))) }
    }

    /// Whether JVMTI answered with this code.
    pub fn is(&self, code: jvmtiError) -> bool {
        self.cause == Cause::Jvmti(code)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Jvmti(code) => match code.name() {
                Some(name) => write!(f, "{} failed: {name}", self.call),
                None => write!(f, "{} failed: JVMTI error {}", self.call, code.0),
            },
            Cause::Jni(code) => write!(f, "{} failed: JNI error {code}", self.call),
            Cause::Exception(text) => write!(f, "{} threw {text}", self.call),
            Cause::Unavailable => write!(f, "this JVM has no {}", self.call),
            Cause::Null => write!(f, "{} gave no object", self.call),
            Cause::Argument => write!(f, "{} cannot take such an argument", self.call),
        }
    }
}

impl std::error::Error for Error {}
