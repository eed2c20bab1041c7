//! An attach that is killed: nobody is left to put the target back but the agent.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use quipu_e2e::{Child, Command, ThreadCounts, Working, on_every_jdk, scratch, tools};
use quipu_profile::Profile;

use crate::signals::send;

/// Far more than it takes; a hang would fail the test.
const PATIENCE: Duration = Duration::from_secs(120);

/// Attaches for ever, and waits until it measures.
pub fn attach(working: &Working, options: &[&str]) -> Child {
    let file = scratch("abandoned").join("out.quipu");
    let mut quipu = Command::new(&tools().quipu);
    quipu.args(["attach", &working.id()]).args(options).arg("-o").arg(&file).stderr(Stdio::piped());
    let mut child = quipu.spawn().expect("it starts");
    let mut err = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut said = String::new();
    while !said.contains("quipu: profiling ") {
        assert!(err.read_line(&mut said).expect("text") > 0, "{said}");
    }
    child
}

pub fn kill(mut child: Child) {
    send("KILL", child.id());
    assert!(!child.wait().expect("it ends").success());
}

/// What the agent answers, if it listens.
fn status(working: &Working) -> Option<String> {
    let mut quipu = Command::new(&tools().quipu);
    let output = quipu.args(["ctl", &working.id(), "status", "--json"]).output().expect("it runs");
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

pub fn wait_until_left(working: &Working) {
    let began = Instant::now();
    while let Some(status) = status(working) {
        assert!(began.elapsed() < PATIENCE, "{status}");
        sleep(Duration::from_millis(100));
    }
}

/// It can be profiled as if nobody had been there.
fn assert_as_before(working: &Working) {
    let file = scratch("again").join("out.quipu");
    let mut quipu = Command::new(&tools().quipu);
    quipu.args(["attach", &working.id(), "--exact", "-d", "1", "-o"]).arg(&file);
    let output = quipu.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let profile = Profile::load(file).expect("a profile");
    assert!(ThreadCounts::of(&profile, |name| name == "main").method("Working", "work").calls > 0);
}

#[test]
fn a_killed_attach_leaves_the_target_as_it_was() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let kinds: [&[&str]; 8] = [
            &["--exact"],
            &["--root", "Working.work"],
            &["--cpu"],
            &["--exact", "--wall"],
            &["--bytecodes"],
            &["--alloc", "4K"],
            &["--locks", "1ns"],
            &["--exact", "--alloc", "--locks", "--timeline"],
        ];
        for kind in kinds {
            kill(attach(&working, kind));
            wait_until_left(&working);
        }
        assert_as_before(&working);
        working.finish();
    });
}

/// Killed after the agent began and before it could say that it is there.
#[test]
fn one_who_never_comes_is_not_waited_for_long() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let library = tools().quipu.with_file_name("libquipu_agent.so");
        let mut jcmd = Command::new(jdk.home.join("bin/jcmd"));
        jcmd.args([&working.id(), "JVMTI.agent_load"]).arg(library).arg("exact,held");
        let output = jcmd.output().expect("jcmd runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        wait_until_left(&working);
        assert_as_before(&working);
        working.finish();
    });
}

#[test]
fn a_killed_attach_goes_on_if_it_was_told_to() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        kill(attach(&working, &["--exact", "--keep"]));
        let status = status(&working).expect("the agent listens");
        assert!(status.contains("\"exact\":\"on\""), "{status}");
        working.finish();
    });
}

/// Begins to look at a JVM for ever, and waits until it samples.
fn top(working: &Working) -> Child {
    let mut quipu = Command::new(&tools().quipu);
    quipu.args(["top", &working.id(), "--every", "0.2"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = quipu.spawn().expect("it starts");
    wait_until(working, |status| status.is_some_and(|status| status.contains("\"cpu\":\"100\"")));
    child
}

fn wait_until(working: &Working, reached: impl Fn(Option<&str>) -> bool) {
    let began = Instant::now();
    loop {
        let status = status(working);
        if reached(status.as_deref()) {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{status:?}");
        sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_killed_top_leaves_the_target_as_it_was() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        kill(top(&working));
        wait_until_left(&working);
        // Where something else is measured, that goes on.
        let attached = attach(&working, &["--exact"]);
        kill(top(&working));
        let only_exact =
            |status: &str| status.contains("\"exact\":\"on\"") && status.contains("\"cpu\":\"off\"");
        wait_until(&working, |status| status.is_some_and(only_exact));
        kill(attached);
        wait_until_left(&working);
        assert_as_before(&working);
        working.finish();
    });
}
