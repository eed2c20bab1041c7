//! Signals that `quipu run` and `quipu attach` get.

use std::io::{BufRead, BufReader, Read};
use std::process::{ChildStdout, Stdio};

use quipu_e2e::{Child, Command, Jdk, ThreadCounts, Working, classes, on_every_jdk, scratch, tools};
use quipu_profile::Profile;

/// Sends a signal by name.
pub fn send(signal: &str, pid: u32) {
    let sent = Command::new("kill").arg(format!("-{signal}")).arg(pid.to_string()).status();
    assert!(sent.expect("kill runs").success(), "{signal} to {pid}");
}

/// The command, with signals as a terminal has them: what is started in the background ignores some, and so would the target.
pub fn quipu() -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal").arg(&tools().quipu);
    command
}

/// Starts a command, and waits until the JVM in it says that it works.
pub fn start(command: &mut Command) -> (Child, BufReader<ChildStdout>) {
    command.current_dir(scratch("cwd")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    out.read_line(&mut line).expect("it works");
    assert_eq!(line.trim(), "working");
    (child, out)
}

pub fn java(jdk: &Jdk) -> Vec<String> {
    let text = |path: std::path::PathBuf| path.display().to_string();
    vec![text(jdk.home.join("bin/java")), "-cp".to_owned(), text(classes(jdk)), "Told".to_owned()]
}

/// Sends each signal to `quipu run` in turn; returns what it ended with, and what came out.
fn run_and_send(command: &[String], signals: &[&str]) -> (Option<i32>, String, String, Profile) {
    let file = scratch("signals").join("out.quipu");
    let mut quipu = quipu();
    quipu.args(["run", "-o"]).arg(&file).arg("--").args(command);
    let (mut child, mut out) = start(&mut quipu);
    let mut said = String::new();
    for signal in signals {
        send(signal, child.id());
        // The shutdown hook says so: the target has the first before the next is sent.
        out.read_line(&mut said).expect("text");
    }
    out.read_to_string(&mut said).expect("text");
    let mut err = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
    let status = child.wait().expect("it ends");
    let profile = Profile::load(&file).unwrap_or_else(|e| panic!("{e}: {status}, {err}"));
    (status.code(), said, err, profile)
}

#[test]
fn signals_are_passed_on_and_the_profile_is_written() {
    on_every_jdk(|jdk| {
        for (signal, number) in [("TERM", 15), ("HUP", 1), ("INT", 2)] {
            let (status, said, err, profile) = run_and_send(&java(jdk), &[signal]);
            assert_eq!(status, Some(128 + number), "{signal}: {err}");
            assert_eq!(said, "ending\nended\n", "{signal}: {err}");
            let main = ThreadCounts::of(&profile, |name| name == "main");
            assert!(main.method("Told", "work").calls > 0, "{signal}");
            // What ran because of the signal is in it as well.
            let hook = ThreadCounts::of(&profile, |name| name == "hook");
            assert_eq!(hook.method("Told", "end").calls, 1, "{signal}");
        }
    });
}

#[test]
fn a_second_signal_is_passed_on_too() {
    on_every_jdk(|jdk| {
        let (status, said, err, profile) = run_and_send(&java(jdk), &["TERM", "INT"]);
        assert_eq!(said, "ending\nended\n", "{err}");
        assert_eq!(status, Some(128 + 15), "{err}");
        assert_eq!(ThreadCounts::of(&profile, |name| name == "hook").method("Told", "end").calls, 1);
    });
}

#[test]
fn a_target_that_a_signal_kills_has_its_profile() {
    on_every_jdk(|jdk| {
        let mut command = java(jdk);
        // The VM leaves signals alone then, and dies of them.
        command.insert(1, "-Xrs".to_owned());
        let (status, said, err, profile) = run_and_send(&command, &["TERM"]);
        assert_eq!((status, said.as_str()), (Some(128 + 15), ""), "{err}");
        assert!(ThreadCounts::of(&profile, |name| name == "main").method("Told", "work").calls > 0);
    });
}

/// The shell is killed and tells its child nothing.
#[test]
fn a_jvm_below_a_shell_does_not_outlive_it() {
    on_every_jdk(|jdk| {
        let line = format!("{} ; echo not reached", java(jdk).join(" "));
        let command = ["sh", "-c", &line].map(str::to_owned);
        let (status, said, err, profile) = run_and_send(&command, &["TERM"]);
        assert_eq!(status, Some(128 + 15), "{err}");
        assert_eq!(said, "ending\nended\n", "{err}");
        assert_eq!(ThreadCounts::of(&profile, |name| name == "hook").method("Told", "end").calls, 1);
    });
}

#[test]
fn a_thread_dump_does_not_end_the_run() {
    on_every_jdk(|jdk| {
        let (status, said, err, _) = run_and_send(&java(jdk), &["QUIT", "TERM"]);
        assert_eq!(status, Some(128 + 15), "{err}");
        assert!(said.contains("Full thread dump") && said.ends_with("ending\nended\n"), "{said}");
    });
}

#[test]
fn an_attach_that_is_told_to_end_writes_its_profile_and_leaves() {
    on_every_jdk(|jdk| {
        for signal in ["TERM", "HUP", "INT"] {
            let working = Working::start(jdk);
            let file = scratch("signals").join("out.quipu");
            let mut quipu = quipu();
            quipu.args(["attach", &working.id(), "--exact", "-o"]).arg(&file).stderr(Stdio::piped());
            let mut child = quipu.spawn().expect("it starts");
            let mut err = BufReader::new(child.stderr.take().expect("a pipe"));
            let mut said = String::new();
            while !said.contains("profiling ") {
                assert!(err.read_line(&mut said).expect("text") > 0, "{said}");
            }
            send(signal, child.id());
            err.read_to_string(&mut said).expect("text");
            assert!(child.wait().expect("it ends").success(), "{signal}: {said}");
            Profile::load(&file).expect("a profile");
            working.finish();
        }
    });
}
