//! When agents are called.

use quipu_e2e::{Program, Run, on_every_jdk};

use crate::jars::under;

/// What `Counting` says of a thread: activations, most bytecodes between two, and a hash of where it was called.
fn thread(run: &Run, name: &str) -> (u64, u64, String) {
    let line = run.stderr.lines().find_map(|line| line.strip_prefix(&format!("thread {name}: ")));
    let line = line.unwrap_or_else(|| panic!("no thread {name}; {}", run.said()));
    let words: Vec<&str> = line.split(' ').map(|word| word.trim_end_matches(',')).collect();
    (words[0].parse().expect("activations"), words[3].parse().expect("bytecodes"), words[5].to_owned())
}

fn collections() -> Program {
    Program::new("Collections").quipu(["--deterministic"])
}

#[test]
fn activation_does_not_depend_on_the_run_or_the_compiler() {
    on_every_jdk(|jdk| {
        let flags =
            ["-Xint", "-XX:TieredStopAtLevel=1", "-XX:+TieredCompilation", "-Xcomp", "-XX:+UseSerialGC"];
        let runs: Vec<_> = [&flags[..], &["-XX:+TieredCompilation"; 2]]
            .concat()
            .iter()
            .map(|flag| {
                thread(&under("Counting", collections().jvm([flag, "-Dgranularity=1000"]), jdk), "main")
            })
            .collect();
        assert!(runs[0].0 > 100, "{} activations", runs[0].0);
        assert!(runs.iter().all(|run| *run == runs[0]), "{runs:?}");
    });
}

/// The counter runs ahead: it may say too much, never too little. What may come on top is the way to the next check.
#[test]
fn granularity_is_an_upper_bound() {
    on_every_jdk(|jdk| {
        for granularity in [500, 5_000] {
            let flag = format!("-Dgranularity={granularity}");
            let program = Program::new("ManyThreads").arguments(["1", "20", "50000"]);
            let run = under("Counting", program.jvm([&flag, "-Dmeasure=true"]), jdk);
            let (activations, most, _) = thread(run.assert_whole(), "worker-0");
            assert!(activations > 50, "{activations} activations; {}", run.said());
            let on_top = 100; // more than the longest way through any method of this thread
            assert!(most <= granularity + on_top, "{most} bytecodes, not {granularity}; {}", run.said());
        }
    });
}

#[test]
fn an_agent_that_wants_nothing_is_only_told_of_threads() {
    on_every_jdk(|jdk| {
        let run = under("Counting", Program::new("Foo").jvm(["-Dgranularity=2147483647"]), jdk);
        assert_eq!(thread(run.assert_whole(), "main").0, 0);
        assert_eq!(run.stdout.trim(), "1002000");
    });
}
