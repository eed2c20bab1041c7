//! The benchmark suite: real programs run plain and profiled in turns, side by side with the peers.
//!
//! A program is a Java file, a kind or a peer a TOML file ([`program`], [`profiler`]); [`workshop`] gets and compiles
//! what they need; [`plan`] says what there is time for; [`schedule`] runs them in turns and checks that they did the work ([`run`], [`process`]);
//! [`statistics`] and [`summary`] make figures of it, [`report`] and [`results`] write them down.

#![forbid(unsafe_code)]

pub mod callgrind;
pub mod classes;
pub mod cost;
pub mod heat;
pub mod history;
pub mod jdk;
pub mod laboratory;
pub mod late;
pub mod launch;
pub mod overview;
pub mod plan;
pub mod plot;
pub mod process;
pub mod profiler;
pub mod program;
pub mod progress;
pub mod report;
pub mod results;
pub mod run;
pub mod schedule;
pub mod statistics;
pub mod summary;
pub mod table;
pub mod workshop;
