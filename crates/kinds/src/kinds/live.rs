//! What stays alive, and where it was made.

use crate::{Aggregation, Event, Kind, Metric, Rewrites, Setting, Unit, Value};

const fn bytes(name: &'static str, help: &'static str) -> Metric {
    Metric { name, unit: Unit::Bytes, aggregation: Aggregation::Sum, help }
}

/// What stays alive, and where it was made.
pub static LIVE: Kind = Kind {
    switch: Setting {
        bare: Some("512K"),
        changeable: true,
        ..Setting::of(
            "live",
            Value::Size,
            "Sample objects as they are made, one for each so many bytes on average, and tell which of them survive \
             collections, where they were made, how old they are and what grows; the shorter interval counts if --alloc \
             has another",
        )
    },
    title: "Survivors",
    running: "objects that stay alive, one for every {} that are made",
    since: 11,
    options: &[],
    excludes: &[],
    flags: &[],
    metrics: &[
        bytes(
            "live.bytes",
            "Bytes of objects that have survived a collection and are there, estimated from samples",
        ),
        Metric {
            name: "live.count",
            unit: Unit::Count,
            aggregation: Aggregation::Sum,
            help: "Such objects, estimated from samples",
        },
        bytes("live.bytes.age-1", "of the bytes, those of objects that have survived one collection"),
        bytes("live.bytes.age-2", "of them, that have survived 2 or 3"),
        bytes("live.bytes.age-4", "of them, that have survived 4 to 7"),
        bytes("live.bytes.age-8", "of them, that have survived 8 to 15"),
        bytes("live.bytes.age-16", "of them, that have survived 16 to 63"),
        bytes("live.bytes.age-64", "of them, that have survived 64 or more"),
    ],
    events: &[Event {
        name: "live.growth",
        values: ["", ""],
        help: "What objects of a class that were made in a context took after one collection and another, for `report --by leak`",
    }],
    cost: "as --alloc, and some 50 ns for each sampled object that is alive after each collection, on another thread",
    rewrites: Rewrites::Never,
    waiting: false,
};
