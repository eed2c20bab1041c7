//! A VM that does not describe all of its structures, or none: as a newer one may be that nobody knows yet.

use quipu_e2e::{Program, Shares, on_all_jdks, percent, tools};

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
        assert!(percent(cpu.own("Burning", "spin"), three + one) > 90.0);
        assert!(cpu.total("Burning", "threeParts") > cpu.total("Burning", "onePart"));
        assert!(profile.metric("cpu.c2").is_none());
    });
}

/// What needs nothing of the VM's inside works; what does says so, once, and the program runs as if nobody had asked.
#[test]
fn a_vm_that_describes_nothing_is_counted_and_says_what_is_not_there() {
    let forget = format!("-agentpath:{}=forget=*", tools().oracle.display());
    let unknown = |main: &str| Program::new(main).jvm([&*forget]);
    on_all_jdks(|jdk| {
        let run = unknown("Foo").run(jdk);
        assert_eq!(run.assert_whole().thread("main").method("Foo", "sum").bytecodes, 10_007);
        let run = unknown("LongLoop").arguments(["20", "100000"]).quipu(["--bytecodes", "1000"]).run(jdk);
        assert!(run.assert_whole().thread("main").samples_of("LongLoop", "loop") > 20_000);
        let run = unknown("Burning").arguments(["50"]).quipu(["--cpu"]).run(jdk);
        assert_eq!(run.stdout.trim(), "burnt", "{}", run.said());
        let said = run.stderr.matches("this JVM does not tell how its stacks are walked").count();
        assert!(run.status.code() == Some(3) && (1..=2).contains(&said), "{}", run.said());
    });
}
