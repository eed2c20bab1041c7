//! Metrics that samples have values of: each is declared in the arena when its kind begins, and samples carry its number.

use std::sync::Mutex;

use quipu_arena::layout::{aggregation, parts};
use quipu_arena::record::Record;
use quipu_arena::writer::ArenaWriter;
use quipu_kinds::{Aggregation, Metric};

use crate::locks::lock;

/// A metric as it is told to the arena.
pub struct Declared<'a> {
    /// Its name in profiles.
    pub name: &'a str,
    /// What it is, as its kind says.
    pub like: &'a Metric,
    /// What one sample stands for, in the metric's unit.
    pub period: u64,
    /// One of [`parts`].
    pub parts: u32,
    /// The metric that numbers of occurrences go to; empty if there is none.
    pub count: &'a str,
}

impl<'a> Declared<'a> {
    /// A metric of a kind, each of whose samples stands for so much.
    pub fn of(metric: &'a Metric, period: u64) -> Declared<'a> {
        Declared { name: metric.name, like: metric, period, parts: parts::NONE, count: "" }
    }
}

/// Names by number. A name keeps its number as long as the process lives.
static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Tells the arena of a metric, and returns its number; 0, which samples cannot have, if there are too many.
pub fn declare(arena: &ArenaWriter, metric: &Declared<'_>) -> u16 {
    let mut names = lock(&NAMES);
    let at = names.iter().position(|name| name == metric.name).unwrap_or(names.len());
    let Ok(id) = u16::try_from(at + 1) else { return 0 };
    if at == names.len() {
        names.push(metric.name.to_owned());
    }
    // A full arena has no room for samples either.
    let _ = arena.log(&Record::Metric {
        id: id.into(),
        aggregation: match metric.like.aggregation {
            Aggregation::Sum => aggregation::SUM,
            Aggregation::Count => aggregation::COUNT,
        },
        parts: metric.parts,
        period: metric.period,
        name: metric.name.as_bytes(),
        unit: metric.like.unit.as_str().as_bytes(),
        count: metric.count.as_bytes(),
    });
    id
}
