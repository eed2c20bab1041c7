//! Waiting for locks.

use crate::{Aggregation, Event, Kind, Metric, Setting, Unit, Value};

const fn time(name: &'static str, help: &'static str) -> Metric {
    Metric { name, unit: Unit::Nanoseconds, aggregation: Aggregation::Sum, help }
}

const fn count(name: &'static str, help: &'static str) -> Metric {
    Metric { name, unit: Unit::Count, aggregation: Aggregation::Sum, help }
}

/// Waiting for locks: monitors, and those of `java.util.concurrent`.
pub static LOCKS: Kind = Kind {
    switch: Setting {
        bare: Some("10us"),
        changeable: true,
        ..Setting::of(
            "locks",
            Value::Time,
            "Tell where threads wait for locks that others hold, for at least so long: monitors and those of \
             java.util.concurrent, by lock, by who waits and by who holds",
        )
    },
    title: "Locks",
    options: &[],
    excludes: &[],
    flags: &[],
    metrics: &[
        time("lock.time", "Time that was waited to enter monitors and locks that others held"),
        count("lock.count", "How often that was waited"),
        time("wait.time", "Time in Object.wait, and parked for anything else than a lock"),
        count("wait.count", "How often that was waited"),
        time(
            "lock.blocked",
            "Time that others waited for a lock that was held in this context, of those that were looked up",
        ),
    ],
    events: &[Event {
        name: "lock.wait",
        values: ["", ""],
        help: "A thread waited for a lock, for at least the threshold; the stack is the waiting thread's",
    }],
    cost: "some microseconds for each wait; nothing measurable where threads seldom wait",
    rewrites: false,
};
