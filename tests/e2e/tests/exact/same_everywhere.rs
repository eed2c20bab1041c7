//! The same profile everywhere: whatever compiles the code, whatever collects the garbage, run after run.

use quipu_e2e::{Jdk, Program, differences, knows_flag, on_every_jdk};
use quipu_profile::{Contents, Profile, Target};

const THREADS: [&str; 3] = ["main", "first", "second"];

/// Every way to run code and to collect garbage that the JDKs have.
const FLAGS: [&str; 8] = [
    "-Xint",
    "-XX:TieredStopAtLevel=1",
    "-XX:-TieredCompilation",
    "-Xcomp",
    "-XX:+UseSerialGC",
    "-XX:+UseParallelGC",
    "-XX:+UseG1GC",
    "-XX:+UseZGC",
];

fn program(analysis: &'static str) -> Program {
    Program::new("Hot").arguments(["20"]).quipu(["--deterministic", "--bba", analysis])
}

/// The application's threads. The command differs in the flag that was given.
fn application(program: &Program, jdk: &Jdk) -> Profile {
    let run = program.run(jdk);
    let profile = run.assert_whole().profile();
    let mut profile = profile.select_threads(|profile, thread| THREADS.contains(&profile.str(thread.name)));
    profile.meta.target = Target::default();
    profile
}

fn assert_same(expected: &Profile, found: &Profile, what: &str) {
    if expected.to_bytes(Contents::WithoutRun) == found.to_bytes(Contents::WithoutRun) {
        return;
    }
    assert_eq!(expected.meta, found.meta, "{what}");
    let differing = differences(expected, found);
    let shown = differing.iter().take(12).map(|line| format!("{line}\n")).collect::<String>();
    panic!("{} contexts are others, {what}:\n{shown}", differing.len());
}

#[test]
fn five_runs_give_the_same_bytes() {
    on_every_jdk(|jdk| {
        let program = program("default");
        let first = application(&program, jdk);
        for n in 2..=5 {
            assert_same(&first, &application(&program, jdk), &format!("JDK {}, run {n}", jdk.feature));
        }
    });
}

#[test]
fn compilers_and_collectors_do_not_change_the_profile() {
    on_every_jdk(|jdk| {
        let expected = application(&program("default"), jdk);
        for flag in FLAGS.into_iter().filter(|flag| knows_flag(jdk, flag)) {
            let found = application(&program("default").jvm([flag]), jdk);
            assert_same(&expected, &found, &format!("JDK {} {flag}", jdk.feature));
        }
    });
}

#[test]
fn compilers_do_not_change_a_precise_profile() {
    on_every_jdk(|jdk| {
        let expected = application(&program("precise"), jdk);
        for flag in ["-Xint", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation"] {
            let found = application(&program("precise").jvm([flag]), jdk);
            assert_same(&expected, &found, &format!("JDK {} {flag}", jdk.feature));
        }
    });
}
