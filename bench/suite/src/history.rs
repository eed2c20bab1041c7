//! How long runs took before, to say how long they will take.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// What an iteration of a program that was never run is taken to last, in seconds.
const UNKNOWN_ITERATION: f64 = 0.5;

/// How much longer a run takes under a profiler that was never used.
const UNKNOWN_FACTOR: f64 = 2.0;

/// What earlier runs took.
#[derive(Clone, Debug, Default)]
pub struct History {
    took: BTreeMap<Key, Took>,
}

/// JDK, program, profiler.
type Key = (u32, String, String);

#[derive(Clone, Copy, Debug)]
struct Took {
    seconds: f64,
    iterations: usize,
    /// One that failed or was stopped is not repeated.
    done: bool,
}

/// The parts of a results file that matter here.
#[derive(Deserialize)]
struct Results {
    runs: Vec<PastRun>,
}

#[derive(Deserialize)]
struct PastRun {
    jdk: u32,
    program: String,
    profiler: String,
    run: PastTimes,
}

#[derive(Deserialize)]
struct PastTimes {
    whole: u64,
    iterations: Vec<serde::de::IgnoredAny>,
    ending: PastEnding,
}

#[derive(Deserialize)]
struct PastEnding {
    how: String,
}

impl History {
    /// From the results in the repository, then those of the last run here. A file that cannot be read is no history.
    pub fn load(results: &Path, last: &Path) -> History {
        let mut files: Vec<PathBuf> =
            fs::read_dir(results).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        files.sort();
        files.push(last.to_owned());
        let mut history = History::default();
        for file in files {
            let text = fs::read_to_string(file).unwrap_or_default();
            if let Ok(results) = serde_json::from_str::<Results>(&text) {
                results.runs.into_iter().for_each(|run| history.learn(run));
            }
        }
        history
    }

    fn learn(&mut self, past: PastRun) {
        let took = Took {
            seconds: past.run.whole as f64 / 1e9,
            iterations: past.run.iterations.len(),
            done: past.run.ending.how == "done",
        };
        self.took.insert((past.jdk, past.program, past.profiler), took);
    }

    /// Seconds that a run of so many iterations will take, and whether it is worth repeating.
    pub fn expect(&self, jdk: u32, program: &str, profiler: &str, iterations: usize) -> (f64, bool) {
        match self.find(jdk, program, profiler) {
            Some(took) if !took.done || took.iterations == 0 => (took.seconds, took.done),
            Some(took) => (took.seconds / took.iterations as f64 * iterations as f64, true),
            None => {
                let factor = if profiler == "plain" { 1.0 } else { self.factor(profiler) };
                let plain = self.find(jdk, program, "plain").filter(|took| took.iterations > 0);
                let iteration = plain.map_or(UNKNOWN_ITERATION, |took| took.seconds / took.iterations as f64);
                (factor * iteration * iterations as f64, true)
            }
        }
    }

    /// On this JDK, or any other.
    fn find(&self, jdk: u32, program: &str, profiler: &str) -> Option<Took> {
        let key = (jdk, program.to_owned(), profiler.to_owned());
        let elsewhere = || self.took.iter().find(|(it, _)| it.1 == key.1 && it.2 == key.2);
        self.took.get(&key).or_else(|| elsewhere().map(|(_, took)| took)).copied()
    }

    /// How much longer runs take under a profiler, on average over the programs it was used with.
    fn factor(&self, profiler: &str) -> f64 {
        let its = self.took.iter().filter(|(key, took)| key.2 == profiler && took.done);
        let ratios: Vec<f64> = its
            .filter_map(|(key, took)| {
                let plain = self.took.get(&(key.0, key.1.clone(), "plain".to_owned()))?;
                let each = |took: &Took| took.seconds / took.iterations.max(1) as f64;
                Some(each(took) / each(plain))
            })
            .collect();
        crate::statistics::geometric_mean(&ratios).unwrap_or(UNKNOWN_FACTOR)
    }
}

#[cfg(test)]
mod tests {
    use super::{History, PastEnding, PastRun, PastTimes};

    fn past(program: &str, profiler: &str, seconds: u64, iterations: usize, how: &str) -> PastRun {
        PastRun {
            jdk: 17,
            program: program.to_owned(),
            profiler: profiler.to_owned(),
            run: PastTimes {
                whole: seconds * 1_000_000_000,
                iterations: (0..iterations).map(|_| serde::de::IgnoredAny).collect(),
                ending: PastEnding { how: how.to_owned() },
            },
        }
    }

    #[test]
    fn what_was_run_takes_as_long_again() {
        let mut history = History::default();
        history.learn(past("javac", "plain", 10, 20, "done"));
        history.learn(past("javac", "exact", 30, 20, "done"));
        history.learn(past("javac", "slow", 60, 1, "stopped"));
        history.learn(past("h2", "plain", 8, 4, "done"));
        assert_eq!(history.expect(17, "javac", "plain", 10), (5.0, true));
        assert_eq!(history.expect(25, "javac", "exact", 40), (60.0, true), "as on another JDK");
        assert_eq!(history.expect(17, "javac", "slow", 40), (60.0, false), "stopped after so long");
        let (seconds, _) = history.expect(17, "h2", "exact", 4);
        assert!((seconds - 24.0).abs() < 1e-9, "three times the plain run: {seconds}");
        assert_eq!(history.expect(17, "new", "unknown", 10), (10.0, true));
    }
}
