//! Samples, and every other kind that there is.

use quipu_e2e::{Jdk, Program, Run, Shares, percent};
use quipu_kinds::{KINDS, Kind};

use crate::Row;

/// Kinds that have rows of their own.
const ELSEWHERE: [&str; 4] = ["exact", "bytecodes", "cpu", "wall"];

/// The first JDK that has what a kind needs.
fn since(kind: &Kind) -> u32 {
    match kind.name() {
        // The VM tells of objects that are made.
        "alloc" => 11,
        _ => 8,
    }
}

pub fn rows() -> Vec<Row> {
    let mut rows = vec![
        Row::new(
            "stacks by CPU time (`--cpu`), walked by Quipu: tiers, inlined, native and JVM frames",
            8,
            cpu,
        ),
        Row::new("stacks by elapsed time (`--wall`)", 8, wall),
        Row::new("kinds that run together in one tree (`--exact --cpu`)", 8, together),
    ];
    for kind in KINDS.iter().filter(|kind| !ELSEWHERE.contains(&kind.name())) {
        let title = format!("{} (`--{}`)", kind.title.to_lowercase(), kind.name());
        rows.push(Row::new(&title, since(kind), |jdk| runs(kind, jdk)));
    }
    rows
}

/// The way of the samples is whole: few stacks could not be walked, and nobody else walked them.
fn assert_walked(run: &Run) {
    assert!(run.status.success(), "{}", run.said());
    let fact =
        |key: &str| run.profile().run.extra.iter().find(|(found, _)| found == key).map(|(_, value)| &**value);
    assert_eq!(fact("walker"), Some("Quipu's own"), "{}", run.said());
    let walks: u64 = fact("stack walks").and_then(|walks| walks.parse().ok()).expect("a number of walks");
    let lost = &run.profile().meta.lost;
    let failed: u64 = lost.iter().filter(|(cause, _)| cause.starts_with("walks.")).map(|(_, n)| *n).sum();
    assert!(failed <= 5 + walks / 200, "{failed} of {walks}: {lost:?}");
}

fn cpu(jdk: &Jdk) {
    let run = Program::new("Burning").arguments(["300"]).quipu(["--cpu", "1000"]).run(jdk);
    assert_walked(&run);
    let cpu = Shares::of(run.profile(), "cpu");
    let (three, one) = (cpu.thread("three parts"), cpu.thread("one part"));
    let share = percent(three, three + one);
    assert!((share - 75.0).abs() <= 5.0, "{share} %");
    assert!(percent(cpu.own("Burning", "spin"), three + one) > 90.0);
    assert!(run.profile().metric("cpu.c2").is_some_and(|compiled| compiled.total() > 0), "no tiers");
}

fn wall(jdk: &Jdk) {
    let run = Program::new("Burning")
        .arguments(["200"])
        .quipu(["--wall", "200", "--merge-threads", "never"])
        .run(jdk);
    assert_walked(&run);
    assert!(Shares::of(run.profile(), "wall").thread("waiting 0") > 0, "{}", run.said());
}

fn together(jdk: &Jdk) {
    let run = Program::new("Hot").arguments(["400"]).quipu(["--exact", "--cpu=1000"]).run(jdk);
    assert!(run.status.success(), "{}", run.said());
    let profile = run.profile();
    let (cpu, calls) = (profile.metric("cpu").expect("cpu"), profile.metric("calls").expect("calls"));
    let all = Shares::of(profile, "cpu").total("Hot", "main");
    let (cpu, calls) = (cpu.values(), calls.values());
    let counted: u64 = (0..cpu.len()).filter(|&node| calls[node] > 0).map(|node| cpu[node]).sum();
    // Less the time of native code and of the VM below Java methods.
    assert!(percent(counted, all) > 50.0, "{counted} of {all}");
}

/// A kind of which no more is known than its declaration.
fn runs(kind: &Kind, jdk: &Jdk) {
    let switch = format!("--{}", kind.name());
    let program = match kind.name() {
        "locks" => Program::new("Contended").arguments(["monitor", "4", "50"]),
        _ => Program::new("Hot").arguments(["400"]),
    };
    let run = program.quipu([&switch]).run(jdk);
    if jdk.feature < since(kind) {
        assert_eq!(run.status.code(), Some(3), "{}", run.said());
        assert!(run.stderr.contains(&format!("Java {}", since(kind))), "{}", run.said());
        return;
    }
    assert!(run.status.success(), "{}", run.said());
    // The first is what it is for; others may have had nothing to tell.
    if let Some(metric) = kind.metrics.first() {
        assert!(run.profile().metric(metric.name).is_some(), "no {}; {}", metric.name, run.said());
    }
}
