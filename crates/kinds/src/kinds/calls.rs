//! Call edges, sampled in windows.

use crate::{Aggregation, Kind, Metric, Rewrites, Setting, Unit, Value};

/// The value that stands for exact counts of every edge, which another kind has, and how that is asked for.
pub const EXHAUSTIVE: (&str, [&str; 2]) = ("exhaustive", ["exact", "sites"]);

/// Most calls from one sample to the next, and most samples in a window.
const MOST: u64 = 1_000_000;

/// Most callers that a sample can have: deeper stacks are walked as a whole, up to a limit that is a little higher.
const DEEPEST: u64 = 4_000;

/// A window is open for a millisecond of CPU time at the most.
const TICK: Value =
    Value::TimeWithin { least: 1_000_000, most: 1_000_000_000, must: "a time from 1ms to 1s" };

const fn number(name: &'static str, help: &'static str) -> Setting {
    let value = Value::Number { name: "N", least: 1, most: MOST, must: "a number from 1 to 1000000" };
    Setting { kinds: &["calls"], changeable: true, ..Setting::of(name, value, help) }
}

/// Call edges, sampled in windows that a timer opens.
pub static CALLS: Kind = Kind {
    switch: Setting {
        bare: Some("windows"),
        ..Setting::of(
            "calls",
            Value::Choice(&[
                ("windows", "Many calls in a short window, each time a timer ticks"),
                ("timer", "The first call after each tick"),
                (EXHAUSTIVE.0, "Every call: the same as --exact --sites"),
            ]),
            "Sample which method calls which, by calls and not by time: in short windows, every so-many-th call of a thread",
        )
    },
    title: "Call edges",
    running: "call edges, in {}",
    options: &[
        Setting {
            default: Some("50ms"),
            kinds: &["calls"],
            changeable: true,
            ..Setting::of("tick", TICK, "From one window of a thread to the next, in CPU time that it uses")
        },
        Setting { default: Some("7"), ..number("stride", "In a window, sample every N-th call") },
        Setting { default: Some("32"), ..number("samples", "A window ends when it has so many samples") },
        Setting {
            kinds: &["calls"],
            changeable: true,
            ..Setting::of(
                "depth",
                Value::Number { name: "K", least: 1, most: DEEPEST, must: "a number from 1 to 4000" },
                "A sample has so many callers, instead of its whole stack",
            )
        },
    ],
    excludes: &[],
    // JDK 8 and 11 throw compiled code away whenever they have a thread go on in the interpreter.
    since: 17,
    flags: &[],
    metrics: &[Metric {
        name: "samples.calls",
        unit: Unit::Count,
        aggregation: Aggregation::Sum,
        help: "Calls that were sampled, of the method in the context",
    }],
    events: &[],
    cost: "a thread runs in the interpreter for its windows, 1 ms each at the most: some percent of CPU time in a program that does nothing but call small methods, 15 % and more in one that does nothing but loop in one method",
    rewrites: Rewrites::Never,
    waiting: false,
};
