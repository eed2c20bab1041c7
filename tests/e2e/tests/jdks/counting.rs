//! Counts.

use quipu_e2e::{Counts, Jdk, Program, compare, differences, oracle, scratch};
use quipu_profile::{Contents, Profile, Target};

use crate::Row;

pub fn rows() -> Vec<Row> {
    vec![
        Row::new("calls and bytecodes of every method, in context (`--exact`, the default)", 8, exact),
        Row::new(
            "… of the application's methods, or of none (`--contexts app`, `none`)",
            8,
            without_contexts,
        ),
        Row::new(
            "… with call sites, blocks and the precise analysis (`--sites`, `--blocks`, `--bba`)",
            8,
            in_detail,
        ),
        Row::new("… equal to what the single-stepping interpreter tells", 8, true_to_the_interpreter),
        Row::new("… the same under `-Xint`, C1, C2 and another collector (`--deterministic`)", 8, |jdk| {
            same_everywhere(jdk, &some_ways(jdk))
        }),
        Row::long("… and under `-Xcomp` and every collector that the JDK has", 8, |jdk| {
            same_everywhere(jdk, &all_ways(jdk));
        }),
        Row::new("samples every N bytecodes (`--bytecodes`)", 8, bytecodes),
        Row::new("virtual threads", 21, virtual_threads),
    ]
}

const SUM: Counts = Counts { calls: 1, bytecodes: 10_007 };

fn exact(jdk: &Jdk) {
    let run = Program::new("Foo").run(jdk);
    let main = run.assert_whole().thread("main");
    assert_eq!(main.method("Foo", "sum"), SUM);
    assert_eq!(main.path(&["Foo.main", "Foo.sum", "Foo.f"]), Counts { calls: 1000, bytecodes: 6000 });
    overflow(jdk);
}

/// Stacks that run out in many threads at once leave nothing locked, in compiled code and in the interpreter.
fn overflow(jdk: &Jdk) {
    for flag in ["-Xmixed", "-Xint"] {
        let run = Program::new("Overflows").arguments(["60", "1"]).jvm([flag]).run(jdk);
        assert!(run.status.success(), "{flag}: {}", run.said());
        assert_eq!(run.stdout.trim(), "60 overflows", "{flag}");
        let lost = &run.profile().meta.lost;
        assert!(lost.keys().all(|what| !what.starts_with("arena.damaged")), "{flag}: {lost:?}");
    }
}

fn without_contexts(jdk: &Jdk) {
    for contexts in ["app", "none"] {
        let run = Program::new("Foo").quipu(["--contexts", contexts]).run(jdk);
        let main = run.assert_whole().thread("main");
        assert_eq!(main.method("Foo", "f"), Counts { calls: 1000, bytecodes: 6000 }, "{contexts}");
    }
}

fn in_detail(jdk: &Jdk) {
    let run = Program::new("Foo").quipu(["--sites", "--blocks", "--bba", "precise"]).run(jdk);
    assert!(run.status.success(), "{}", run.said());
    assert_eq!(run.thread("main").method("Foo", "sum"), SUM);
    // Some method of the JDK may be so long that there is no room for code in it.
    let lost = &run.profile().meta.lost;
    assert!(lost.keys().all(|cause| cause == "methods.left"), "{lost:?}: {}", run.left_alone());
}

fn true_to_the_interpreter(jdk: &Jdk) {
    let program = Program::new("Json").quipu(["--bba", "precise", "--deterministic"]).jvm(oracle::PINS);
    let program = program.directory(scratch("truth"));
    let truth = oracle::trees(&program, jdk);
    let run = program.run(jdk);
    let main = compare(&truth.calls, &run.assert_whole().thread("main"));
    assert!(main.agrees(), "JDK {}: {}", jdk.feature, main.describe());
    assert!(main.right > 100, "{} contexts", main.right);
}

/// Flags with which counts must be the same as without any.
type Way = &'static [&'static str];

fn some_ways(jdk: &Jdk) -> Vec<Way> {
    let compilers: [Way; 3] = [&["-Xint"], &["-XX:TieredStopAtLevel=1"], &["-XX:-TieredCompilation"]];
    compilers.into_iter().chain(collectors(jdk).pop()).collect()
}

fn all_ways(jdk: &Jdk) -> Vec<Way> {
    let others = collectors(jdk).into_iter().rev().skip(1);
    others.chain([&["-Xcomp"][..]]).collect()
}

/// What a JDK has; the last is the one that is always tried.
fn collectors(jdk: &Jdk) -> Vec<Way> {
    const UNLOCK: &str = "-XX:+UnlockExperimentalVMOptions";
    let mut all: Vec<Way> = vec![&["-XX:+UseSerialGC"], &["-XX:+UseParallelGC"], &["-XX:+UseG1GC"]];
    match jdk.feature {
        8 => all.push(&["-XX:+UseConcMarkSweepGC"]),
        11 => all.extend([
            &["-XX:+UseConcMarkSweepGC"][..],
            &[UNLOCK, "-XX:+UseZGC"],
            &[UNLOCK, "-XX:+UseShenandoahGC"],
            &[UNLOCK, "-XX:+UseEpsilonGC"],
        ]),
        17 => all.extend([&[UNLOCK, "-XX:+UseEpsilonGC"][..], &["-XX:+UseZGC"], &["-XX:+UseShenandoahGC"]]),
        21 => all.extend([
            &[UNLOCK, "-XX:+UseEpsilonGC"][..],
            &["-XX:+UseShenandoahGC"],
            &["-XX:+UseZGC"],
            &["-XX:+UseZGC", "-XX:+ZGenerational"],
        ]),
        _ => all.extend([
            &[UNLOCK, "-XX:+UseEpsilonGC"][..],
            &["-XX:+UseZGC"],
            &["-XX:+UseShenandoahGC"],
            &[UNLOCK, "-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational"],
            &["-XX:+UseCompactObjectHeaders", "-XX:+UseG1GC"],
            &["-XX:+UseCompactObjectHeaders", "-XX:+UseZGC"],
        ]),
    }
    all
}

fn same_everywhere(jdk: &Jdk, ways: &[Way]) {
    let expected = application(jdk, &[]);
    for flags in ways {
        let found = application(jdk, flags);
        let same = expected.to_bytes(Contents::WithoutRun) == found.to_bytes(Contents::WithoutRun);
        assert!(same, "JDK {} {flags:?}: {}", jdk.feature, differences(&expected, &found).join("\n"));
    }
}

fn application(jdk: &Jdk, flags: &[&str]) -> Profile {
    let program =
        flags.iter().fold(Program::new("Hot").arguments(["20"]), |program, flag| program.jvm([flag]));
    let run = program.quipu(["--deterministic"]).run(jdk);
    let threads = ["main", "first", "second"];
    let profile = run.assert_whole().profile();
    let mut profile = profile.select_threads(|profile, thread| threads.contains(&profile.str(thread.name)));
    // The command has the flags that were given.
    profile.meta.target = Target::default();
    profile
}

/// `LongLoop` executes 9 + outer · (10 + inner · 14) bytecodes in its loop.
fn bytecodes(jdk: &Jdk) {
    let program = Program::new("LongLoop").arguments(["20", "100000"]);
    let run = program.quipu(["--bytecodes", "1000", "--jitter", "0"]).run(jdk);
    let found = run.assert_whole().thread("main").samples_of("LongLoop", "loop");
    assert!(found.abs_diff(28_000) <= 28, "{found} samples");
}

fn virtual_threads(jdk: &Jdk) {
    if jdk.feature < 21 {
        return;
    }
    let run = Program::new("Migrates").arguments(["20", "40"]).run(jdk);
    run.assert_whole();
}
