//! A VM that does not describe all of its structures.

use quipu_e2e::{Program, Shares, percent, tools};

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
