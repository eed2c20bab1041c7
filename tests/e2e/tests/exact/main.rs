//! Exact profiles, end to end.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod figure5;
mod pass_through;
mod truth;
