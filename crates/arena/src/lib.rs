//! The arena: a memory-mapped file in which a live profile is kept.
//!
//! Design constraints, in this order:
//!
//! 1. *An event costs constant time.* Probes in the target update fixed-layout nodes with plain
//!    loads and stores; each tree has one writing thread, so no count needs an atomic operation.
//! 2. *A killed target leaves its profile.* The pages belong to the file, not to the process.
//! 3. *The reader trusts nothing.* It works on plain bytes, checks every offset and length, and is
//!    free of `unsafe`; an arena full of noise yields an error or an empty profile, never a panic.
//! 4. *The two sides cannot drift.* [`layout`] is the only description of the format: Rust asserts
//!    it at compile time and [`java`] prints it as the constants that the Java runtime is compiled with.
//!
//! The format itself is described in `docs/arena.md`.
//!
//! `unsafe` is allowed in [`writer`] and `tally` alone, which map the file and store into it through raw
//! pointers while the JVM's threads do the same.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod append;
pub mod bytes;
pub mod counting;
pub mod follow;
mod forget;
pub mod java;
pub mod layout;
pub mod place;
pub mod reader;
pub mod record;
pub mod sampled;
mod tally;
pub mod watched;
pub mod writer;
