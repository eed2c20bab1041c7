//! How far the suite is and how long the rest will take: one line on a terminal, nothing in a pipe.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use crate::program::Split;
use crate::run::Ending;
use crate::schedule::{Record, steady};

/// How far the suite is.
pub struct Progress {
    shown: bool,
    verbose: bool,
    begun: Instant,
    done: usize,
    all: usize,
    now: (String, String, usize, usize),
    took: BTreeMap<(String, String), Duration>,
    last: Instant,
}

impl Progress {
    /// Of `all` runs.
    pub fn new(all: usize, verbose: bool) -> Progress {
        Progress {
            shown: stderr().is_terminal(),
            verbose,
            begun: Instant::now(),
            done: 0,
            all,
            now: Default::default(),
            took: BTreeMap::new(),
            last: Instant::now(),
        }
    }

    /// A run begins.
    pub fn begin(&mut self, program: &str, profiler: &str, round: usize, iterations: usize) {
        self.now = (program.to_owned(), profiler.to_owned(), round, iterations);
        self.last = Instant::now();
        self.tick(0);
    }

    /// So many iterations of it are done.
    pub fn tick(&mut self, iterations: usize) {
        if self.shown {
            let (program, profiler, round, of) = &self.now;
            eprint!(
                "\r\x1b[K[{}/{}] {program} {profiler}, round {}: {iterations}/{of} iterations · {}",
                self.done + 1,
                self.all,
                round + 1,
                self.left()
            );
            let _ = stderr().flush();
        }
    }

    /// A run ended.
    pub fn end(&mut self, record: &Record, split: Split) {
        self.done += 1;
        self.took.insert((record.program.clone(), record.profiler.clone()), self.last.elapsed());
        if self.shown {
            eprint!("\r\x1b[K");
        }
        let what =
            format!("{} {} on {}, round {}", record.program, record.profiler, record.jdk, record.round + 1);
        match (&record.wrong, &record.run.ending) {
            (Some(wrong), _) => eprintln!("{what}: WRONG OUTPUT: {wrong}"),
            (None, Ending::Stopped(why) | Ending::Failed(why)) => eprintln!("{what}: {why}"),
            (None, Ending::Done) if self.verbose => {
                let value =
                    |of: fn(&crate::run::Iteration) -> u64| steady(record, split, of).unwrap_or(0.0) / 1e6;
                eprintln!(
                    "{what}: {:.1} ms wall, {:.1} ms CPU, {:.0} s in all",
                    value(|iteration| iteration.wall),
                    value(|iteration| iteration.cpu),
                    record.run.whole as f64 / 1e9
                );
            }
            _ => {}
        }
    }

    /// A run is left out.
    pub fn skip(&mut self) {
        self.done += 1;
    }

    /// The line is not needed any more.
    pub fn finish(&self) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
    }

    fn left(&self) -> String {
        if self.done == 0 {
            return "time left not known yet".to_owned();
        }
        let mean = self.begun.elapsed() / u32::try_from(self.done).unwrap_or(u32::MAX);
        // A run that was made before takes as long again; the others are taken to be like the mean.
        let key = (self.now.0.clone(), self.now.1.clone());
        let this = self.took.get(&key).copied().unwrap_or(mean).saturating_sub(self.last.elapsed());
        let rest = mean * u32::try_from(self.all.saturating_sub(self.done + 1)).unwrap_or(0);
        let seconds = (this + rest).as_secs();
        format!("about {}:{:02} left", seconds / 60, seconds % 60)
    }
}
