//! Waiting for locks.

use crate::{Aggregation, Event, Kind, Metric, OLDEST_JAVA, Rewrites, Setting, Unit, Value};

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
            Value::OrAll { name: "TIME|all", or: &Value::Time },
            "Tell where threads wait for locks that others hold, for at least so long: monitors and those of \
             java.util.concurrent, by lock, by who waits and by who holds; or (all) every lock that is acquired, and how long it \
             is held, too",
        )
    },
    title: "Locks",
    running: "waits for locks of at least {}",
    options: &[],
    excludes: &[],
    since: OLDEST_JAVA,
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
        time("lock.hold", "Time that locks were held, with --locks all"),
        count("lock.entered", "How often locks were acquired, waited for or not, with --locks all"),
    ],
    events: &[
        Event {
            name: "lock.wait",
            values: ["", ""],
            help: "A thread waited for a lock, for at least the threshold; the stack is the waiting thread's",
        },
        Event {
            name: "thread.wait",
            values: ["", ""],
            help: "A thread was in Object.wait, or parked for anything else than a lock, for at least the threshold",
        },
        Event {
            name: "thread.pinned",
            values: ["", ""],
            help: "A virtual thread waited and kept its carrier from running others, for at least the threshold: within native \
                   code, or within a monitor, for one or in Object.wait before Java 24",
        },
    ],
    cost: "some microseconds for each wait; nothing measurable where threads seldom wait; with `all`, two looks at the clock for each lock that is acquired",
    rewrites: Rewrites::IfAll,
    waiting: false,
};
