//! Sampled profiles, against programs whose true shares are known.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod attached;
mod chained;
mod control;
mod corrected;
mod cpu;
mod depth;
mod doctor;
mod events;
mod fallback;
mod frames;
mod kernel;
mod labels;
mod old_versions;
mod own_program;
mod probes;
mod together;
mod unloading;
mod virtual_threads;
mod wall;
