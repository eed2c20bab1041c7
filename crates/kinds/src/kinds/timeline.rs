//! What took place when.

use crate::{Event, Kind, OLDEST_JAVA, Rewrites, Setting};

/// What took place when: collections and other pauses, threads that began and ended, classes that were loaded.
pub static TIMELINE: Kind = Kind {
    switch: Setting::switch(
        "timeline",
        "Tell what took place when: pauses of the collector and of the VM, threads that began and ended, classes that were \
         loaded and what caused that",
    ),
    title: "The timeline",
    running: "what takes place when",
    options: &[],
    excludes: &[],
    since: OLDEST_JAVA,
    flags: &[],
    metrics: &[],
    events: &[
        Event {
            name: "gc.pause",
            values: ["heap.before", "heap.after"],
            help: "The collector stopped the program; bytes of the heap in use before and after, by the JVM's counters",
        },
        Event { name: "thread.start", values: ["", ""], help: "A platform thread began" },
        Event { name: "thread.end", values: ["", ""], help: "A platform thread ended" },
        Event {
            name: "class.load",
            values: ["@loader", ""],
            help: "A class was loaded: by which loader, and how long that took from its bytes on; the stack is what caused it",
        },
        Event {
            name: "safepoint",
            values: ["pauses", "reaching"],
            help: "The VM stopped all threads, for the collector or anything else, so many times within 10 ms; reaching is what of \
                   it, in nanoseconds, all threads took to stop",
        },
        Event {
            name: "thread.state",
            values: ["", ""],
            help: "With --wall: a thread was seen in one state at one moment after the other; the stack is that of the first",
        },
    ],
    cost: "a tenth of a millisecond for each class that is loaded from the JDK's archive, some microseconds for others",
    rewrites: Rewrites::Never,
    waiting: false,
};
