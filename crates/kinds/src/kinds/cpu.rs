//! Stacks, sampled by the CPU time that threads use.

use super::SAMPLING;
use crate::{Aggregation, Kind, Metric, OLDEST_JAVA, Rewrites, Setting, Unit, Value};

/// The fastest that anybody can sample.
pub const RATE: Value =
    Value::Number { name: "RATE", least: 1, most: 10_000, must: "a rate from 1 to 10000" };

const fn time(name: &'static str, help: &'static str) -> Metric {
    Metric { name, unit: Unit::Nanoseconds, aggregation: Aggregation::Sum, help }
}

/// Stacks, sampled by the CPU time that threads use.
pub static CPU: Kind = Kind {
    switch: Setting {
        bare: Some("100"),
        changeable: true,
        ..Setting::of(
            "cpu",
            RATE,
            "Sample stacks by the CPU time that threads use, so many times a second of it, up to 10000",
        )
    },
    title: "Samples of CPU time",
    running: "CPU time, {} samples a second",
    options: &[],
    excludes: &[],
    since: OLDEST_JAVA,
    flags: SAMPLING,
    metrics: &[
        time("cpu", "CPU time that was used"),
        time("cpu.interpreted", "of it, in the interpreter"),
        time("cpu.c1", "of it, in code of the C1 compiler"),
        time("cpu.c2", "of it, in code of the C2 compiler"),
        time("cpu.native", "of it, in native code: libraries, the VM, the kernel"),
        time("cpu.unknown", "of it, where the walker does not know"),
        time(
            "cpu.probes",
            "of it, in the code that counts, with --exact: calls times what a call costs, as measured",
        ),
        time("cpu.corrected", "the rest, with --exact: what was used for the program itself"),
    ],
    events: &[],
    cost: "below 1 % at the default rate",
    rewrites: Rewrites::Never,
    waiting: false,
};
