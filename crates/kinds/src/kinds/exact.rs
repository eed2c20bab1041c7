//! Everything that is executed, counted.

use super::REWRITING;
use crate::{Aggregation, Kind, Metric, OLDEST_JAVA, Recorded, Rewrites, Setting, Unit, Value};

/// Counting needs a context for every method.
const ALL_CONTEXTS: &[&str] = &["contexts=app", "contexts=none"];
const REWRITERS: &[&str] = &["exact", "bytecodes"];
/// Kinds that can be told which methods to leave out.
const SELECTIVE: &[&str] = &["exact", "bytecodes", "root"];

/// Everything that is executed, counted.
pub static EXACT: Kind = Kind {
    switch: Setting::switch("exact", "Count every call and every executed bytecode, per calling context"),
    title: "Exact profiles",
    running: "exact counts",
    options: &[
        Setting {
            default: Some("default"),
            kinds: REWRITERS,
            recorded: Recorded::Always,
            ..Setting::of(
                "bba",
                Value::Text("WHICH"),
                "Where blocks of bytecodes end: `default`, `precise` (exact under exceptions too), or a list of \
                 instruction classes such as `calls,throws`",
            )
        },
        Setting {
            default: Some("all"),
            kinds: REWRITERS,
            ..Setting::of(
                "contexts",
                Value::Choice(&[
                    ("all", "All"),
                    (
                        "app",
                        "Those of the application; what the JDK's execute is charged to the context that called them",
                    ),
                    ("none", "None: each method is counted by itself"),
                ]),
                "Which methods have contexts. The fewer, the faster; all sums stay the same",
            )
        },
        Setting {
            kinds: &["exact"],
            excludes: ALL_CONTEXTS,
            ..Setting::switch("blocks", "Count executions of every basic block too, for `report --by line`")
        },
        Setting {
            kinds: REWRITERS,
            excludes: ALL_CONTEXTS,
            ..Setting::switch(
                "allocations",
                "Count instructions that make objects or arrays too (--blocks does); not what native code makes",
            )
        },
        Setting {
            kinds: REWRITERS,
            excludes: ALL_CONTEXTS,
            ..Setting::of(
                "max-depth",
                Value::Number { name: "N", least: 0, most: u32::MAX as u64, must: "a number" },
                "Fold contexts below this depth",
            )
        },
        Setting {
            many: true,
            kinds: SELECTIVE,
            ..Setting::of(
                "include",
                Value::Text("PATTERN"),
                "Only these packages, classes or methods (com.acme, com.acme.Foo, com.acme.Foo#bar*); repeatable",
            )
        },
        Setting {
            many: true,
            kinds: SELECTIVE,
            ..Setting::of(
                "exclude",
                Value::Text("PATTERN"),
                "Not these packages, classes or methods; repeatable",
            )
        },
        Setting {
            kinds: REWRITERS,
            recorded: Recorded::Never,
            ..Setting::of(
                "weights",
                Value::File,
                "Count each opcode with the weight this file gives it, instead of 1; see docs/weights.md",
            )
        },
        Setting {
            kinds: REWRITERS,
            ..Setting::switch(
                "deterministic",
                "Pin what makes two runs of the JDK differ (hash seeds, Map.of order, JIT shortcuts), and say what was \
                 pinned",
            )
        },
        Setting {
            kinds: REWRITERS,
            excludes: ALL_CONTEXTS,
            recorded: Recorded::Never,
            ..Setting::of(
                "agent",
                Value::JarAndClass,
                "A profiling agent of your own: a jar and the class in it that implements quipu.ExactProfiler, or with \
                 --bytecodes quipu.SamplingProfiler; see docs/agents.md",
            )
        },
    ],
    excludes: &["bytecodes", "root"],
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
            name: "bytecodes",
            unit: Unit::Bytecodes,
            aggregation: Aggregation::Sum,
            help: "Bytecodes executed",
        },
        Metric {
            name: "allocations",
            unit: Unit::Count,
            aggregation: Aggregation::Sum,
            help: "Instructions that made an object or an array, with --allocations or --blocks",
        },
    ],
    events: &[],
    cost: "most programs are 1.5 to 4 times slower while it lasts, some 8 times; up to twice that where it is attached",
    rewrites: Rewrites::Always,
    waiting: false,
};
