//! Roots of programs that run: attached again and again, taken out while threads are in them, with virtual threads.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use quipu_e2e::{Command, Jdk, Working, classes, on_every_jdk, on_every_jdk_since, scratch, tools};
use quipu_profile::Profile;

fn attach(working: &Working, options: &[&str]) -> (Profile, String) {
    let file = scratch("root").join("out.quipu");
    let mut command = Command::new(&tools().quipu);
    command.args(["attach", &working.id()]).args(options).args(["-d", "0.7", "-o"]).arg(&file);
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{options:?}: {said}");
    (Profile::load(&file).expect("a profile"), said)
}

pub fn calls(profile: &Profile, name: &str) -> u64 {
    let (tree, calls) = (profile.tree(), profile.metric("calls").expect("calls").values());
    let is_named = |node: &u32| tree.method(*node).is_some_and(|method| profile.method_name(method) == name);
    (0..tree.len() as u32).filter(is_named).map(|node| calls[node as usize]).sum()
}

/// `Rooted` calls each of these so often in a round, in 64 threads that are in it all the time.
pub fn assert_whole(profile: &Profile, options: &[&str]) {
    let rounds = calls(profile, "Rooted.round");
    assert!(rounds > 100, "{rounds} rounds");
    // Threads are in the middle of a round when the profile begins and ends.
    for (method, each) in [("Rooted.step", 5), ("Rooted.tiny", 50)] {
        let found = calls(profile, method);
        let most = rounds * each;
        assert!((most - 64 * each..=most).contains(&found), "{options:?} {method}: {found}, {rounds} rounds");
    }
    let late = profile.run.extra.iter().find(|(key, _)| key == "root.late");
    assert!(late.is_none(), "{late:?}");
}

fn again_and_again(jdk: &Jdk, main: &str) {
    let working = Working::start_program(jdk, main);
    for options in [
        &["--root", "Rooted.round"][..],
        &["--root", "Rooted.round"],
        &["--root", "Rooted.round", "--scheme", "eager"],
        &["--root", "Rooted.round", "--cpu", "500"],
        &["--root", "Rooted.round", "--time", "sampled", "--wall", "50"],
        &["--root", "Rooted.round", "--alloc", "all"],
    ] {
        let (profile, _) = attach(&working, options);
        assert_whole(&profile, options);
        assert_eq!(calls(&profile, "Rooted.elsewhere"), 0, "{options:?}");
        let (exact, _) = attach(&working, &["--exact", "--include", "Rooted"]);
        assert!(exact.metric("time").is_none() && calls(&exact, "Rooted.elsewhere") > 0, "{options:?}");
    }
    let (none, said) = attach(&working, &["--root", "Roted.round"]);
    assert_eq!(none.metric("calls").map_or(0, |calls| calls.total()), 0);
    assert!(said.contains("--root Roted.round: no such method was loaded; there is Rooted"), "{said}");
    working.finish();
}

#[test]
fn attached_again_while_threads_are_in_it() {
    on_every_jdk(|jdk| again_and_again(jdk, "Rooted"));
}

fn ctl(working: &Working, words: &[&str]) -> String {
    let output = Command::new(&tools().quipu).args(["ctl", &working.id()]).args(words).output();
    let output = output.expect("it starts");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{words:?}: {said}");
    said
}

/// What there is now, after a while.
fn dump(working: &Working) -> Profile {
    std::thread::sleep(Duration::from_millis(500));
    let file = scratch("dump").join("out.quipu");
    ctl(working, &["dump", "-o", file.to_str().expect("text")]);
    Profile::load(&file).expect("a profile")
}

/// The same of a program that goes on while it is looked at: what is read last has counted more. From elsewhere there would be a
/// fifth more of each.
fn assert_near(profile: &Profile) {
    for (method, each) in [("Rooted.step", 5), ("Rooted.tiny", 50)] {
        assert_near_rounds(profile, method, each);
    }
}

fn assert_near_rounds(profile: &Profile, method: &str, each: u64) {
    let (found, rounds) = (calls(profile, method), calls(profile, "Rooted.round"));
    let (least, most) = (rounds * each * 85 / 100, rounds * each * 115 / 100 + 64 * each);
    assert!((least..=most).contains(&found), "{method}: {found}, {rounds} rounds");
}

/// The methods that stand directly below the threads.
fn tops(profile: &Profile) -> BTreeSet<String> {
    let (tree, depths) = (profile.tree(), profile.tree().depths());
    let tops = (0..tree.len() as u32).filter(|&node| depths[node as usize] == 1);
    tops.filter_map(|node| tree.method(node)).map(|method| profile.method_name(method)).collect()
}

/// Threads are below a root when its profile ends, and still are when others begin and end.
fn stays_below_a_root(jdk: &Jdk, main: &str) {
    let mut working = Working::start_program(jdk, main);
    ctl(&working, &["start", "root=Rooted.stay"]);
    assert!(tops(&dump(&working)).is_empty(), "threads are in no root until they call one");
    working.turn();
    let profile = dump(&working);
    assert_eq!(calls(&profile, "Rooted.stay"), 64);
    assert!(calls(&profile, "Rooted.round") > 100 && calls(&profile, "Rooted.elsewhere") > 100);
    // Its class was not loaded when the profile began.
    assert_near_rounds(&profile, "Rooted$Late.late", 1);
    ctl(&working, &["stop"]);
    for _ in 0..3 {
        let began = Instant::now();
        ctl(&working, &["start", "root=Rooted.round"]);
        for leaves in [false, true] {
            if leaves {
                working.turn();
            }
            let profile = dump(&working);
            let passed = u64::try_from(began.elapsed().as_nanos()).expect("little time");
            assert_eq!(tops(&profile), BTreeSet::from(["Rooted.round".to_owned()]));
            assert_near(&profile);
            assert_eq!(calls(&profile, "Rooted.stay") + calls(&profile, "Rooted.elsewhere"), 0);
            let raw = profile.metric("time.raw").expect("times").total();
            assert!(raw < 64 * passed, "{raw} ns in {passed}");
        }
        ctl(&working, &["start", "root=Rooted.stay"]);
        working.turn();
        assert_eq!(calls(&dump(&working), "Rooted.stay"), 64);
        ctl(&working, &["stop"]);
    }
    working.finish();
}

#[test]
fn what_is_below_a_root_when_its_profile_ends_is_in_no_other() {
    on_every_jdk(|jdk| stays_below_a_root(jdk, "Rooted"));
}

#[test]
fn nor_are_virtual_threads() {
    on_every_jdk_since(21, |jdk| stays_below_a_root(jdk, "RootedVirtually"));
}

/// What the VM takes for the bytes of a class, as another agent sees them that comes after ours.
fn bytes_of(jdk: &Jdk, working: &Working, class: &str) -> String {
    let directory = scratch("retransformed");
    let (manifest, jar, out) =
        (directory.join("manifest"), directory.join("agent.jar"), directory.join("digest"));
    std::fs::write(&manifest, "Agent-Class: Retransformed\nCan-Retransform-Classes: true\n").expect("a file");
    let names = ["Retransformed.class", "Retransformed$1.class"];
    let mut jars = Command::new(jdk.home.join("bin/jar"));
    jars.arg("cfm").arg(&jar).arg(&manifest);
    names.iter().for_each(|name| {
        jars.arg("-C").arg(classes(jdk)).arg(name);
    });
    assert!(jars.status().expect("jar runs").success());
    let mut jcmd = Command::new(jdk.home.join("bin/jcmd"));
    jcmd.args([&working.id(), "JVMTI.agent_load"]).arg(&jar).arg(format!("{class},{}", out.display()));
    let output = jcmd.output().expect("jcmd runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    std::fs::read_to_string(&out)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stdout)))
}

#[test]
fn classes_have_their_bytes_again_behind_it() {
    on_every_jdk_since(9, |jdk| {
        let working = Working::start_program(jdk, "Rooted");
        // Ours comes first, so that the other sees what it does.
        ctl(&working, &["start", "cpu"]);
        let before = bytes_of(jdk, &working, "Rooted");
        ctl(&working, &["start", "root=Rooted.round"]);
        assert_ne!(bytes_of(jdk, &working, "Rooted"), before);
        ctl(&working, &["stop", "root"]);
        assert_eq!(bytes_of(jdk, &working, "Rooted"), before);
        working.finish();
    });
}

#[test]
fn it_is_looked_at_while_it_runs() {
    on_every_jdk(|jdk| {
        let working = Working::start_program(jdk, "Rooted");
        let said = ctl(&working, &["start", "root=Rooted.rund"]);
        assert!(said.contains("not met yet: Rooted.rund"), "{said}");
        let said = ctl(&working, &["start", "root=Rooted.round"]);
        assert!(said.contains("not met yet: Rooted.rund)"), "{said}");
        let quipu = |words: &[&str]| {
            let mut quipu = Command::new(&tools().quipu);
            let output = quipu.args(words).current_dir(scratch("cwd")).output().expect("it runs");
            assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let pid = working.id();
        let said = quipu(&["top", &pid, "--every", "0.5", "--rounds", "2"]);
        assert!(said.contains("Rooted.round") && said.contains("CALLS/S"), "{said}");
        let rounds = || {
            let report = quipu(&["report", &pid, "--by", "method", "--json"]);
            let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
            let rows = report["rows"].as_array().expect("rows").clone();
            let round = rows.iter().find(|row| row["method"] == "round").expect("it is there");
            assert!(round["time.error"]["total"].is_u64(), "{round}");
            round["calls"].as_u64().expect("calls")
        };
        let first = rounds();
        std::thread::sleep(Duration::from_millis(300));
        assert!(first > 0 && rounds() > first);
        working.finish();
    });
}

/// What measuring took is known however short it was.
#[test]
fn short_attaches_have_corrected_times() {
    on_every_jdk(|jdk| {
        let working = Working::start_program(jdk, "Rooted");
        let file = scratch("short").join("out.quipu");
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["attach", &working.id(), "--root", "Rooted.round", "-d", "0.05", "-o"]).arg(&file);
        let output = quipu.output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let profile = Profile::load(&file).expect("a profile");
        let cost = &profile.run.cost;
        assert!(cost.iter().any(|cost| cost.contains("which is taken off")), "{cost:?}");
        working.finish();
    });
}

#[test]
fn roots_are_added_while_it_runs() {
    on_every_jdk(|jdk| {
        let working = Working::start_program(jdk, "Rooted");
        let file = scratch("added").join("out.quipu");
        let ctl = |words: &[&str]| ctl(&working, words);
        ctl(&["start", "root=Rooted.round"]);
        let said = ctl(&["start", "root=Rooted.elsewhere"]);
        assert!(
            said.contains("calls and times below Rooted.round, Rooted.elsewhere (instrumented"),
            "{said}"
        );
        std::thread::sleep(Duration::from_millis(500));
        ctl(&["dump", "-o", file.to_str().expect("text")]);
        let said = ctl(&["stop", "root"]);
        assert!(said.contains("measures       nothing"), "{said}");
        ctl(&["stop"]);
        let profile = Profile::load(&file).expect("a profile");
        assert!(calls(&profile, "Rooted.round") > 0 && calls(&profile, "Rooted.elsewhere") > 0);
        working.finish();
    });
}

#[test]
fn a_root_is_removed_while_threads_are_in_it() {
    on_every_jdk(|jdk| {
        let mut working = Working::start_program(jdk, "Rooted");
        ctl(&working, &["start", "root=Rooted.round", "root=Rooted.elsewhere"]);
        let both = dump(&working);
        let said = ctl(&working, &["stop", "root=Rooted.elsewhere"]);
        assert!(said.contains("calls and times below Rooted.round (instrumented"), "{said}");
        let then = calls(&dump(&working), "Rooted.elsewhere");
        assert!(then >= calls(&both, "Rooted.elsewhere") && then > 0);
        let after = dump(&working);
        assert_eq!(calls(&after, "Rooted.elsewhere"), then, "what it has counted stays, and is no more");
        assert!(calls(&after, "Rooted.round") > calls(&both, "Rooted.round"));
        ctl(&working, &["start", "root=Rooted.stay"]);
        working.turn();
        assert_eq!(calls(&dump(&working), "Rooted.stay"), 64);
        // All threads are in it, and stay there.
        ctl(&working, &["stop", "root=Rooted.stay"]);
        let before = dump(&working);
        let after = dump(&working);
        assert_eq!(calls(&before, "Rooted.stay"), calls(&after, "Rooted.stay"));
        assert!(calls(&after, "Rooted.round") > calls(&before, "Rooted.round"));
        let said = ctl(&working, &["stop", "root=Rooted.round"]);
        assert!(said.contains("measures       nothing"), "{said}");
        working.finish();
    });
}

#[test]
fn results_are_reset() {
    on_every_jdk(|jdk| {
        let working = Working::start_program(jdk, "Rooted");
        ctl(&working, &["start", "root=Rooted.round", "root=Rooted.elsewhere", "cpu=500"]);
        ctl(&working, &["stop", "root=Rooted.elsewhere"]);
        let before = dump(&working);
        for _ in 0..3 {
            let began = Instant::now();
            let said = ctl(&working, &["reset"]);
            assert!(said.contains("below Rooted.round (instrumented") && said.contains("500"), "{said}");
            let profile = dump(&working);
            let passed = u64::try_from(began.elapsed().as_nanos()).expect("little time");
            assert_near(&profile);
            assert!(calls(&before, "Rooted.elsewhere") > 0 && calls(&profile, "Rooted.elsewhere") == 0);
            assert!(profile.metric("time.raw").expect("times").total() < 64 * passed);
            assert!(profile.metric("cpu").expect("samples").total() < 64 * passed);
        }
        ctl(&working, &["stop", "root"]);
        assert_whole(&dump(&working), &["reset"]);
        working.finish();
    });
}

#[test]
fn virtual_threads_are_in_it() {
    on_every_jdk_since(21, |jdk| again_and_again(jdk, "RootedVirtually"));
}
