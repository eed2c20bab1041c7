//! Heaps of real JVMs: dumps against the JVM's own counts and against another reader, a leak that is there on purpose, and
//! questions to a JVM that runs.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod dumps;
mod running;
mod support;
