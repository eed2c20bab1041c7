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
