//! One JVM that is attached to again and again: each profile is as a first one would be, and nothing is left behind.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod growth;
mod pairs;
mod steady;
