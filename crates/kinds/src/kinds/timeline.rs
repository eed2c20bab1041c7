//! What took place when.

use crate::{Event, Kind, Setting};

/// What took place when: collections, threads that began and ended, classes that were loaded.
pub static TIMELINE: Kind = Kind {
    switch: Setting::switch(
        "timeline",
        "Tell what took place when: pauses of the collector, threads that began and ended, classes that were loaded and \
         what caused that",
    ),
    title: "The timeline",
    options: &[],
    excludes: &[],
    flags: &[],
    metrics: &[],
    events: &[
        Event { name: "gc.pause", values: ["", ""], help: "The collector stopped the program" },
        Event { name: "thread.start", values: ["", ""], help: "A platform thread began" },
        Event { name: "thread.end", values: ["", ""], help: "A platform thread ended" },
        Event {
            name: "class.load",
            values: ["", ""],
            help: "A class was loaded; the stack is what caused it",
        },
    ],
    cost: "some microseconds for each class that is loaded",
    rewrites: false,
};
