//! Kinds that run together fill columns of one tree: whatever measured a context, it is one node.

use quipu_e2e::{Program, Run, percent};
use quipu_profile::{MethodFlags, NodeId, Profile};

/// Everything that may run together.
const TOGETHER: [&[&str]; 10] = [
    &["--exact", "--cpu=1000"],
    &["--exact", "--wall=500"],
    &["--bytecodes=5000", "--cpu=1000"],
    &["--bytecodes=5000", "--wall=500"],
    &["--cpu=1000", "--wall=500"],
    &["--exact", "--cpu=1000", "--wall=500"],
    &["--exact", "--alloc=16K", "--timeline"],
    &["--bytecodes=5000", "--alloc=16K"],
    &["--cpu=1000", "--alloc=16K", "--timeline"],
    &["--exact", "--wall=500", "--alloc=16K", "--locks=1ns"],
];

/// Whether there is any Java method in the context. There is none in what the launcher does before and after `main`.
fn is_java(profile: &Profile, node: NodeId) -> bool {
    profile
        .tree()
        .path(node)
        .into_iter()
        .filter_map(|node| profile.tree().method(node))
        .any(|method| !profile.method(method).flags.contains(MethodFlags::FOREIGN))
}

/// What a thread has of a metric in nodes that another metric tells of, and in all of Java.
fn shared(profile: &Profile, thread: &str, metric: &str, with: &str) -> (u64, u64) {
    let found = profile.threads().iter().find(|found| profile.str(found.name) == thread);
    let thread = found.unwrap_or_else(|| panic!("no thread {thread}"));
    let values = profile.metric(metric).unwrap_or_else(|| panic!("no metric {metric}")).values();
    let others = profile.metric(with).unwrap_or_else(|| panic!("no metric {with}")).values();
    let java = profile.tree().subtree(thread.root).filter(|&node| is_java(profile, node));
    java.fold((0, 0), |(both, all), node| {
        let value = values[node as usize];
        (if others[node as usize] > 0 { both + value } else { both }, all + value)
    })
}

/// No node has two children of the same method: sites were not asked for.
fn assert_one_node_for_one_context(run: &Run) {
    let profile = run.profile();
    let tree = profile.tree();
    for node in 0..tree.len() as NodeId {
        let mut methods: Vec<_> = tree.children(node).map(|child| tree.method(child)).collect();
        let children = methods.len();
        methods.sort_unstable();
        methods.dedup();
        assert_eq!(methods.len(), children, "below {:?}", tree.method(node).map(|m| profile.method_name(m)));
    }
    let mut names: Vec<_> = profile.threads().iter().map(|t| (profile.str(t.name), t.kind)).collect();
    let threads = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), threads, "two threads have one name: {names:?}");
}

#[test]
fn every_pair_of_kinds_makes_one_tree() {
    for kinds in TOGETHER {
        let program = Program::new("Collections").arguments(["4000"]).quipu_all(kinds);
        program.on_every_jdk(|run| {
            assert!(run.status.success(), "{}", run.said());
            assert_one_node_for_one_context(run);
            for kind in kinds {
                let name = kind.trim_start_matches("--").split('=').next().unwrap_or_default();
                let metric = match name {
                    "exact" => "calls",
                    "bytecodes" => "samples.bytecodes",
                    "alloc" => "alloc.bytes",
                    // It has one thread, which waits for nobody.
                    "locks" => continue,
                    "timeline" => {
                        assert!(!run.profile().events().is_empty(), "{kinds:?}: no events");
                        continue;
                    }
                    name => name,
                };
                let total = run.profile().metric(metric).map(|metric| metric.total());
                assert!(total.is_some_and(|total| total > 0), "{kinds:?}: {metric} {total:?}");
            }
        });
    }
}

#[test]
fn samples_are_in_nodes_that_have_calls() {
    for sampled in ["--cpu=1000", "--wall=1000"] {
        let metric = sampled.trim_start_matches("--").split('=').next().unwrap_or_default();
        let program = Program::new("Collections").arguments(["200000"]).quipu(["--exact", sampled]);
        program.on_every_jdk(|run| {
            let (counted, all) = shared(run.profile(), "main", metric, "calls");
            assert!(all > 200_000_000, "{all} ns of {metric}; {}", run.said());
            assert!(percent(counted, all) >= 99.0, "{} % of {metric}", percent(counted, all));
        });
    }
}

/// Counts of the program do not depend on whether somebody samples. (Some of the JDK's classes are used by the sampler
/// first, so that their initialisation is not in the program's counts.)
#[test]
fn counts_are_the_same_with_samples() {
    let counts = |run: &Run| {
        assert!(run.status.success(), "{}", run.said());
        let mut methods = run.thread("main").by_method();
        methods.retain(|name, _| name.starts_with("Collections"));
        assert!(!methods.is_empty(), "{}", run.said());
        methods
    };
    let program = Program::new("Collections").arguments(["2000"]).quipu(["--deterministic", "--exact"]);
    quipu_e2e::on_every_jdk(|jdk| {
        let alone = program.run(jdk);
        let sampled = program.clone().quipu(["--cpu", "1000"]).run(jdk);
        assert_eq!(counts(&alone), counts(&sampled));
    });
}
