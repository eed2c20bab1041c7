//! How far the suite is and how long the rest will take: a bar on a terminal, nothing in a pipe.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use crate::history::History;
use crate::program::Split;
use crate::run::Ending;
use crate::schedule::{Record, steady};

const WIDTH: usize = 24;

/// How far the suite is.
pub struct Progress {
    shown: bool,
    verbose: bool,
    history: History,
    begun: Instant,
    last: Instant,
    /// Seconds that all runs, those that ended, and the one at hand were expected to take.
    expected: (f64, f64, f64),
    now: String,
    iterations: usize,
}

/// A run that begins.
pub struct Beginning<'a> {
    /// The JDK's release.
    pub jdk: u32,
    /// The program's name.
    pub program: &'a str,
    /// The profiler's name.
    pub profiler: &'a str,
    /// Which round, from 0, of how many.
    pub round: (usize, usize),
    /// Iterations it takes at least.
    pub iterations: usize,
}

impl Progress {
    /// Of runs that are expected to take so many seconds.
    pub fn new(history: History, seconds: f64, verbose: bool) -> Progress {
        Progress {
            shown: stderr().is_terminal(),
            verbose,
            history,
            begun: Instant::now(),
            last: Instant::now(),
            expected: (seconds, 0.0, 0.0),
            now: String::new(),
            iterations: 0,
        }
    }

    /// A run begins.
    pub fn begin(&mut self, run: &Beginning<'_>) {
        self.expected.2 = self.history.expect(run.jdk, run.program, run.profiler, run.iterations).0;
        let (round, rounds) = run.round;
        self.now =
            format!("{} {} on {}, round {} of {rounds}", run.program, run.profiler, run.jdk, round + 1);
        self.iterations = run.iterations;
        self.last = Instant::now();
        self.tick(0);
    }

    /// So many iterations of it are done.
    pub fn tick(&mut self, iterations: usize) {
        if self.shown {
            let (all, done, now) = self.expected;
            let part = (iterations as f64 / self.iterations.max(1) as f64).min(1.0);
            let share = ((done + now * part) / all.max(0.001)).clamp(0.0, 1.0);
            let full = (share * WIDTH as f64) as usize;
            eprint!(
                "\r\x1b[K[{}{}] {:.0}% · {}: {iterations}/{} · {}",
                "█".repeat(full),
                "·".repeat(WIDTH - full),
                share * 100.0,
                self.now,
                self.iterations,
                left(self.begun.elapsed(), done + now * part, all)
            );
            let _ = stderr().flush();
        }
    }

    /// A run ended.
    pub fn end(&mut self, record: &Record, split: Split) {
        self.expected.1 += self.expected.2;
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

    /// The line is not needed any more.
    pub fn finish(&self) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
    }
}

/// What is left at the pace so far, in the units of what was expected.
fn left(elapsed: Duration, done: f64, all: f64) -> String {
    let rest = (all - done).max(0.0);
    // A pace measured over the first seconds says nothing.
    let pace = if done < 10.0 { 1.0 } else { elapsed.as_secs_f64() / done };
    let seconds = (rest * pace) as u64;
    format!("about {}:{:02} left", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::left;
    use std::time::Duration;

    #[test]
    fn the_rest_goes_on_at_the_pace_so_far() {
        assert_eq!(left(Duration::from_secs(60), 30.0, 90.0), "about 2:00 left");
        assert_eq!(left(Duration::from_secs(5), 1.0, 91.0), "about 1:30 left");
        assert_eq!(left(Duration::from_secs(95), 95.0, 90.0), "about 0:00 left");
    }
}
