//! What is allocated, and where.

use crate::{Aggregation, Kind, Metric, Rewrites, Setting, Unit, Value};

/// What is allocated, and where.
pub static ALLOC: Kind = Kind {
    switch: Setting {
        bare: Some("512K"),
        changeable: true,
        ..Setting::of(
            "alloc",
            Value::OrAll { name: "SIZE|all", or: &Value::Size },
            "Sample objects as they are made, one for each so many bytes on average, with their class and context; or count \
             all of them (all)",
        )
    },
    title: "Allocation",
    running: "objects that are made, one for every {}",
    options: &[],
    excludes: &[],
    // The VM tells of objects that are made.
    since: 11,
    flags: &[],
    metrics: &[
        Metric {
            name: "alloc.bytes",
            unit: Unit::Bytes,
            aggregation: Aggregation::Sum,
            help: "Bytes allocated: estimated from the objects that were sampled, or exact",
        },
        Metric {
            name: "alloc.count",
            unit: Unit::Count,
            aggregation: Aggregation::Sum,
            help: "Objects made: estimated from those that were sampled, or exact",
        },
        Metric {
            name: "alloc.native",
            unit: Unit::Bytes,
            aggregation: Aggregation::Sum,
            help: "Bytes allocated by native code, with --alloc all, estimated from samples; those are in no other metric",
        },
    ],
    events: &[],
    cost: "some microseconds for each sample; with `all`, a program that does nothing but allocate takes twice its time",
    rewrites: Rewrites::IfAll,
    waiting: false,
};
