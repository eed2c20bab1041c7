//! Sampled allocation against programs that make known numbers of objects.

use quipu_e2e::{Program, Run};
use quipu_profile::{Profile, standard_error};

/// What there is of each thread in a round: class, place, objects and bytes. Headers have 12 bytes, those of arrays 16. Large
/// ones are made by a thread of their own: after one, HotSpot takes the next sample of the thread too early (JDK 17).
const MADE: [(&str, &str, f64, u64); 4] = [
    ("Makes$Small", "small", 2.0, 32),
    ("Makes$Other", "other", 1.0, 16),
    ("int[]", "array", 1.0, 416),
    ("byte[]", "large", 1.0 / 1000.0, (1 << 20) + 16),
];

/// The values of a metric in leaves of a class below a method of the program.
fn made(profile: &Profile, metric: &str, class: &str, place: &str) -> u64 {
    let values = profile.metric(metric).unwrap_or_else(|| panic!("no {metric}")).values();
    let tree = profile.tree();
    let name = |node| tree.method(node).map(|method| profile.method_name(method));
    let is_of = |&node: &u32| {
        let parent = tree.parents()[node as usize];
        name(node).as_deref() == Some(&format!("{class} [allocated]"))
            && name(parent).as_deref() == Some(&format!("Makes.{place}"))
    };
    let nodes = (1..tree.len() as u32).filter(|&node| tree.method(node).is_some());
    nodes.filter(is_of).map(|node| values[node as usize]).sum()
}

/// `besides`: how far off sums may be for another reason than chance, as a share.
fn assert_made(run: &Run, threads: u64, rounds: u64, besides: f64) {
    assert!(run.status.success(), "{}", run.said());
    let profile = run.profile();
    assert!(profile.meta.lost.is_empty(), "lost {:?}", profile.meta.lost);
    let mut far = Vec::new();
    for (class, place, per_round, size) in MADE {
        let objects = (threads * rounds) as f64 * per_round;
        for (metric, truth) in [("alloc.count", objects), ("alloc.bytes", objects * size as f64)] {
            let found = made(profile, metric, class, place) as f64;
            // A sample of a small object stands for many: the error is that of the number of samples.
            let bytes = profile.metric("alloc.bytes").expect("alloc.bytes").spec();
            let expected = objects * size as f64;
            let relative = standard_error(bytes, expected as u64).expect("sampled") / expected;
            let off = ((found - truth).abs() - besides * truth).max(0.0);
            let errors = off / (relative * truth + 1.0);
            let what = format!(
                "{class} in {place}: {metric} {found}, and there were {truth} +- {:.1} %",
                100.0 * relative
            );
            // Beyond three standard errors is one of 370, by chance; beyond five none of a million.
            assert!(errors <= 5.0, "{what}");
            if errors > 3.0 && metric == "alloc.bytes" {
                far.push(what);
            }
        }
    }
    assert!(far.len() <= 1, "{far:?}");
}

/// Compressed references whatever the heap, so that sizes are known.
fn makes(threads: u64, rounds: u64) -> Program {
    let arguments = [threads.to_string(), rounds.to_string()];
    Program::new("Makes").arguments(arguments).jvm(["-Xmx512m", "-XX:+UseParallelGC"])
}

#[test]
fn sums_are_those_of_all_objects() {
    makes(4, 100_000).quipu(["--alloc", "10007"]).on_every_jdk(|run| assert_made(run, 4, 100_000, 0.0));
}

/// Each thread's random distances begin with its address in HotSpot, and these are alike: samples of many threads that do the
/// same are not independent, and sums are further off than their number explains.
#[test]
fn hundreds_of_threads_are_sampled_alike() {
    makes(300, 2_000).quipu(["--alloc", "10007"]).on_every_jdk(|run| {
        assert_made(run, 300, 2_000, 0.1);
        let names = run.profile().threads().iter().map(|thread| run.profile().str(thread.name));
        assert!(names.into_iter().any(|name| name == "maker-#"), "{}", run.said());
    });
}

#[test]
fn objects_are_in_nodes_that_have_calls() {
    makes(2, 20_000).quipu(["--exact", "--alloc", "4999"]).on_every_jdk(|run| {
        assert_made(run, 2, 20_000, 0.0);
        let profile = run.profile();
        let (calls, tree) = (profile.metric("calls").expect("calls").values(), profile.tree());
        let bytes = profile.metric("alloc.bytes").expect("alloc.bytes").values();
        let of_work = |&node: &u32| tree.method(node).is_some_and(|m| profile.method_name(m) == "Makes.work");
        let works: Vec<u32> = (0..tree.len() as u32).filter(of_work).collect();
        assert_eq!(works.len(), 1, "one context, whatever measured it");
        let below = tree.subtree(works[0]).filter(|&node| bytes[node as usize] > 0);
        for leaf in below {
            let parent = tree.parents()[leaf as usize];
            assert!(calls[parent as usize] > 0, "{:?}", tree.method(parent).map(|m| profile.method_name(m)));
        }
    });
}
