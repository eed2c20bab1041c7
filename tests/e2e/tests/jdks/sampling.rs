//! Samples, and every other kind that there is.

use quipu_e2e::{Jdk, Program, Run, Shares, ThreadCounts, percent};
use quipu_kinds::{KINDS, Kind};

use crate::Row;

/// Kinds that have rows of their own.
const ELSEWHERE: [&str; 4] = ["exact", "bytecodes", "cpu", "wall"];

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
        rows.push(Row::new(&title, kind.since, |jdk| runs(kind, jdk)));
    }
    rows.push(Row::new("… every object that is made (`--alloc all`)", 8, made));
    rows.push(Row::new(
        "… every lock that is acquired, and how long it is held (`--locks all`)",
        8,
        acquired,
    ));
    rows
}

/// A metric's sum in the leaves of a class.
fn of_class(run: &Run, metric: &str, leaf: &str) -> u64 {
    let (profile, tree) = (run.profile(), run.profile().tree());
    let values = profile.metric(metric).unwrap_or_else(|| panic!("no {metric}; {}", run.said())).values();
    let is_leaf = |node: &u32| tree.method(*node).is_some_and(|method| profile.method_name(method) == leaf);
    (1..tree.len() as u32).filter(is_leaf).map(|node| values[node as usize]).sum()
}

fn made(jdk: &Jdk) {
    const ROUNDS: u64 = 2_000;
    let run = Program::new("MakesAll").arguments([ROUNDS.to_string()]).quipu(["--alloc", "all"]).run(jdk);
    assert!(run.status.success(), "{}", run.said());
    for (class, per_round) in [("Plain", 2), ("Copied", 1), ("Reflected", 1), ("Stored", 1), ("$Lambda", 1)] {
        let count = of_class(&run, "alloc.count", &format!("MakesAll${class} [allocated]"));
        let truth = per_round * ROUNDS;
        assert!((truth..truth + 3).contains(&count), "{class}: {count}, and there were {truth}");
    }
}

fn acquired(jdk: &Jdk) {
    let run = Program::new("Acquires").arguments(["4", "1000"]).quipu(["--locks", "all"]).run(jdk);
    assert!(run.status.success(), "{}", run.said());
    for (class, per_round) in [("Monitor", 2), ("Guarded", 2)] {
        let leaf = format!("Acquires${class} [lock]");
        assert_eq!(of_class(&run, "lock.entered", &leaf), per_round * 4 * 1000, "{class}");
        assert!(of_class(&run, "lock.hold", &leaf) > 0, "{class}");
    }
}

/// The way of the samples is whole: of at least a thousand, one in two hundred stacks could not be walked at most, and nobody else
/// walked them.
fn assert_walked(run: &Run) {
    assert!(run.status.success(), "{}", run.said());
    let fact =
        |key: &str| run.profile().run.extra.iter().find(|(found, _)| found == key).map(|(_, value)| &**value);
    assert_eq!(fact("walker"), Some("Quipu's own"), "{}", run.said());
    let walks: u64 = fact("stack walks").and_then(|walks| walks.parse().ok()).expect("a number of walks");
    let lost = &run.profile().meta.lost;
    let failed: u64 = lost.iter().filter(|(cause, _)| cause.starts_with("walks.")).map(|(_, n)| *n).sum();
    assert!(failed <= (walks / 200).max(5), "{failed} of {walks}: {lost:?}");
}

fn cpu(jdk: &Jdk) {
    let run = Program::new("Burning").arguments(["300"]).quipu(["--cpu", "1000"]).run(jdk);
    assert_walked(&run);
    let cpu = Shares::of(run.profile(), "cpu");
    let (three, one) = (cpu.thread("three parts"), cpu.thread("one part"));
    let share = percent(three, three + one);
    assert!((share - 75.0).abs() <= 5.0, "{share} %");
    // With the kernel's functions below it: on a busy machine it is often interrupted.
    let spins = percent(cpu.total("Burning", "spin"), three + one);
    assert!(spins > 90.0, "{spins} %");
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
        // Monitors are told by the VM everywhere; those of java.util.concurrent are the ones that need more.
        "locks" => Program::new("Contended").arguments(["lock", "4", "50"]),
        "root" => Program::new("Subgraph").arguments(["200", "4"]),
        _ => Program::new("Hot").arguments(["400"]),
    };
    let program = match kind.name() {
        "root" => program.quipu([&switch, "Subgraph.place"]),
        _ => program.quipu([&switch]),
    };
    let run = program.run(jdk);
    if jdk.feature < kind.since {
        assert_eq!(run.status.code(), Some(3), "{}", run.said());
        assert!(run.stderr.contains(&kind.needs()), "{}", run.said());
        return;
    }
    assert!(run.status.success(), "{}", run.said());
    // The first is what it is for; others may have had nothing to tell.
    if let Some(metric) = kind.metrics.first() {
        // That of an event is called after it.
        let name = metric.name.replace("NAME", "page-faults");
        assert!(run.profile().metric(&name).is_some(), "no {name}; {}", run.said());
    }
    if kind.name() == "root" {
        let calls = ThreadCounts::of(run.profile(), |name| name.starts_with("worker-"));
        assert_eq!(calls.path(&["Subgraph.place"]).calls, 4 * 200, "{}", run.said());
        assert_eq!(calls.path(&["Subgraph.place", "Subgraph.getter"]).calls, 4 * 200 * 10, "{}", run.said());
        assert_eq!(
            calls.path(&["Subgraph$Circle.area", "Subgraph$Square.area"]).calls,
            4 * 200,
            "{}",
            run.said()
        );
    }
    if kind.name() == "locks" {
        let counts = run.profile().metric("lock.count").expect("counts").values();
        assert!(counts.iter().sum::<u64>() >= 4 * 50, "{}", run.said());
    }
}
