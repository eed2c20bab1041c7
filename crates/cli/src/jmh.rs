//! `quipu jmh`: benchmarks that count.

use std::ffi::OsString;

use clap::Args;

use crate::deterministic;
use crate::kinds;
use crate::launch::{self, Reach, RunDirectory};

/// Run JMH with the profiler `-prof quipu`: bytecodes, calls and allocation instructions of each operation.
///
/// Counted is what the benchmark's method does, without JMH's own loop and without class initialisation. Where it
/// always does the same, the error is 0. JMH prints the numbers as metrics beside its own, in every format it has.
/// Times that it measures meanwhile are those of instrumented code: compare counts here, and times without Quipu.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  quipu jmh -- java -jar target/benchmarks.jar -prof quipu
  quipu jmh -- java -jar target/benchmarks.jar -prof quipu -f 1 -wi 1 -i 3 -r 100ms -rf json")]
pub struct Jmh {
    /// Most memory for a profile while a JVM runs, e.g. 500M or 8G [default: 10% of RAM, at most 4G]
    #[arg(long, value_name = "SIZE", value_parser = kinds::size)]
    arena_limit: Option<u64>,

    /// The command that runs JMH
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Jmh {
    /// Runs the command; the result is its exit status.
    pub fn run(self) -> anyhow::Result<u8> {
        let directory = RunDirectory::new()?;
        let program = self.command.first().cloned().unwrap_or_default();
        let chosen = kinds::for_tests(self.arena_limit, false)?;
        let flags = launch::waiting_flags(&chosen, &directory, &deterministic::flags(&program))?;
        let ended = launch::run(&self.command, &flags, Reach::All { quiet: false }, &directory)?;
        Ok(launch::exit_status(ended.status))
    }
}
