//! A VM that does not describe all of its structures, or none: as a newer one may be that nobody knows yet.

use quipu_e2e::{
    Command, Program, Run, Shares, ThreadCounts, Working, on_all_jdks, on_every_jdk, percent, scratch, tools,
};
use quipu_profile::Profile;

use crate::attached::finish;

#[test]
fn where_structures_are_not_described_hotspot_walks_and_the_profile_says_so() {
    let forget = format!("-agentpath:{}=forget=_frame_complete_offset", tools().oracle.display());
    let program = Program::new("Burning").arguments(["400"]).quipu(["--cpu", "1000"]).jvm([&*forget]);
    program.on_every_jdk(|run| {
        assert!(run.status.success(), "{}", run.said());
        let profile = run.profile();
        let walker = profile.run.extra.iter().find(|(key, _)| key == "walker").expect("who walked");
        let why = "this HotSpot's structure tables have no CodeBlob::_frame_complete_offset";
        assert_eq!(walker.1, format!("AsyncGetCallTrace, because {why}"));
        // What is told is right nevertheless; there is less of it.
        let cpu = Shares::of(profile, "cpu");
        let (three, one) = (cpu.thread("three parts"), cpu.thread("one part"));
        let share = percent(three, three + one);
        assert!((share - 75.0).abs() <= 3.0, "{share} %");
        // With the kernel's functions below it: on a busy machine it is often interrupted.
        let spins = percent(cpu.total("Burning", "spin"), three + one);
        assert!(spins > 90.0, "{spins} %");
        assert!(cpu.total("Burning", "threeParts") > cpu.total("Burning", "onePart"));
        assert!(profile.metric("cpu.c2").is_none());
        let said = format!("quipu: not in it: tiers, native and JVM frames, since {why}\n");
        assert_eq!(run.stderr.matches(&said).count(), 1, "{}", run.said());
    });
}

/// The bounds of stacks are elsewhere than the VM says, as in one that has fields of the same names for something else.
#[test]
fn where_structures_are_not_what_they_are_called_hotspot_walks_after_some_tries() {
    let mislead = format!("-agentpath:{}=mislead=_stack_base", tools().oracle.display());
    let program = Program::new("Burning").arguments(["800"]).quipu(["--cpu", "1000"]).jvm([&*mislead]);
    program.on_every_jdk(|run| {
        assert_eq!((run.status.code(), run.stdout.trim()), (Some(0), "burnt"), "{}", run.said());
        let profile = run.profile();
        let walker = profile.run.extra.iter().find(|(key, _)| key == "walker").expect("who walked");
        let why = "more than half of the first 200 walks of Quipu's own failed";
        assert_eq!(walker.1, format!("AsyncGetCallTrace, because {why}"), "{}", run.said());
        let spins = Shares::of(profile, "cpu").total("Burning", "spin");
        assert!(spins > 0, "{}", run.said());
        assert!(
            run.stderr.contains(&format!("tiers, native and JVM frames, since {why}\n")),
            "{}",
            run.said()
        );
    });
}

/// Everything that can be had without the VM's structures is; the rest is named in one line, and the program runs as if nobody
/// had asked.
#[test]
fn a_vm_that_describes_nothing_is_measured_by_every_kind() {
    let forget = format!("-agentpath:{}=forget=*", tools().oracle.display());
    let unknown = |main: &str, kinds: &[&str]| {
        kinds.iter().fold(Program::new(main).jvm([&*forget]), |program, kind| program.quipu([kind]))
    };
    let lines = |run: &Run| run.stderr.matches("quipu: not in it: tiers, native and JVM frames").count();
    on_all_jdks(|jdk| {
        let run = unknown("Foo", &["--exact"]).run(jdk);
        assert_eq!(run.assert_whole().thread("main").method("Foo", "sum").bytecodes, 10_007);
        let run = unknown("LongLoop", &["--bytecodes", "1000"]).arguments(["20", "100000"]).run(jdk);
        assert!(run.assert_whole().thread("main").samples_of("LongLoop", "loop") > 20_000);

        let run = unknown("Burning", &["--cpu=1000"]).arguments(["300"]).run(jdk);
        assert_eq!((run.stdout.trim(), lines(&run)), ("burnt", 1), "{}", run.said());
        let cpu = Shares::of(run.profile(), "cpu");
        let (three, one) = (cpu.thread("three parts"), cpu.thread("one part"));
        let share = percent(three, three + one);
        assert!((share - 75.0).abs() <= 5.0, "{share} %");
        // With the kernel's functions below it: on a busy machine it is often interrupted.
        let spins = percent(cpu.total("Burning", "spin"), three + one);
        assert!(spins > 85.0, "{spins} %");

        let kinds =
            ["--exact", "--cpu=1000", "--wall=200", "--locks=1ns", "--timeline", "--merge-threads=never"];
        let run = unknown("Burning", &kinds).arguments(["200"]).run(jdk);
        assert_eq!((run.stdout.trim(), lines(&run)), ("burnt", 1), "{}", run.said());
        let profile = run.profile();
        // The main thread was there before anything was measured: it has told which one it is.
        assert!(Shares::of(profile, "wall").thread("main") > 0, "{}", run.said());
        assert!(Shares::of(profile, "wall").thread("waiting 0") > 0, "{}", run.said());
        assert!(profile.metric("calls").is_some_and(|calls| calls.total() > 0));
        assert!(profile.metric("wait.time").is_some_and(|waited| waited.total() > 0));

        if jdk.feature >= 11 {
            let run = unknown("Hot", &["--alloc=1000"]).arguments(["100"]).run(jdk);
            assert!(run.status.success() && lines(&run) == 0, "{}", run.said());
            assert!(Shares::of(run.profile(), "alloc.bytes").thread("main") > 0, "{}", run.said());
            let run = unknown("Survives", &["--live=1009"]).arguments(["20"]).run(jdk);
            assert!(run.status.success() && lines(&run) == 0, "{}", run.said());
            assert!(Shares::of(run.profile(), "live.bytes").total("Survives", "keep") > 0, "{}", run.said());
        }

        let run = unknown("Burning", &["--root=Burning.threeParts"]).arguments(["100"]).run(jdk);
        assert_eq!((run.stdout.trim(), run.status.code()), ("burnt", Some(0)), "{}", run.said());
        let calls = Shares::of(run.profile(), "calls").thread("three parts");
        assert!(calls > 0, "{}", run.said());
        if jdk.feature >= 17 {
            let run = unknown("Burning", &["--calls"]).arguments(["300"]).run(jdk);
            assert_eq!((run.stdout.trim(), run.status.code()), ("burnt", Some(0)), "{}", run.said());
        }
        let run = unknown("Burning", &["--event=page-faults:1"]).arguments(["100"]).run(jdk);
        assert_eq!((run.stdout.trim(), run.status.code()), ("burnt", Some(0)), "{}", run.said());
        assert!(Shares::of(run.profile(), "event.page-faults").thread("main") > 0, "{}", run.said());

        // Every object and every lock: code that is inserted tells of them.
        let run = unknown("MakesAll", &["--alloc=all"]).arguments(["500"]).run(jdk);
        assert!(run.status.success() && lines(&run) == 0, "{}", run.said());
        let made = about(run.profile(), "alloc.count", "MakesAll$Plain [allocated]");
        assert_eq!(made, 2 * 500, "{}", run.said());
        let run = unknown("Acquires", &["--locks=all"]).arguments(["2", "100"]).run(jdk);
        assert!(run.status.success() && lines(&run) == 0, "{}", run.said());
        let acquired = about(run.profile(), "lock.entered", "Acquires$Monitor [lock]");
        assert_eq!(acquired, 2 * 2 * 100, "{}", run.said());
    });
}

/// What was measured of a class or a lock, which is the leaf of its contexts.
fn about(profile: &Profile, metric: &str, leaf: &str) -> u64 {
    let values = profile.metric(metric).unwrap_or_else(|| panic!("no {metric}")).values();
    let tree = profile.tree();
    let is_it = |node: &u32| {
        let method = tree.method(*node);
        method.is_some_and(|method| profile.method_name(method).starts_with(leaf))
    };
    (0..tree.len() as u32).filter(is_it).map(|node| values[node as usize]).sum()
}

/// Threads that were there before Quipu came answer which ones they are.
#[test]
fn a_running_vm_that_describes_nothing_is_measured() {
    let forget = format!("-agentpath:{}=forget=*", tools().oracle.display());
    on_every_jdk(|jdk| {
        let working = Working::start_with(jdk, &[&forget], "Working");
        let file = scratch("unknown").join("out.quipu");
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["attach", &working.id(), "--cpu", "1000", "-d", "1", "-o"]).arg(&file);
        let output = quipu.output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let profile = Profile::load(&file).expect("a profile");
        let cpu = Shares::of(&profile, "cpu");
        assert!(percent(cpu.total("Working", "main"), cpu.thread("main")) > 90.0, "{cpu:?}");
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["attach", &working.id(), "--exact", "-d", "1", "-o"]).arg(&file);
        let output = quipu.output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let profile = Profile::load(&file).expect("a profile");
        let counted = ThreadCounts::of(&profile, |_| true).method("Working", "work");
        assert!(counted.calls > 0 && counted.bytecodes > 0, "{counted:?}");
        finish(working);
    });
}
