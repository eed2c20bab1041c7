//! Parts of a profile: threads, Java alone, without some frames, by line.

use quipu_profile::{
    Builder, Line, MethodFlags, MethodSpec, MetricSpec, NO_BCI, NO_LABELS, Profile, Sample, ThreadSpec, Unit,
};
use quipu_report::{By, Narrowing, Options, ReportError, Style};
use serde_json::Value;

/// `metric` by stacks of (thread, frames, samples, bci); frames that begin with `lib` are not Java.
fn sampled(metric: &str, stacks: &[(&str, &[&str], u64, u32)]) -> Profile {
    let mut b = Builder::new();
    let metric = b.metric(MetricSpec::sampled(metric, Unit::Nanoseconds, 10));
    for &(thread, frames, samples, bci) in stacks {
        let thread = b.thread(ThreadSpec { name: thread, ..Default::default() });
        let mut node = b.root(thread);
        for frame in frames {
            let foreign = frame.starts_with("lib");
            let method = b.method(MethodSpec {
                class: if foreign { "" } else { "app.Main" },
                name: frame,
                source: "Main.java",
                flags: if foreign { MethodFlags::FOREIGN } else { MethodFlags::NONE },
                lines: &[Line { bci: 0, line: 10 }, Line { bci: 5, line: 11 }],
                ..Default::default()
            });
            node = b.child(node, method, -1);
        }
        b.add(node, metric, samples * 10);
        for time in 0..samples {
            b.sample(Sample { time, thread, node, metric, value: 10, labels: NO_LABELS, bci });
        }
    }
    b.finish()
}

fn json(profile: &Profile, by: By, narrowing: Narrowing) -> Result<Vec<Value>, ReportError> {
    let text = quipu_report::json(profile, &Options { by, narrowing, ..Options::default() })?;
    let report: Value = serde_json::from_str(&text).unwrap();
    Ok(report["rows"].as_array().unwrap().clone())
}

/// Key and self value of each row.
fn rows(profile: &Profile, by: By, key: &str, metric: &str, narrowing: Narrowing) -> Vec<(String, u64)> {
    let rows = json(profile, by, narrowing).unwrap();
    let row = |row: &Value| (row[key].as_str().unwrap().to_owned(), row[metric]["self"].as_u64().unwrap());
    rows.iter().map(row).collect()
}

fn elapsed() -> Profile {
    sampled(
        "wall",
        &[
            ("main", &["main", "work"], 3, NO_BCI),
            ("pool-1", &["run"], 2, NO_BCI),
            ("C2 CompilerThread0", &["libjvm"], 9, NO_BCI),
            ("GC Thread#0", &["libjvm"], 9, NO_BCI),
            ("Quipu", &["libquipu"], 9, NO_BCI),
            ("VirtualThread-unblocker", &["take"], 9, NO_BCI),
            ("VirtualThread-unparker", &["take"], 9, NO_BCI),
            ("Read-Poller", &["poll"], 9, NO_BCI),
            ("Write-Poller", &["poll"], 9, NO_BCI),
            ("MasterPoller", &["poll"], 9, NO_BCI),
            ("http-nio-8080-Poller", &["poll"], 2, NO_BCI),
        ],
    )
}

#[test]
fn the_jvms_own_threads_are_left_out_of_elapsed_time_unless_asked_for() {
    let threads = |profile: &Profile, narrowing| {
        let rows = json(profile, By::Thread, narrowing).unwrap();
        rows.iter().map(|row| row["thread"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let p = elapsed();
    assert_eq!(threads(&p, Narrowing::default()), ["main", "http-nio-8080-Poller", "pool-1"]);
    assert_eq!(threads(&p, Narrowing { all_threads: true, ..Default::default() }).len(), 11);
    assert_eq!(
        threads(&p, Narrowing { include_threads: vec!["GC".into()], ..Default::default() }),
        ["GC Thread#0"]
    );
    assert_eq!(threads(&p, Narrowing { thread: Some("Quipu".into()), ..Default::default() }), ["Quipu"]);
    let text = quipu_report::text(&p, &Options::default(), &Style::default()).unwrap();
    assert!(text.contains("left out: 8 threads of the JVM and of Quipu, --all-threads has them\n"), "{text}");
    // Compilers use CPU time that the program pays for.
    let cpu =
        sampled("cpu", &[("main", &["main"], 1, NO_BCI), ("C2 CompilerThread0", &["libjvm"], 2, NO_BCI)]);
    assert_eq!(threads(&cpu, Narrowing::default()).len(), 2);
}

#[test]
fn threads_are_included_and_excluded_by_pattern() {
    let p = sampled(
        "cpu",
        &[("main", &["a"], 1, NO_BCI), ("pool-1", &["b"], 2, NO_BCI), ("pool-2", &["c"], 3, NO_BCI)],
    );
    let methods = |narrowing| rows(&p, By::Method, "method", "cpu", narrowing);
    let pools = Narrowing {
        include_threads: vec!["pool".into()],
        exclude_threads: vec!["*-2".into()],
        ..Default::default()
    };
    assert_eq!(methods(pools), [("b".to_owned(), 20)]);
    let unknown = Narrowing { exclude_threads: vec!["mian".into()], ..Default::default() };
    assert_eq!(json(&p, By::Method, unknown).unwrap_err().to_string(), "no thread mian; did you mean main?");
}

#[test]
fn hidden_and_foreign_frames_are_part_of_their_callers() {
    let p = sampled(
        "cpu",
        &[
            ("main", &["main", "proxy", "work", "libc"], 4, NO_BCI),
            ("main", &["main", "proxy"], 2, NO_BCI),
            ("VM Thread", &["libjvm"], 7, NO_BCI),
        ],
    );
    let methods = |narrowing| rows(&p, By::Method, "method", "cpu", narrowing);
    let java = Narrowing { java: true, ..Default::default() };
    assert_eq!(methods(java.clone()), [("work".into(), 40), ("proxy".into(), 20), ("main".into(), 0)]);
    let both = Narrowing { hide: vec!["app.Main.proxy".into()], ..java };
    assert_eq!(methods(both), [("work".into(), 40), ("main".into(), 20)]);
}

#[test]
fn small_rows_are_left_out() {
    let p = sampled("cpu", &[("main", &["main", "a"], 98, NO_BCI), ("main", &["main", "b"], 2, NO_BCI)]);
    for by in [By::Tree, By::Method] {
        let options = Options { by, min: Some(5_000), ..Options::default() };
        let text = quipu_report::text(&p, &options, &Style::default()).unwrap();
        assert!(text.contains("Main.a") && !text.contains("Main.b"), "{text}");
        let json = quipu_report::json(&p, &options).unwrap();
        assert!(json.contains("\"a\"") && !json.contains("\"b\""), "{json}");
    }
}

#[test]
fn samples_know_their_lines() {
    let p = sampled(
        "cpu",
        &[("main", &["main"], 3, 2), ("main", &["main"], 5, 7), ("main", &["main", "libc"], 1, NO_BCI)],
    );
    let rows = |narrowing| {
        let rows = json(&p, By::Line, narrowing).unwrap();
        let number = |row: &Value, key: &str| row[key].as_u64().unwrap();
        rows.iter()
            .map(|row| (number(row, "line"), number(row, "samples"), number(row, "cpu")))
            .collect::<Vec<_>>()
    };
    assert_eq!(rows(Narrowing::default()), [(11, 5, 50), (10, 3, 30), (0, 1, 10)]);
    // The place of a sample in libc is no place in its caller.
    assert_eq!(rows(Narrowing { java: true, ..Default::default() }), [(11, 5, 50), (10, 3, 30), (0, 1, 10)]);
    let text = quipu_report::text(&p, &Options { by: By::Line, ..Options::default() }, &Style::default());
    assert!(text.unwrap().contains("Main.java:11  app.Main.main"));
}
