//! Profiling agents in plain Java, end to end.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod activation;
mod attached;
mod contexts;
mod examples;
mod failure;
mod jars;
mod samples;
mod threads;
mod unknown;
