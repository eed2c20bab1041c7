//! Events that the kernel and the processor count.

use super::SAMPLING;
use crate::{Aggregation, Kind, Metric, OLDEST_JAVA, Recorded, Rewrites, Setting, Unit, Value};

/// What the metric of an event is called: this, and the event's name.
pub const EVENT_METRIC: &str = "event.";

/// Behind the name of an event's metric, that of contexts which were chained and not walked.
pub const CHAINED_METRIC: &str = ".chained";

/// The option that says how contexts of events are found.
pub const CONTEXT: &str = "context";

/// Events that the kernel and the processor count.
pub static EVENT: Kind = Kind {
    switch: Setting {
        many: true,
        bare: Some("page-faults"),
        ..Setting::of(
            "event",
            Value::Text("NAME[:PERIOD]"),
            "Sample stacks by what the kernel and the processor count: page-faults, context-switches, cycles, cache-misses, \
             raw:3c, mem:SYMBOL:x, usdt:hotspot:gc__begin, sched:sched_switch, …, one sample for so many; repeatable; list \
             tells what this machine has",
        )
    },
    title: "Events of the kernel and the processor",
    running: "events: {}",
    options: &[Setting {
        kinds: &["event"],
        default: Some("walk"),
        recorded: Recorded::Chosen,
        ..Setting::of(
            CONTEXT,
            Value::Choice(&[
                ("walk", "The stack is walked"),
                (
                    "chain",
                    "Only its youngest frames are taken, which costs the same however deep it is; their callers are found \
                     afterwards, from other samples",
                ),
                ("both", "Both, and how well the two agree is said at the end"),
                ("none", "The youngest frame only, without any context"),
            ]),
            "How the contexts of events are found",
        )
    }],
    excludes: &[],
    since: OLDEST_JAVA,
    flags: SAMPLING,
    metrics: &[
        Metric {
            name: "event.NAME",
            unit: Unit::Count,
            aggregation: Aggregation::Sum,
            help: "How often the event took place; nanoseconds, of cpu-clock and task-clock",
        },
        Metric {
            name: "event.NAME.chained",
            unit: Unit::Count,
            aggregation: Aggregation::Sum,
            help: "The same in contexts that were chained, with --context both",
        },
    ],
    events: &[],
    cost: "some microseconds for each sample, so it depends on the event and its period",
    rewrites: Rewrites::Never,
    waiting: false,
};
