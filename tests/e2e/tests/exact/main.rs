//! Exact profiles, end to end.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod annotate;
mod collected;
mod depth;
mod exceptions;
mod figure5;
mod intrinsics;
mod levels;
mod natives;
mod options;
mod overflow;
mod pass_through;
mod same_everywhere;
mod size;
mod threads;
mod truth;
