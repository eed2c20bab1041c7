//! Stacks of all threads, sampled by the time that goes by.

use super::SAMPLING;
use super::cpu::RATE;
use crate::{Aggregation, Kind, Metric, OLDEST_JAVA, Rewrites, Setting, Unit};

const fn time(name: &'static str, help: &'static str) -> Metric {
    Metric { name, unit: Unit::Nanoseconds, aggregation: Aggregation::Sum, help }
}

/// Stacks of all threads, sampled by the time that goes by.
pub static WALL: Kind = Kind {
    switch: Setting {
        bare: Some("100"),
        changeable: true,
        ..Setting::of(
            "wall",
            RATE,
            "Sample stacks of all Java threads, running or waiting, with their state, so many times a second",
        )
    },
    title: "Samples of elapsed time",
    running: "elapsed time, {} samples a second",
    options: &[],
    excludes: &[],
    since: OLDEST_JAVA,
    flags: SAMPLING,
    metrics: &[
        time("wall", "Time that went by"),
        time("wall.running", "of it, on a processor"),
        time("wall.runnable", "of it, waiting for a processor"),
        time("wall.blocked", "of it, waiting to enter a monitor"),
        time("wall.waiting", "of it, in Object.wait"),
        time("wall.parked", "of it, in LockSupport.park"),
        time("wall.sleeping", "of it, in Thread.sleep"),
        time("wall.native", "of it, waiting in native code: for a file, a socket, a lock of its own"),
        time("wall.unknown", "of it, doing what the VM does not tell"),
    ],
    events: &[],
    cost: "a few percent at the default rate with tens of threads; more with thousands",
    rewrites: Rewrites::Never,
    waiting: true,
};
