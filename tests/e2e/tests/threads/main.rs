//! Threads of a JVM that runs, and deadlocks that were planted.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdout, Output, Stdio};

use quipu_e2e::{Child, Command, Jdk, classes, on_every_jdk, scratch, tools, with_disk_of};
use serde_json::Value;

/// A program that says when its threads wait. It does not outlive a test that fails.
struct Waiting(Child, BufReader<ChildStdout>);

impl Waiting {
    fn start(jdk: &Jdk, program: &[&str]) -> Waiting {
        Waiting::start_by(jdk, Command::new("env"), program)
    }

    /// The same by a command that becomes the one that it is given.
    fn start_by(jdk: &Jdk, mut java: Command, program: &[&str]) -> Waiting {
        java.arg(jdk.home.join("bin/java"))
            .arg("-cp")
            .arg(classes(jdk))
            .args(program)
            .current_dir(scratch("cwd"));
        java.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = java.spawn().expect("java starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut waiting = Waiting(child, output);
        assert_eq!(waiting.says(), "waiting", "{program:?}");
        waiting
    }

    /// The next line that it prints.
    fn says(&mut self) -> String {
        let mut line = String::new();
        self.1.read_line(&mut line).expect("a line");
        line.trim().to_owned()
    }

    /// Gives it a line to read.
    fn tell(&mut self, line: &str) {
        writeln!(self.0.stdin.as_mut().expect("a pipe"), "{line}").expect("it reads");
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

/// Looks, and returns the names of the threads of the only circle.
fn circle(found: &Value) -> Vec<String> {
    let circles = found["deadlocks"].as_array().expect("a list");
    assert_eq!(circles.len(), 1, "{found}");
    let threads = circles[0].as_array().expect("threads").iter();
    let mut names: Vec<String> =
        threads.filter_map(|t| t["thread"]["name"].as_str().map(str::to_owned)).collect();
    names.sort_unstable();
    names
}

fn planted(threads: usize) -> Vec<String> {
    let mut names: Vec<String> = (0..threads).map(|i| format!("circle-{i}")).collect();
    names.sort_unstable();
    names
}

#[test]
fn planted_deadlocks_are_found() {
    on_every_jdk(|jdk| {
        for kind in ["monitor", "lock", "write", "mixed"] {
            for threads in [2, 3, 10] {
                let program = Waiting::start(jdk, &["Deadlocks", kind, &threads.to_string()]);
                assert_eq!(circle(&program.json("deadlocks", &[], 1)), planted(threads), "{kind}");
                if threads == 3 {
                    let text = program.quipu("deadlocks", &[]);
                    let text = String::from_utf8_lossy(&text.stdout).into_owned();
                    assert!(text.contains("3 threads wait for each other"), "{text}");
                    let told = text.contains("\"circle-0\" waits for ") && text.contains("Deadlocks.work");
                    assert!(told, "{text}");
                }
                program.finish();
            }
        }
    });
}

#[test]
fn a_deadlock_that_comes_later_is_waited_for() {
    on_every_jdk(|jdk| {
        let program = Waiting::start(jdk, &["Deadlocks", "later", "3"]);
        assert_eq!(circle(&program.json("deadlocks", &["--watch", "0.1"], 1)), planted(3));
        program.finish();
    });
}

#[test]
fn who_waits_for_itself_or_for_the_dead_is_told() {
    on_every_jdk(|jdk| {
        let program = Waiting::start(jdk, &["Deadlocks", "self", "1"]);
        assert_eq!(circle(&program.json("deadlocks", &[], 1)), ["circle-0"]);
        let text = program.quipu("deadlocks", &[]);
        let text = String::from_utf8_lossy(&text.stdout).into_owned();
        assert!(text.contains("1 thread waits for itself") && text.contains("held by itself"), "{text}");
        program.finish();

        let program = Waiting::start(jdk, &["Deadlocks", "orphan", "1"]);
        let found = program.json("deadlocks", &[], 1);
        assert_eq!(found["deadlocks"], serde_json::json!([]));
        assert_eq!(found["orphaned"][0]["thread"]["name"], "circle-0", "{found}");
        let text = program.quipu("deadlocks", &[]);
        let text = String::from_utf8_lossy(&text.stdout).into_owned();
        assert!(text.contains("its holder has ended"), "{text}");
        program.finish();
    });
}

#[test]
fn who_waits_for_some_time_only_is_no_deadlock() {
    on_every_jdk(|jdk| {
        let program = Waiting::start(jdk, &["Deadlocks", "timed", "3"]);
        let found = program.json("deadlocks", &[], 0);
        assert_eq!(found["deadlocks"], serde_json::json!([]));
        program.finish();
    });
}

#[test]
fn a_lock_that_a_virtual_thread_holds_is_not_told_to_be_lost() {
    on_every_jdk(|jdk| {
        if jdk.feature < 21 {
            return;
        }
        for lock in ["monitor", "lock"] {
            let program = Waiting::start(jdk, &["HeldByVirtual", "held", lock]);
            let found = program.json("deadlocks", &[], 0);
            assert_eq!(found["orphaned"], serde_json::json!([]), "{lock}");
            // Which versions tell who owns what is parked for.
            let unsure = usize::from(lock == "lock" && jdk.feature < 26);
            assert_eq!(found["unsure"].as_array().map(Vec::len), Some(unsure), "{lock}: {found}");
            program.finish();
        }
    });
}

#[test]
fn circles_of_virtual_threads_are_found_where_the_jvm_tells_their_locks() {
    on_every_jdk(|jdk| {
        for (lock, since) in [("monitor", 25), ("lock", 26)] {
            if jdk.feature < since {
                continue;
            }
            let program = Waiting::start(jdk, &["HeldByVirtual", "circle", lock]);
            let found = program.json("deadlocks", &[], 1);
            assert_eq!(circle(&found), ["virtual-0", "virtual-1"], "{lock}");
            program.finish();
        }
    });
}

/// A thousand small programs that take locks at random, and cannot hang: each is looked at while it runs.
#[test]
fn random_programs_have_no_deadlock() {
    const AT_ONCE: usize = 50;
    on_every_jdk(|jdk| {
        let mut program = Waiting::start(jdk, &["RandomLocks"]);
        let mut blocked = 0;
        for ended in (AT_ONCE..=1000).step_by(AT_ONCE) {
            program.tell(&AT_ONCE.to_string());
            assert_eq!(program.says(), "running");
            let found = program.json("deadlocks", &[], 0);
            let none = serde_json::json!([]);
            assert_eq!((&found["deadlocks"], &found["orphaned"]), (&none, &none), "{found}");
            if ended == AT_ONCE {
                let dump = program.json("threads", &["--watch", "0"], 0);
                let threads = dump["threads"].as_array().expect("threads").iter();
                blocked = threads.filter(|thread| !thread["waits_for"].is_null()).count();
            }
            program.tell("end");
            assert_eq!(program.says(), format!("ended {ended}"));
        }
        // They do wait for each other.
        assert!(blocked >= 10, "{blocked} threads waited for a lock");
        program.finish();
    });
}

#[test]
fn a_jvm_that_hangs_gives_a_clear_answer() {
    on_every_jdk(|jdk| {
        // In native code: that does not keep the VM from telling.
        let pipe = scratch("pipes").join(format!("stuck-{}", jdk.feature));
        let _ = std::fs::remove_file(&pipe);
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
        let program = Waiting::start(jdk, &["Stuck", "native", &pipe.to_string_lossy()]);
        let found = program.json("deadlocks", &[], 0);
        assert_eq!(found["deadlocks"], serde_json::json!([]));
        let dump = program.json("threads", &["--watch", "0"], 0);
        let threads = dump["threads"].as_array().expect("threads");
        let stuck = threads.iter().find(|thread| thread["name"] == "stuck").expect("the thread");
        assert_eq!(stuck["state"], "RUNNABLE");
        assert!(stuck["frames"][0].as_str().is_some_and(|frame| frame.contains("Native Method")), "{stuck}");
        program.finish();

        // In code that cannot be stopped: the VM cannot tell.
        let flags = [
            "-XX:+IgnoreUnrecognizedVMOptions",
            "-XX:-UseCountedLoopSafepoints",
            "-XX:LoopStripMiningIter=0",
        ];
        let program = Waiting::start(jdk, &[&flags[..], &["-Xbatch", "Stuck", "safepoint"]].concat());
        for command in ["threads", "deadlocks"] {
            let output = program.quipu(command, &["--timeout", "1"]);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(3), "{said}");
            assert!(said.contains("did not answer"), "{said}");
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
        let group = text
            .lines()
            .find(|line| line.starts_with("3 threads: \"circle-"))
            .unwrap_or_else(|| panic!("{text}"));
        assert!(
            (0..3).all(|i| group.contains(&format!("\"circle-{i}\""))) && group.contains("  BLOCKED"),
            "{text}"
        );
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
            assert!(extra(&dump) < 100, "the JDK's own, and not all platform threads: {}", extra(&dump));
            for name in ["main", "Reference Handler"] {
                let platform =
                    dump["threads"].as_array().and_then(|all| all.iter().find(|t| t["name"] == name));
                assert_eq!(
                    platform.map(|thread| &thread["virtual"]),
                    Some(&false.into()),
                    "{options:?}: {name}"
                );
            }
        }
        let text = program.quipu("threads", &["--watch", "0"]);
        assert!(String::from_utf8_lossy(&text.stdout).starts_with("10000 threads: "));
        program.finish();
    });
}

/// The JVM writes its virtual threads to a file in `/tmp`. Where that is full, platform threads are shown all the same.
#[test]
fn a_full_disk_costs_virtual_threads_and_nothing_else() {
    on_every_jdk(|jdk| {
        if jdk.feature < 21 {
            return;
        }
        let Some(by) = with_disk_of("16k", Path::new("/tmp")) else { return };
        let program = Waiting::start_by(jdk, by, &["-XX:-UsePerfData", "Parked", "1000"]);
        for (command, list) in [("threads", "threads"), ("deadlocks", "deadlocks")] {
            let options: &[&str] =
                if command == "threads" { &["--watch", "0", "--json"] } else { &["--json"] };
            let output = program.quipu(command, options);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(0), "{said}");
            assert!(said.contains("virtual threads are left out"), "{said}");
            let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            let threads = found[list].as_array().expect("a list");
            assert_eq!(threads.iter().any(|thread| thread["name"] == "main"), command == "threads");
        }
        let output = program.quipu("threads", &["--watch", "0", "--fast"]);
        assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
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
