//! Exact profiles, end to end.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod annotate;
mod depth;
mod exceptions;
mod figure5;
mod options;
mod pass_through;
mod same_everywhere;
mod threads;
mod truth;
