//! Two runs of `--deterministic` are the same, byte for byte.

use std::path::{Path, PathBuf};

use quipu_e2e::{Command, Jdk, classes, on_every_jdk, scratch, tools};

/// Each in a directory of its own, under a name of its own.
fn run(jdk: &Jdk, options: &[&str], main: &str) -> PathBuf {
    let directory = scratch("same");
    let file = directory.join(format!("{main}-{}.quipu", options.len()));
    let mut quipu = Command::new(&tools().quipu);
    quipu.arg("run").args(options).arg("-o").arg(&file).arg("--").arg(jdk.home.join("bin/java"));
    let output =
        quipu.arg("-cp").arg(classes(jdk)).arg(main).current_dir(&directory).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    file
}

fn compare(a: &Path, b: &Path) -> (Option<i32>, String) {
    let mut quipu = Command::new(&tools().quipu);
    let output = quipu.args(["diff", "--exact-bytes"]).args([a, b]).output().expect("it runs");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn two_deterministic_runs_are_the_same() {
    on_every_jdk(|jdk| {
        for (main, options) in
            [("Foo", &["--deterministic"][..]), ("Sites", &["--deterministic", "--sites", "--blocks"])]
        {
            let first = run(jdk, options, main);
            for _ in 0..4 {
                let (status, said) = compare(&first, &run(jdk, options, main));
                assert_eq!(status, Some(0), "{main}: {said}");
            }
        }
    });
}

#[test]
fn other_programs_and_options_are_not() {
    on_every_jdk(|jdk| {
        let foo = run(jdk, &["--deterministic"], "Foo");
        let (status, said) = compare(&foo, &run(jdk, &["--deterministic"], "Sites"));
        assert_eq!(status, Some(1), "{said}");
        assert!(said.contains("STRS (names)"), "{said}");
        // The same, and something more.
        let (status, said) = compare(&foo, &run(jdk, &["--deterministic", "--allocations"], "Foo"));
        assert_eq!(status, Some(1), "{said}");
        assert!(said.contains("METR (counts)"), "{said}");
    });
}
