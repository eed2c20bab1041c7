//! CPU time goes to those who use it.

use quipu_e2e::{Program, Run, Shares, percent};

/// Stacks that could not be walked are few, and nothing else is missing.
pub fn assert_nearly_whole(run: &Run) {
    assert!(run.status.success(), "{}", run.said());
    let profile = run.profile();
    let walks = profile.run.extra.iter().find(|(key, _)| key == "stack walks").expect("a count of walks");
    let walks: u64 = walks.1.parse().expect("a number");
    let (failed, missing): (Vec<_>, Vec<_>) =
        profile.meta.lost.iter().partition(|(cause, _)| cause.starts_with("walks."));
    assert!(missing.is_empty(), "lost {missing:?}; {}", run.said());
    let failures: u64 = failed.iter().map(|(_, n)| **n).sum();
    // One in two hundred; of less than a thousand walks, five.
    assert!(failures <= (walks / 200).max(5), "{failed:?} of {walks}");
    let walker = profile.run.extra.iter().find(|(key, _)| key == "walker").expect("who walked");
    assert_eq!(walker.1, "Quipu's own");
}

#[test]
fn two_threads_that_use_three_to_one_have_three_to_one() {
    let program = Program::new("Burning").arguments(["400"]);
    program.quipu(["--cpu", "1000", "--merge-threads", "never"]).on_every_jdk(|run| {
        assert_nearly_whole(run);
        assert_eq!(run.stdout.trim(), "burnt");
        let cpu = Shares::of(run.profile(), "cpu");
        let (three, one) = (cpu.thread("three parts"), cpu.thread("one part"));
        let share = percent(three, three + one);
        assert!((share - 75.0).abs() <= 3.0, "{share} %");
        // All of it is charged: 1,600 ms were used.
        let used = (three + one) as f64 / 1e6;
        assert!((used - 1600.0).abs() <= 80.0, "{used} ms");
        // Once they wait, those who wait use next to none: what takes a fiftieth of a period is sampled once in fifty times.
        let last = run.profile().samples().last().expect("samples").time;
        let later = run.profile().select_time(last / 2..last + 1);
        let later = Shares::of(&later, "cpu");
        let waiting: u64 = (0..10).map(|i| later.thread(&format!("waiting {i}"))).sum();
        assert!(percent(waiting, three + one) < 0.5, "{waiting} ns");
        // With the kernel's functions below it: on a busy machine it is often interrupted.
        let spins = percent(cpu.total("Burning", "spin"), three + one);
        assert!(spins > 90.0, "{spins} %");
        assert!(cpu.total("Burning", "threeParts") > cpu.total("Burning", "onePart"));
    });
}

#[test]
fn threads_that_live_for_less_than_a_period_are_charged_what_they_use() {
    // 2 ms each; a period has 10.
    Program::new("ShortLived").arguments(["1000", "2000"]).quipu(["--cpu", "100"]).on_every_jdk(|run| {
        assert!(run.status.success(), "{}", run.said());
        let used: u64 = run.stdout.trim().parse().expect("nanoseconds");
        let charged = Shares::of(run.profile(), "cpu").total("ShortLived", "burn");
        // One of five is sampled: some 200 samples, of which the standard deviation is 13.
        let ratio = charged as f64 / used as f64;
        assert!((ratio - 1.0).abs() <= 0.3, "{charged} of {used} ns");
    });
}

#[test]
fn nothing_is_instrumented_for_it() {
    Program::new("Burning").arguments(["50"]).quipu(["--cpu"]).on_every_jdk(|run| {
        let profile = run.profile();
        assert!(profile.metric("calls").is_none() && profile.metric("bytecodes").is_none());
        let cost = profile.run.cost.join("\n");
        assert!(!cost.contains("rewrote"), "{cost}");
    });
}

#[test]
fn samples_have_times_and_a_profile_can_be_cut_by_them() {
    Program::new("Burning").arguments(["300"]).quipu(["--cpu", "1000"]).on_every_jdk(|run| {
        let profile = run.profile();
        let all = profile.metric("cpu").expect("cpu").total();
        let last = profile.samples().last().expect("samples").time;
        let middle = last / 2;
        let halves = [profile.select_time(0..middle), profile.select_time(middle..last + 1)];
        let sums = halves.map(|half| half.metric("cpu").map_or(0, |metric| metric.total()));
        assert_eq!(sums[0] + sums[1], all);
        assert!(sums.iter().all(|&sum| percent(sum, all) > 10.0), "{sums:?}");
    });
}

#[test]
fn what_is_between_calls_is_not_charged_to_calls() {
    Program::new("Biased").arguments(["2000"]).quipu(["--cpu", "1000"]).on_every_jdk(|run| {
        assert_nearly_whole(run);
        let truth: Vec<u64> =
            run.stdout.split_whitespace().map(|word| word.parse().expect("nanoseconds")).collect();
        let [figure1, counted, after] = truth[..] else { panic!("{}", run.said()) };
        let cpu = Shares::of(run.profile(), "cpu");
        let found = ["figure1", "counted", "afterCounted"].map(|method| cpu.total("Biased", method));
        let (all, sum) = (figure1 + counted + after, found.iter().sum());
        for (truth, found) in [figure1, counted, after].into_iter().zip(found) {
            let (truth, found) = (percent(truth, all), percent(found, sum));
            assert!((truth - found).abs() <= 3.0, "{found} % instead of {truth} %; {}", run.said());
        }
        // Arnold and Grove's Fig. 1: both calls do the same, and most is done outside of them.
        let calls = ["call1", "call2"].map(|method| percent(cpu.total("Biased", method), found[0]));
        assert!((calls[0] - calls[1]).abs() <= 6.0 && calls[0] + calls[1] < 40.0, "{calls:?}");
    });
}
