//! What is allocated, and where.

use crate::{Aggregation, Kind, Metric, Setting, Unit, Value};

/// What is allocated, and where.
pub static ALLOC: Kind = Kind {
    switch: Setting {
        bare: Some("512K"),
        changeable: true,
        ..Setting::of(
            "alloc",
            Value::Size,
            "Sample objects as they are made, one for each so many bytes on average, with their class and context",
        )
    },
    title: "Allocation",
    options: &[],
    excludes: &[],
    flags: &[],
    metrics: &[
        Metric {
            name: "alloc.bytes",
            unit: Unit::Bytes,
            aggregation: Aggregation::Sum,
            help: "Bytes allocated, estimated from the objects that were sampled",
        },
        Metric {
            name: "alloc.count",
            unit: Unit::Count,
            aggregation: Aggregation::Sum,
            help: "Objects made, estimated from those that were sampled",
        },
    ],
    events: &[],
    cost: "below 2 % at the default interval",
    rewrites: false,
};
