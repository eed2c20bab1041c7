//! How much work a test does.

use std::collections::BTreeMap;

use quipu_profile::{Profile, Thread};

use super::tests::INITIALISATION_SUFFIX;

/// What a test did, all its runs together: a parameterised test is run many times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// How often it ran.
    pub runs: u64,
    /// Bytecodes executed.
    pub bytecodes: u64,
    /// Methods called, its own included.
    pub calls: u64,
    /// Instructions that make objects or arrays; none if they were not counted.
    pub allocations: Option<u64>,
}

impl Work {
    /// What can be gated.
    pub const METRICS: [&'static str; 3] = ["bytecodes", "calls", "allocations"];

    /// One of the counts by the name of its metric.
    pub fn get(&self, metric: &str) -> Option<u64> {
        match metric {
            "bytecodes" => Some(self.bytecodes),
            "calls" => Some(self.calls),
            "allocations" => self.allocations,
            _ => None,
        }
    }
}

/// The work of every test of a profile that [`of_tests`](super::of_tests) made.
pub fn works(profile: &Profile) -> BTreeMap<String, Work> {
    let is_test = |thread: &&Thread| !profile.str(thread.name).ends_with(INITIALISATION_SUFFIX);
    let tests = profile.threads().iter().filter(is_test);
    tests.map(|thread| (profile.str(thread.name).to_owned(), work(profile, thread))).collect()
}

fn work(profile: &Profile, thread: &Thread) -> Work {
    let tree = profile.tree();
    let values = |metric: &str| profile.metric(metric).map(|metric| metric.values());
    let sum = |values: &[u64]| {
        tree.subtree(thread.root).fold(0u64, |sum, node| sum.saturating_add(values[node as usize]))
    };
    let total = |metric: &str| values(metric).map(sum);
    let runs = values("calls").map_or(0, |calls| {
        tree.children(thread.root).fold(0u64, |sum, node| sum.saturating_add(calls[node as usize]))
    });
    Work {
        runs,
        bytecodes: total("bytecodes").unwrap_or(0),
        calls: total("calls").unwrap_or(0),
        allocations: total("allocations"),
    }
}
