//! Contexts, sampled each time a thread has executed so many bytecodes.

use super::REWRITING;
use crate::{Aggregation, Kind, Metric, OLDEST_JAVA, Recorded, Rewrites, Setting, Unit, Value};

/// Nobody waits for more.
const MOST: u64 = 1 << 40;

/// Contexts, sampled each time a thread has executed so many bytecodes.
pub static BYTECODES: Kind = Kind {
    switch: Setting {
        bare: Some("10000"),
        changeable: true,
        excludes: &["sites", "contexts=app", "contexts=none"],
        ..Setting::of(
            "bytecodes",
            Value::Number { name: "N", least: 1, most: MOST, must: "a number of bytecodes, such as 10000" },
            "Sample the calling context each time a thread has executed N bytecodes: the same samples every run, much \
             cheaper than counting everything",
        )
    },
    title: "Samples every N bytecodes",
    running: "a sample every {} bytecodes",
    options: &[
        Setting {
            default: Some("100"),
            kinds: &["bytecodes"],
            recorded: Recorded::Always,
            ..Setting::of(
                "jitter",
                Value::Number { name: "R", least: 0, most: MOST, must: "a number of bytecodes" },
                "Add a pseudo-random number below R to each N, so that loops do not fall in step with the samples",
            )
        },
        Setting {
            default: Some("1"),
            kinds: &["bytecodes"],
            recorded: Recorded::Always,
            ..Setting::of(
                "seed",
                Value::Number { name: "S", least: 0, most: u64::MAX, must: "a number" },
                "Where the pseudo-random numbers of each thread begin",
            )
        },
    ],
    excludes: &["exact", "root"],
    since: OLDEST_JAVA,
    flags: REWRITING,
    metrics: &[Metric {
        name: "samples.bytecodes",
        unit: Unit::Count,
        aggregation: Aggregation::Sum,
        help: "Samples taken in the context, one for every N bytecodes of a thread",
    }],
    events: &[],
    cost: "most programs are 2 to 4 times slower while it lasts",
    rewrites: Rewrites::Always,
    waiting: false,
};
