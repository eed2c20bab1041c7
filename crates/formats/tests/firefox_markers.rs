//! Events of the timeline are markers of the Firefox Profiler: when, how long, of which thread, where.

use quipu_formats::{Format, Options, export};
use quipu_profile::{
    Builder, Event, MethodSpec, MetricSpec, NO_NODE, NO_THREAD, ThreadSpec, UNKNOWN_SITE, Unit,
};
use serde_json::Value;

#[test]
fn events_are_markers() {
    let mut builder = Builder::new();
    let waiter = builder.thread(ThreadSpec { name: "waiter", ..ThreadSpec::default() });
    let time = builder.metric(MetricSpec::exact("lock.time", Unit::Nanoseconds));
    let method = builder.method(MethodSpec { class: "App", name: "enter", ..MethodSpec::default() });
    let root = builder.root(waiter);
    let node = builder.child(root, method, UNKNOWN_SITE);
    builder.add(node, time, 3_000_000);
    let (wait, pause, what) =
        (builder.string("lock.wait"), builder.string("gc.pause"), builder.string("what"));
    let lock = builder.string("java.lang.Object@1f");
    let (at, duration) = (5_000_000, 3_000_000);
    builder.event(Event {
        time: at,
        duration,
        thread: waiter,
        name: wait,
        details: vec![(what, lock)],
        node,
    });
    let none = Vec::new();
    builder.event(Event {
        time: 1,
        duration: 0,
        thread: NO_THREAD,
        name: pause,
        details: none,
        node: NO_NODE,
    });
    let mut out = Vec::new();
    export(&builder.finish(), Format::Firefox, &Options::default(), &mut out).expect("it is written");

    let json: Value = serde_json::from_slice(&out).expect("JSON");
    let thread = &json["threads"][0];
    // Which version of the format: all threads share them, or each has its own.
    let strings =
        json["shared"]["stringArray"].as_array().or(thread["stringArray"].as_array()).expect("strings");
    let markers = &thread["markers"];
    let name = |at: usize| &strings[markers["name"][at].as_u64().expect("an index") as usize];
    let at = (0..2).find(|&at| name(at) == "lock.wait").expect("the wait");
    assert_eq!((markers["startTime"][at].as_f64(), markers["endTime"][at].as_f64()), (Some(5.0), Some(8.0)));
    let data = &markers["data"][at];
    let details = data["details"].as_u64().map_or(&data["details"], |at| &strings[at as usize]);
    assert_eq!(details, "java.lang.Object@1f");
    assert!(data["cause"]["stack"].is_u64(), "where: {data}");
    let other = 1 - at;
    assert_eq!(name(other), "gc.pause", "what is of no thread is with the first");
}
