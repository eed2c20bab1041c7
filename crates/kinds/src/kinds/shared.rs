//! What concerns all kinds.

use crate::{Recorded, Setting, Value};

/// What concerns all kinds.
pub static SHARED: [Setting; 5] = [
    Setting {
        excludes: &["contexts=app", "contexts=none"],
        ..Setting::switch(
            "sites",
            "Two calls of one method from different places in a caller are two contexts",
        )
    },
    Setting {
        many: true,
        changeable: true,
        ..Setting::of(
            "threads",
            Value::Text("NAME"),
            "Count or sample only threads of this name, in which `*` stands for anything (main, 'http-*'); repeatable",
        )
    },
    Setting {
        default: Some("name"),
        recorded: Recorded::Always,
        ..Setting::of(
            "merge-threads",
            Value::Choice(&[
                ("name", "Those whose names differ in digits only"),
                ("all", "All"),
                ("never", "None"),
            ]),
            "Which threads share a tree",
        )
    },
    Setting {
        recorded: Recorded::Never,
        ..Setting::of(
            "arena-limit",
            Value::Size,
            "Most memory for the profile while the target runs, e.g. 500M or 8G [default: 10% of RAM, at most 4G]",
        )
    },
    Setting {
        excludes: &["agent"],
        recorded: Recorded::Never,
        ..Setting::switch("idle", "Measure nothing until told to, with `quipu ctl`")
    },
];

/// What the command line tells the agent by itself, and whoever starts a JVM with the agent without it.
pub static INTERNAL: [Setting; 7] = [
    of_agent(Setting::of("dir", Value::Text("DIRECTORY"), "Where the arena goes")),
    of_agent(Setting::of(
        "file",
        Value::Text("NAME"),
        "The arena itself, which is the profile; %p is the process, %t the time, %h the host",
    )),
    of_agent(Setting::of(
        "delay",
        Value::Number { name: "SECONDS", least: 0, most: 1 << 31, must: "a number of seconds" },
        "Begin to measure so many seconds after the JVM has started",
    )),
    of_agent(Setting::of("tests", Value::File, "Counting begins when a listener in this jar says so")),
    of_agent(Setting::switch("stop", "Measure nothing any more, and take everything out")),
    of_agent(Setting::switch("held", "Take everything out again when whoever attached is gone")),
    of_agent(Setting::of("answer", Value::Text("FILE"), "Where to say why not")),
];

const fn of_agent(setting: Setting) -> Setting {
    Setting { recorded: Recorded::Never, ..setting }
}
