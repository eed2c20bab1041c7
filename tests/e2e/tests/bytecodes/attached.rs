//! Samples of a program that runs already.

use std::process::Stdio;

use quipu_e2e::{Command, Working, on_every_jdk, scratch, tools};
use quipu_profile::{Metric, Profile};

fn ctl(pid: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(&tools().quipu).args(["ctl", pid]).args(words).output().expect("it runs");
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A sample every 50 million bytecodes, then every 1,000.
#[test]
fn the_granularity_changes_while_the_program_runs() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let pid = working.id();
        let file = scratch("attached").join("out.quipu");
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["attach", &pid, "-d", "5", "--bytecodes", "50000000", "-o"]).arg(&file);
        let mut attached = quipu.stderr(Stdio::null()).spawn().expect("it runs");
        let on = |said: &str| said.contains("a sample every 50,000,000 bytecodes");
        while !ctl(&pid, &["status"]).is_some_and(|said| on(&said)) {
            assert!(attached.try_wait().expect("a child").is_none(), "it ended before it could be steered");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let said = ctl(&pid, &["set", "bytecodes=1000"]).expect("it is steered");
        assert!(said.contains("a sample every 1,000 bytecodes"), "{said}");
        assert!(ctl(&pid, &["set", "bytecodes=0"]).is_none());
        assert!(attached.wait().expect("it ends").success());
        let samples =
            Profile::load(&file).expect("a profile").metric("samples.bytecodes").map_or(0, Metric::total);
        assert!(samples > 2_000, "{samples}");
    });
}

/// Exact before, samples, exact again: each profile has its own metrics and none of the other's counts.
#[test]
fn samples_come_and_go_with_attach() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let pid = working.id();
        let attach = |options: &[&str]| {
            let file = scratch("attached").join("out.quipu");
            let mut quipu = Command::new(&tools().quipu);
            quipu.args(["attach", &pid, "-d", "1"]).args(options).arg("-o").arg(&file);
            let said = quipu.output().expect("it runs").stderr;
            Profile::load(&file).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&said)))
        };
        let names = |profile: &Profile| -> Vec<String> {
            profile.metrics().iter().map(|metric| metric.name().to_owned()).collect()
        };
        let exact = attach(&["--exact"]);
        let sampled = attach(&["--bytecodes", "1000"]);
        let again = attach(&["--exact"]);
        assert_eq!(names(&exact), ["calls", "bytecodes"]);
        assert_eq!(names(&sampled), ["samples.bytecodes"]);
        assert_eq!(names(&again), ["calls", "bytecodes"]);
        assert!(sampled.metric("samples.bytecodes").expect("samples").total() > 100);
        working.finish();
    });
}
