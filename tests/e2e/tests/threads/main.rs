//! Threads of a JVM that runs, and deadlocks that were planted.

use std::io::{BufRead, BufReader};
use std::process::{Output, Stdio};

use quipu_e2e::{Child, Command, Jdk, classes, on_every_jdk, scratch, tools};
use serde_json::Value;

/// A program that says when its threads wait. It does not outlive a test that fails.
struct Waiting(Child);

impl Waiting {
    fn start(jdk: &Jdk, program: &[&str]) -> Waiting {
        let mut java = Command::new(jdk.home.join("bin/java"));
        java.arg("-cp").arg(classes(jdk)).args(program).current_dir(scratch("cwd"));
        java.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = java.spawn().expect("java starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        assert_eq!(line.trim(), "waiting", "{program:?}");
        Waiting(child)
    }

    fn quipu(&self, command: &str, options: &[&str]) -> Output {
        let mut quipu = Command::new(&tools().quipu);
        quipu.arg(command).arg(self.0.id().to_string()).args(options);
        quipu.output().expect("quipu runs")
    }

    fn json(&self, command: &str, options: &[&str], status: i32) -> Value {
        let output = self.quipu(command, &[options, &["--json"]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{said}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    /// Lets it end by itself.
    fn finish(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().expect("it ends").success());
    }
}

#[test]
fn planted_deadlocks_are_found() {
    on_every_jdk(|jdk| {
        for (kind, threads) in [("monitor", 2), ("lock", 3), ("write", 2), ("mixed", 10)] {
            let program = Waiting::start(jdk, &["Deadlocks", kind, &threads.to_string()]);
            let found = program.json("deadlocks", &[], 1);
            let circles = found["deadlocks"].as_array().expect("a list");
            assert_eq!(circles.len(), 1, "{kind}: {found}");
            let mut names: Vec<&str> = circles[0]
                .as_array()
                .expect("threads")
                .iter()
                .filter_map(|t| t["thread"]["name"].as_str())
                .collect();
            names.sort_unstable();
            let mut expected: Vec<String> = (0..threads).map(|i| format!("circle-{i}")).collect();
            expected.sort_unstable();
            assert_eq!(names, expected, "{kind}");
            let text = program.quipu("deadlocks", &[]);
            let text = String::from_utf8_lossy(&text.stdout).into_owned();
            assert!(text.contains(&format!("{threads} threads wait for each other")), "{text}");
            assert!(text.contains("\"circle-0\" waits for ") && text.contains("Deadlocks.work"), "{text}");
            program.finish();
        }
    });
}

#[test]
fn threads_that_wait_and_go_on_are_no_deadlock() {
    on_every_jdk(|jdk| {
        let program = Waiting::start(jdk, &["Deadlocks", "none", "9"]);
        let found = program.json("deadlocks", &[], 0);
        assert_eq!(found["deadlocks"], serde_json::json!([]));
        program.finish();
    });
}

#[test]
fn threads_have_states_stacks_and_locks() {
    on_every_jdk(|jdk| {
        let program = Waiting::start(jdk, &["Deadlocks", "monitor", "3"]);
        let dump = program.json("threads", &["--watch", "0.1"], 0);
        let threads = dump["threads"].as_array().expect("threads");
        let named = |name: &str| threads.iter().find(|thread| thread["name"] == name).expect("the thread");
        for i in 0..3 {
            let thread = named(&format!("circle-{i}"));
            assert_eq!(thread["state"], "BLOCKED");
            assert_eq!(thread["waits_for"]["how"], "monitor");
            assert_eq!(thread["holds"].as_array().map(Vec::len), Some(1), "{thread}");
            assert!(thread["cpu_now"].as_f64().is_some_and(|cpu| cpu < 0.5), "{thread}");
            let frames = thread["frames"].as_array().expect("frames");
            assert!(frames.iter().any(|frame| frame.as_str().is_some_and(|f| f.contains("Deadlocks.work"))));
        }
        assert_eq!(named("main")["state"], "RUNNABLE");
        let text = program.quipu("threads", &["--watch", "0"]);
        let text = String::from_utf8_lossy(&text.stdout).into_owned();
        // The same stack, but for the monitor that each waits for.
        assert!(text.contains("3 threads: \"circle-0\" \"circle-1\" \"circle-2\"  BLOCKED"), "{text}");
        program.finish();
    });
}

#[test]
fn ten_thousand_virtual_threads_are_one_group() {
    on_every_jdk(|jdk| {
        if jdk.feature < 21 {
            return;
        }
        let program = Waiting::start(jdk, &["Parked", "10000"]);
        for options in [&["--watch", "0"][..], &["--watch", "0", "--fast"]] {
            let dump = program.json("threads", options, 0);
            let threads = dump["threads"].as_array().expect("threads").iter();
            assert_eq!(
                threads.filter(|thread| thread["virtual"] == true).count(),
                10_000 + extra(&dump),
                "{options:?}"
            );
        }
        let text = program.quipu("threads", &["--watch", "0"]);
        assert!(String::from_utf8_lossy(&text.stdout).starts_with("10000 threads: "));
        program.finish();
    });
}

/// Virtual threads of the JDK's own.
fn extra(dump: &Value) -> usize {
    let threads = dump["threads"].as_array().into_iter().flatten();
    let is_parked = |thread: &&Value| {
        let frames = thread["frames"].as_array().into_iter().flatten();
        frames.into_iter().any(|frame| frame.as_str().is_some_and(|frame| frame.contains("Parked.await")))
    };
    threads.filter(|thread| thread["virtual"] == true).filter(|thread| !is_parked(thread)).count()
}

#[test]
fn a_jvm_that_is_stopped_is_called_so() {
    on_every_jdk(|jdk| {
        let program = Waiting::start(jdk, &["Deadlocks", "none", "2"]);
        let signal = |name: &str| {
            let sent = Command::new("kill").args([name, &program.0.id().to_string()]).status();
            assert!(sent.expect("kill runs").success());
        };
        signal("-STOP");
        for command in ["threads", "deadlocks"] {
            let output = program.quipu(command, &["--timeout", "1"]);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(3), "{said}");
            assert!(said.contains("stopped"), "{said}");
        }
        signal("-CONT");
        program.finish();
    });
}
