//! Quipu and the processes around it: how they start, end, are told to end, and fail.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod abandoned;
mod archives;
mod default_kind;
mod environment;
mod huge;
mod not_started;
mod orphans;
mod outputs;
mod refused;
mod same_bytes;
mod signals;
mod snapshots;
mod strangers;
mod suffixes;
mod typos;
