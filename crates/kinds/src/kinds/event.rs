//! Events that the kernel and the processor count.

use super::SAMPLING;
use crate::{Aggregation, Kind, Metric, OLDEST_JAVA, Rewrites, Setting, Unit, Value};

/// What the metric of an event is called: this, and the event's name.
pub const EVENT_METRIC: &str = "event.";

/// Events that the kernel and the processor count.
pub static EVENT: Kind = Kind {
    switch: Setting {
        many: true,
        bare: Some("page-faults"),
        ..Setting::of(
            "event",
            Value::Text("NAME[:PERIOD]"),
            "Sample stacks by what the kernel and the processor count: page-faults, context-switches, cycles, cache-misses, \
             raw:3c, mem:SYMBOL:x, sched:sched_switch, …, one sample for so many; repeatable; list tells what this machine has",
        )
    },
    title: "Events of the kernel and the processor",
    running: "events: {}",
    options: &[],
    excludes: &[],
    since: OLDEST_JAVA,
    flags: SAMPLING,
    metrics: &[Metric {
        name: "event.NAME",
        unit: Unit::Count,
        aggregation: Aggregation::Sum,
        help: "How often the event took place; nanoseconds, of cpu-clock and task-clock",
    }],
    events: &[],
    cost: "some microseconds for each sample, so it depends on the event and its period",
    rewrites: Rewrites::Never,
    waiting: false,
};
