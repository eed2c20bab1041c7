//! Profiles that are written in another tool's format at once.

use std::fs;

use quipu_e2e::{Command, Working, classes, on_every_jdk, scratch, tools};

/// What files in each format begin with.
const FORMATS: [(&str, &[u8]); 8] = [
    ("collapsed", b"["),
    ("svg", b"<?xml"),
    ("html", b"<!doctype html>"),
    ("speedscope.json", b"{\"$schema\":\"https://www.speedscope.app"),
    ("pb.gz", &[0x1f, 0x8b]),
    ("firefox.json", b"{\"counters\""),
    ("callgrind", b"# callgrind"),
    ("quipu", b"QUIPU"),
];

#[test]
fn a_run_writes_what_its_output_is_called() {
    on_every_jdk(|jdk| {
        let directory = scratch("suffixes");
        for (suffix, beginning) in FORMATS {
            let file = directory.join(format!("out.{suffix}"));
            let mut quipu = Command::new(&tools().quipu);
            quipu.args(["run", "-o"]).arg(&file).arg("--").arg(jdk.home.join("bin/java"));
            let output = quipu.arg("-cp").arg(classes(jdk)).arg("Foo").output().expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{suffix}: {said}");
            let written = fs::read(&file).expect("it is written");
            let head = String::from_utf8_lossy(&written[..written.len().min(60)]).into_owned();
            assert!(written.starts_with(beginning), "{suffix}: {head}");
            assert_eq!(said.contains("quipu report"), suffix == "quipu", "{said}");
        }
    });
}

/// As in an export of the profile: what the JVM and Quipu have for themselves waits nearly always.
#[test]
fn exports_of_elapsed_time_are_without_the_threads_of_the_jvm() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let directory = scratch("suffixes");
        let written = |name: &str| {
            let file = directory.join(name);
            let mut quipu = Command::new(&tools().quipu);
            quipu.args(["attach", &working.id(), "--wall", "-d", "0.5", "-o"]).arg(&file);
            let output = quipu.output().expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{said}");
            (fs::read(&file).expect("it is written"), said)
        };
        let (stacks, said) = written("out.collapsed");
        let stacks = String::from_utf8_lossy(&stacks).into_owned();
        assert!(stacks.contains("Working.main"), "{stacks}");
        assert!(!stacks.contains("Finalizer") && !stacks.contains("Quipu"), "{stacks}");
        assert!(said.contains("threads of the JVM and of Quipu"), "{said}");
        // A profile has all: it is reports that leave some out.
        written("out.quipu");
        let profile = quipu_profile::Profile::load(directory.join("out.quipu")).expect("a profile");
        assert!(profile.threads().iter().any(|thread| profile.str(thread.name) == "Finalizer"));
        working.finish();
    });
}

#[test]
fn an_attach_writes_what_its_output_is_called() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let directory = scratch("suffixes");
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["attach", &working.id(), "-d", "1.5", "--loop", "0.5", "-o"]);
        let output = quipu.arg(directory.join("out.pb.gz")).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for i in 1..=3 {
            let written = fs::read(directory.join(format!("out-000{i}.pb.gz"))).expect("it is written");
            assert!(written.starts_with(&[0x1f, 0x8b]));
        }
        working.finish();
    });
}
