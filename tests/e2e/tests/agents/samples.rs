//! Agents that are shown samples.

use std::collections::BTreeMap;
use std::path::Path;

use quipu_e2e::{Jdk, Program, Run, ThreadCounts, on_every_jdk, scratch};

use crate::jars::under;

fn busy() -> Program {
    Program::new("ManyThreads").arguments(["8", "40", "20000"])
}

/// What `CollapsedStacks` wrote.
fn written(file: &Path, run: &Run) -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{e}; {}", run.said()));
    text.lines()
        .map(|line| {
            let (stack, samples) = line.rsplit_once(' ').expect("a stack and a number");
            (stack.to_owned(), samples.parse().expect("a number"))
        })
        .collect()
}

/// The samples of a thread's profile, by stack.
fn taken(thread: &ThreadCounts<'_>) -> BTreeMap<String, u64> {
    let mut taken = BTreeMap::new();
    for node in thread.nodes().filter(|&node| thread.samples(node) > 0) {
        *taken.entry(thread.path_of(node).join(";")).or_insert(0) += thread.samples(node);
    }
    taken
}

/// Runs a program under the example; returns the samples of threads of this name that are in the profile, after seeing
/// that the example was shown exactly those, whatever `-Dstacks.bytecodes` says of `--bytecodes`.
fn assert_shown(program: Program, granularity: u64, threads: &str, jdk: &Jdk) -> BTreeMap<String, u64> {
    let file = scratch("stacks").join("stacks.txt");
    let out = format!("-Dstacks.out={}", file.display());
    let every = format!("-Dstacks.bytecodes={granularity}");
    let program = program.jvm([&out, &every]).quipu(["--bytecodes", "123456789"]);
    let run = under("quipu.examples.CollapsedStacks", program, jdk);
    let shown = written(&file, run.assert_whole());
    let by_these = taken(&run.thread(threads));
    // What others do, it is not shown from when it has written its file.
    let by_all = taken(&ThreadCounts::of(run.profile(), |_| true));
    assert!(by_these.values().sum::<u64>() > 1_000, "{} stacks", by_these.len());
    for (stack, samples) in &by_these {
        let shown = shown.get(stack).unwrap_or(&0);
        assert!((samples..=&by_all[stack]).contains(&shown), "{stack}: {shown} shown, {samples} taken");
    }
    assert!(shown.keys().all(|stack| by_all.contains_key(stack)), "more was shown than taken");
    by_these
}

#[test]
fn the_agent_is_shown_every_sample_that_is_in_the_profile() {
    on_every_jdk(|jdk| {
        assert_shown(busy(), 500, "worker-#", jdk);
    });
}

/// No agent is called in `Thread.exit`, and after it no other sample is taken.
#[test]
fn samples_are_shown_that_wait_when_a_thread_ends() {
    on_every_jdk(|jdk| {
        let program = Program::new("PlatformThreads").arguments(["800", "4"]);
        let taken = assert_shown(program, 40, "short-#", jdk);
        let at_the_end = taken.iter().filter(|(stack, _)| stack.contains("Thread.exit"));
        assert!(at_the_end.map(|(_, samples)| samples).sum::<u64>() > 20, "{taken:?}");
    });
}

/// About as many bytecodes as it asks for: half as many samples for twice the granularity.
#[test]
fn the_agent_chooses_the_granularity() {
    on_every_jdk(|jdk| {
        let samples = |granularity: u64| {
            let file = scratch("stacks").join("stacks.txt");
            let out = format!("-Dstacks.out={}", file.display());
            let every = format!("-Dstacks.bytecodes={granularity}");
            let program = Program::new("ManyThreads").arguments(["2", "40", "400000"]);
            let program = program.jvm([&out, &every]).quipu(["--bytecodes", "--jitter", "0"]);
            let run = under("quipu.examples.CollapsedStacks", program, jdk);
            written(&file, run.assert_whole())
                .iter()
                .filter(|(stack, _)| stack.ends_with("ManyThreads.work"))
                .map(|(_, samples)| samples)
                .sum::<u64>()
        };
        let (often, seldom) = (samples(300), samples(3_000));
        assert!((9.5..10.5).contains(&(often as f64 / seldom as f64)), "{often} and {seldom} samples");
    });
}

/// Also those that go on with the stack of one that has ended.
#[test]
fn every_thread_is_registered_before_its_first_sample() {
    on_every_jdk(|jdk| {
        let program =
            Program::new("PlatformThreads").arguments(["300", "4"]).quipu(["--bytecodes", "--jitter", "0"]);
        let run = under("RegisteredFirst", program, jdk);
        assert!(
            run.assert_whole().stderr.contains("short threads: 300 registered, 0 sampled before\n"),
            "{}",
            run.said()
        );
    });
}

#[test]
fn an_agent_that_fails_on_a_sample_is_switched_off_and_sampling_goes_on() {
    on_every_jdk(|jdk| {
        let run = under("ThrowingOnSamples", busy().quipu(["--bytecodes", "1000", "--jitter", "0"]), jdk);
        assert_eq!(
            run.assert_whole().stderr.matches("failed and is switched off").count(),
            1,
            "{}",
            run.said()
        );
        assert!(
            run.stderr.contains("at ThrowingOnSamples.processSample(ThrowingOnSamples.java:"),
            "{}",
            run.said()
        );
        assert!(run.thread("worker-#").samples_of("ManyThreads", "work") > 400);
    });
}

#[test]
fn an_agent_of_the_other_kind_is_refused_with_the_reason() {
    on_every_jdk(|jdk| {
        let run = under("quipu.examples.CollapsedStacks", Program::new("Foo"), jdk);
        // The program runs as it would without; that the agent is missing shows in the status.
        assert_eq!((run.stdout.trim(), run.status.code()), ("1002000", Some(3)), "{}", run.said());
        assert!(
            run.stderr.contains("does not implement quipu.ExactProfiler: give it samples with --bytecodes"),
            "{}",
            run.said()
        );
        let run = under("quipu.examples.TopMethods", Program::new("Foo").quipu(["--bytecodes"]), jdk);
        assert_eq!((run.stdout.trim(), run.status.code()), ("1002000", Some(3)), "{}", run.said());
        assert!(run.stderr.contains("does not implement quipu.SamplingProfiler"), "{}", run.said());
    });
}
