//! What the collector decides is not the program's work.

use quipu_e2e::{Counts, Jdk, Program, ThreadCounts, differences, on_all_jdks, on_every_jdk};
use quipu_profile::Profile;

/// What the program itself does; starting the thread that collects is not part of it.
fn work(run: &quipu_e2e::Run) -> Profile {
    run.assert_whole().profile().select_threads(|profile, thread| profile.str(thread.name) == "main")
}

/// Each JDK has lists of its own of what is to be cleaned, so this is held against all of them.
#[test]
fn the_collector_does_not_change_what_is_counted() {
    on_all_jdks(|jdk| same_with_collections(jdk, "Collected"));
    on_every_jdk(|jdk| same_with_collections(jdk, "Cleaned"));
}

fn same_with_collections(jdk: &Jdk, main: &str) {
    let program = Program::new(main).quipu(["--deterministic"]);
    if !program.runs_on(jdk) {
        return;
    }
    let calm = work(&program.run(jdk));
    let busy = work(&program.clone().arguments(["collect"]).run(jdk));
    let below = |profile: &Profile| ThreadCounts::of(profile, |_| true).method(main, "work");
    assert_eq!(below(&calm).calls, 1);
    assert_ne!(below(&calm), Counts::default());
    let place = format!("{main}.work");
    let differing: Vec<String> =
        differences(&calm, &busy).into_iter().filter(|line| line.contains(&place)).collect();
    assert!(differing.is_empty(), "JDK {}:\n{}", jdk.feature, differing.join("\n"));
}
