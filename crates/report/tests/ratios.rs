//! Two metrics with their ratio: what names may be, which rows come first, and what the head says.

use quipu_profile::{Builder, MethodSpec, MetricSpec, Profile, ThreadSpec, Unit};
use quipu_report::{By, Options, Style};
use serde_json::Value;

/// Methods with values of two metrics.
fn measured(metrics: [&str; 2], methods: &[(&str, [u64; 2])]) -> Profile {
    let mut b = Builder::new();
    let metrics = metrics.map(|name| b.metric(MetricSpec::sampled(name, Unit::Count, 1)));
    let thread = b.thread(ThreadSpec { name: "main", ..Default::default() });
    let root = b.root(thread);
    for (name, values) in methods {
        let method = b.method(MethodSpec { class: "app.Main", name, ..Default::default() });
        let node = b.child(root, method, -1);
        metrics.iter().zip(values).for_each(|(&metric, &value)| b.add(node, metric, value));
    }
    b.finish()
}

fn options(metric: &str) -> Options {
    Options { by: By::Method, metric: Some(metric.to_owned()), ..Options::default() }
}

fn ranked(profile: &Profile, metric: &str) -> Vec<(String, Option<f64>)> {
    let report: Value =
        serde_json::from_str(&quipu_report::json(profile, &options(metric)).unwrap()).unwrap();
    let rows = report["rows"].as_array().unwrap().iter();
    rows.map(|row| (row["method"].as_str().unwrap().to_owned(), row[metric].as_f64())).collect()
}

#[test]
fn a_name_may_have_a_slash_of_its_own() {
    for names in [
        ["event.mem:0x7f00:rw/4", "event.cycles"],
        ["event.cycles", "event.mem:0x7f00:rw/4"],
        ["event.mem:0x7f00:rw/4", "event.mem:0x7f08:w/8"],
    ] {
        let profile = measured(names, &[("work", [6, 3])]);
        assert_eq!(ranked(&profile, &names.join("/")), [("work".to_owned(), Some(2.0))]);
    }
    let profile = measured(["event.mem:0x7f00:rw/4", "event.cycles"], &[("work", [6, 3])]);
    let error = quipu_report::json(&profile, &options("event.mem:0x7f00:rw/4/event.cycels")).unwrap_err();
    assert!(error.to_string().contains("event.cycles"), "{error}");
}

#[test]
fn the_largest_ratio_comes_first_and_what_is_too_little_to_tell_last() {
    let methods: [(&str, [u64; 2]); 5] = [
        ("often", [6000, 6000]),
        ("worst", [3000, 1000]),
        ("never", [0, 3000]),
        ("few", [9, 1]),
        ("unmeasured", [991, 0]),
    ];
    let profile = measured(["misses", "instructions"], &methods);
    let ranked = ranked(&profile, "misses/instructions");
    let names: Vec<&str> = ranked.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["worst", "often", "never", "unmeasured", "few"]);
    assert_eq!(ranked[0].1, Some(3.0));
    let text = quipu_report::text(&profile, &options("misses/instructions"), &Style::default()).unwrap();
    assert!(text.lines().any(|line| line.contains("misses/instructions 1.00, 1 thread")), "{text}");
}
