//! Sampled edges, switched on and off while the program runs.

use std::time::Duration;

use quipu_e2e::{Command, Jdk, Shares, Working, on_every_jdk_since, percent, scratch, tools};
use quipu_kinds::CALLS;
use quipu_profile::Profile;

use crate::edges;

fn ctl(pid: &str, words: &[&str]) -> (bool, String) {
    let output = Command::new(&tools().quipu).args(["ctl", pid]).args(words).output().expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn a_jvm_that_runs_without_the_agent_tells_of_no_calls() {
    on_every_jdk_since(CALLS.since, |jdk| {
        let working = Working::start(jdk);
        let file = scratch("calls").join("out.quipu");
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["attach", &working.id(), "--calls", "-d", "1", "-o"]).arg(&file);
        let output = quipu.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("an agent that was there when it started"), "{said}");
        // Another kind can be had of it all the same.
        let (good, said) = ctl(&working.id(), &["start", "cpu"]);
        assert!(good, "{said}");
        let (good, said) = ctl(&working.id(), &["stop"]);
        assert!(good, "{said}");
        working.finish();
    });
}

/// A program with an agent that waits for what is to be measured.
fn with_agent(jdk: &Jdk) -> Working {
    let agent = tools().quipu.with_file_name("libquipu_agent.so");
    Working::start_with(jdk, &[&format!("-agentpath:{}=idle", agent.display())], "Working")
}

fn steer(pid: &str, words: &[&str]) -> String {
    let (good, said) = ctl(pid, words);
    assert!(good, "{words:?}: {said}");
    said
}

fn dumped(pid: &str) -> Profile {
    let file = scratch("calls").join("out.quipu");
    steer(pid, &["dump", "-o", file.to_str().expect("a name")]);
    Profile::load(&file).expect("a profile")
}

/// Samples of the calls that `round` makes, in the order of their sites.
fn calls_of_round(profile: &Profile) -> Vec<u64> {
    let edges = edges(profile, "samples.calls");
    edges.into_iter().filter(|(edge, _)| edge.0 == "Working.round()V").map(|(_, n)| n).collect()
}

#[test]
fn windows_begin_and_end_while_the_program_runs() {
    on_every_jdk_since(CALLS.since, |jdk| {
        let working = with_agent(jdk);
        let pid = working.id();
        let (good, said) = ctl(&pid, &["set", "stride=3"]);
        assert!(!good && said.contains("start calls first"), "{said}");
        let (good, said) = ctl(&pid, &["start", "calls", "tick=2s"]);
        assert!(!good && said.contains("from 1ms to 1s"), "{said}");
        // Time and again, with another kind and alone: what is stopped takes nothing any more, what is started does.
        for kinds in [&["start", "calls"][..], &["start", "calls", "cpu=1000"]] {
            let said = steer(&pid, kinds);
            assert!(said.contains("call edges, in windows"), "{said}");
            // Also where nothing but calls is sampled.
            for (threads, told) in [("threads=main", "main"), ("threads=", "all")] {
                let said = steer(&pid, &["set", threads]);
                let line = said.lines().find_map(|line| line.strip_prefix("threads"));
                assert_eq!(line.map(str::trim), Some(told), "{said}");
            }
            std::thread::sleep(Duration::from_millis(700));
            for setting in ["stride=3", "samples=64", "tick=5ms"] {
                steer(&pid, &["set", setting]);
            }
            std::thread::sleep(Duration::from_millis(700));
            // What was changed is what it begins anew with, and what the profile tells.
            steer(&pid, &["set", "stride=2"]);
            steer(&pid, &["reset"]);
            std::thread::sleep(Duration::from_millis(500));
            let options = dumped(&pid).meta.options;
            for (name, value) in [("stride", "2"), ("samples", "64"), ("tick", "5000000")] {
                let told: Vec<_> = options.iter().filter(|option| option.0 == name).collect();
                assert_eq!(told, [&(name.to_owned(), value.to_owned())], "{options:?}");
            }
            steer(&pid, &["stop", "calls"]);
            let stopped = dumped(&pid);
            let [first, second] = calls_of_round(&stopped)[..] else {
                panic!("{:?}", calls_of_round(&stopped))
            };
            assert!(first.min(second) >= 100, "{first} and {second}");
            std::thread::sleep(Duration::from_millis(300));
            assert_eq!(calls_of_round(&dumped(&pid)), [first, second]);
            if kinds.contains(&"cpu=1000") {
                // What goes on does so without the options of what was stopped.
                steer(&pid, &["reset"]);
            }
            steer(&pid, &["stop"]);
        }
        // What is on when the program ends.
        steer(&pid, &["start", "calls=timer"]);
        let (good, said) = ctl(&pid, &["set", "stride=3"]);
        assert!(!good && said.contains("start calls anew"), "{said}");
        working.finish();
    });
}

/// Which threads are watched changes while a window is open: its thread runs compiled code again all the same.
#[test]
fn no_thread_is_left_in_the_interpreter() {
    on_every_jdk_since(CALLS.since, |jdk| {
        let working = with_agent(jdk);
        let pid = working.id();
        for _ in 0..4 {
            // Windows that do not end by themselves, one after the other.
            steer(&pid, &["start", "calls", "cpu=1000", "tick=1ms", "stride=1000000"]);
            steer(&pid, &["set", "threads=nobody"]);
            steer(&pid, &["stop"]);
            steer(&pid, &["start", "cpu=1000"]);
            std::thread::sleep(Duration::from_millis(200));
            let profile = dumped(&pid);
            steer(&pid, &["stop"]);
            // Without a sample of it, there is no such metric.
            let of =
                |metric| profile.metric(metric).map_or(0, |_| Shares::of(&profile, metric).thread("main"));
            let [all, interpreted] = ["cpu", "cpu.interpreted"].map(of);
            let share = percent(interpreted, all);
            assert!(all > 0 && share < 50.0, "{share} % of {all}");
        }
        working.finish();
    });
}
