//! One method and all that it calls, with times.

use super::REWRITING;
use crate::{Aggregation, Kind, Metric, OLDEST_JAVA, Rewrites, Setting, Unit, Value};

/// One method and all that it calls, with times.
pub static ROOT: Kind = Kind {
    switch: Setting {
        many: true,
        bare: Some("main"),
        ..Setting::of(
            "root",
            Value::Text("METHOD"),
            "Count and time a method and all that it calls, and nothing else: com.acme.Orders.place, \
             com.acme.Orders.place(Order), com.acme.*.handle*, Orders.java:120, or main; repeatable",
        )
    },
    title: "One method and all that it calls",
    running: "calls and times below {}",
    options: &[
        Setting {
            default: Some("lazy"),
            kinds: &["root"],
            ..Setting::of(
                "scheme",
                Value::Choice(&[
                    ("lazy", "What a method calls is instrumented when the method first runs"),
                    (
                        "eager",
                        "Everything that can be reached from the root, in classes that are loaded, is instrumented at once",
                    ),
                ]),
                "When the methods below a root are instrumented",
            )
        },
        Setting {
            many: true,
            kinds: &["root"],
            ..Setting::of(
                "region",
                Value::Text("METHOD:LINES"),
                "Time a part of a method below the root, too: com.acme.Orders.place:120-135; repeatable",
            )
        },
        Setting {
            default: Some("clock"),
            kinds: &["root"],
            ..Setting::of(
                "time",
                Value::Choice(&[
                    (
                        "clock",
                        "The clock is looked at where a method below a root is entered, and where it is left",
                    ),
                    (
                        "sampled",
                        "Calls are counted only, at a small part of the cost; --cpu or --wall take times, in the same contexts",
                    ),
                ]),
                "Where the times of methods below a root come from",
            )
        },
    ],
    excludes: &["exact", "bytecodes"],
    since: OLDEST_JAVA,
    flags: REWRITING,
    metrics: &[
        Metric {
            name: "calls",
            unit: Unit::Count,
            aggregation: Aggregation::Count,
            help: "How often the method was called in the context",
        },
        Metric {
            name: "time",
            unit: Unit::Nanoseconds,
            aggregation: Aggregation::Sum,
            help: "Elapsed time, without what measuring it takes",
        },
        Metric {
            name: "time.raw",
            unit: Unit::Nanoseconds,
            aggregation: Aggregation::Sum,
            help: "Elapsed time as the clock says",
        },
        Metric {
            name: "time.probes",
            unit: Unit::Nanoseconds,
            aggregation: Aggregation::Sum,
            help: "What measuring took of that",
        },
        Metric {
            name: "time.error",
            unit: Unit::Nanoseconds,
            aggregation: Aggregation::Sum,
            help: "How far the elapsed time may be off, for what measuring it takes is not always the same",
        },
        Metric {
            name: "executions",
            unit: Unit::Count,
            aggregation: Aggregation::Count,
            help: "How often a root was executed to its end, by how long that took; below itself it is part of that",
        },
        Metric {
            name: "time.gross",
            unit: Unit::Nanoseconds,
            aggregation: Aggregation::Sum,
            help: "Elapsed time of these executions, with all that they called, as the clock says",
        },
    ],
    events: &[],
    cost: "about 50 ns for each call below the root, some milliseconds whenever another of its methods first runs; next to \
           nothing elsewhere",
    rewrites: Rewrites::Always,
    waiting: false,
};
