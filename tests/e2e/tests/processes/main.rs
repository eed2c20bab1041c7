//! Quipu and the processes around it: how they start, end, are told to end, and fail.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod not_started;
mod outputs;
mod signals;
