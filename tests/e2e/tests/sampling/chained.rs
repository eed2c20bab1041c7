//! Contexts of events that are chained and not walked, against those that are walked for the same samples.

use std::collections::HashMap;

use quipu_e2e::{Program, Run, percent};
use quipu_profile::{MethodFlags, NodeId, Profile};

const WALKED: &str = "event.cpu-clock";
const CHAINED: &str = "event.cpu-clock.chained";

fn branches(tree: &str, context: &'static str) -> Program {
    let program = Program::new("Branches").arguments([tree, "1500"]);
    program.quipu(["--event=cpu-clock:250k", "--context", context])
}

fn done(run: &Run) -> &Profile {
    assert!(run.status.success() && run.stdout.trim() == "done", "{}", run.said());
    run.profile()
}

/// The Java methods of a context, the youngest first.
fn methods(profile: &Profile, node: NodeId) -> Vec<String> {
    let tree = profile.tree();
    let nodes = std::iter::successors(Some(node), |&node| tree.parent(node));
    let of_java = |&method: &u32| !profile.method(method).flags.contains(MethodFlags::FOREIGN);
    let methods = nodes.filter_map(|node| tree.method(node)).filter(of_java);
    methods.map(|method| profile.method_name(method)).collect()
}

/// Pairs of contexts of the same samples of the thread "main", chained and walked.
fn pairs(profile: &Profile) -> Vec<(Vec<String>, Vec<String>)> {
    let [walked, chained] = [WALKED, CHAINED].map(|metric| profile.metric_id(metric).expect("measured"));
    let of_main = |thread: u32| profile.str(profile.threads()[thread as usize].name) == "main";
    let samples = || profile.samples().iter().filter(|sample| of_main(sample.thread));
    let by_time: HashMap<u64, NodeId> =
        samples().filter(|sample| sample.metric == walked).map(|sample| (sample.time, sample.node)).collect();
    let chained = samples().filter(|sample| sample.metric == chained);
    chained.map(|sample| (methods(profile, sample.node), methods(profile, by_time[&sample.time]))).collect()
}

/// What is said of so many callers of samples: `97.5` of `… for three in 97.5 % of …`.
fn said(profile: &Profile, key: &str, before: &str) -> f64 {
    let (_, text) = profile.run.extra.iter().find(|(found, _)| found == key).expect(key);
    let rest = text.split_once(before).expect(text).1;
    rest.split_once(" %").and_then(|(number, _)| number.parse().ok()).expect(text)
}

#[test]
fn contexts_of_a_simple_tree_are_found_without_walking() {
    branches("simple", "both").on_every_jdk(|run| {
        let profile = done(run);
        let pairs = pairs(profile);
        assert!(pairs.len() > 500, "{} samples: {}", pairs.len(), run.said());
        let right = pairs.iter().filter(|(chained, walked)| chained == walked).count() as u64;
        let share = percent(right, pairs.len() as u64);
        let wrong = pairs.iter().find(|(chained, walked)| chained != walked);
        assert!(share >= 95.0, "{share} %, such as {wrong:?}: {}", run.said());
        // What is said of it is so; the few that were walked for chaining, too, are not in what is said.
        let told = said(profile, "chained and walked", "to the end in ");
        assert!((told - share).abs() < 3.0, "{told} is {share}");
        assert!(said(profile, "chained callers", "for three in ") >= 90.0, "{}", run.said());
        assert!(run.said().contains("chained and walked: the same for one level in "), "{}", run.said());
    });
}

/// Two methods with frames of one size: that there is no telling is told, and how often it goes wrong.
#[test]
fn contexts_that_depth_does_not_tell_apart_are_said_to_be_ambiguous() {
    branches("ambiguous", "both").jvm(["-Xint"]).on_every_jdk(|run| {
        let profile = done(run);
        let pairs = pairs(profile);
        let spinning: Vec<_> = pairs
            .iter()
            .filter(|(_, walked)| walked.first().is_some_and(|it| it == "Branches.spin"))
            .collect();
        assert!(spinning.len() > 500, "{} samples: {}", spinning.len(), run.said());
        // spin, leaf, shared and outer are in the sample.
        assert!(spinning.iter().all(|(chained, walked)| chained[..4] == walked[..4]));
        let three = said(profile, "chained callers", "for three in ");
        let all = said(profile, "chained callers", "to the end in ");
        assert!(three >= 95.0 && all <= 20.0, "{three} and {all}: {}", run.said());
        let right = pairs.iter().filter(|(chained, walked)| chained == walked).count() as u64;
        let (told, share) =
            (said(profile, "chained and walked", "to the end in "), percent(right, pairs.len() as u64));
        assert!((told - share).abs() < 3.0, "{told} is {share}");
        // Each of the two has about the share that it should have.
        let is_left = |chained: &[String]| chained.get(4).is_some_and(|caller| caller == "Branches.left");
        let by_left = spinning.iter().filter(|(chained, _)| is_left(chained)).count() as u64;
        let share = percent(by_left, spinning.len() as u64);
        assert!((20.0..80.0).contains(&share), "{share} %");
    });
}

/// Chained alone: the tree is there, and no more than the one metric.
#[test]
fn what_is_chained_has_the_tree() {
    branches("simple", "chain").on_every_jdk(|run| {
        let profile = done(run);
        assert!(profile.metric(CHAINED).is_none());
        let metric = profile.metric_id(WALKED).expect("measured");
        let of_spin = |node: NodeId| {
            let methods = methods(profile, node);
            methods.first().is_some_and(|method| method == "Branches.spin").then_some(methods)
        };
        let samples = profile.samples().iter().filter(|sample| sample.metric == metric);
        let spinning: Vec<Vec<String>> = samples.filter_map(|sample| of_spin(sample.node)).collect();
        for (caller, least) in [("Branches.left", 20), ("Branches.wide", 20), ("Branches.main", 95)] {
            let below =
                spinning.iter().filter(|methods| methods.iter().any(|method| method == caller)).count();
            let share = percent(below as u64, spinning.len() as u64);
            assert!(share >= f64::from(least), "{caller} {share} %: {}", run.said());
        }
    });
}

#[test]
fn without_contexts_there_is_the_youngest_frame() {
    branches("simple", "none").on_every_jdk(|run| {
        let profile = done(run);
        let metric = profile.metric_id(WALKED).expect("measured");
        let samples = profile.samples().iter().filter(|sample| sample.metric == metric);
        let depths: Vec<usize> = samples.map(|sample| methods(profile, sample.node).len()).collect();
        assert!(depths.len() > 500 && depths.iter().all(|&depth| depth <= 1), "{}", run.said());
        assert!(depths.contains(&1), "{}", run.said());
    });
}

/// A virtual thread's frames do not stay where they are: its stacks are walked.
#[test]
fn virtual_threads_are_walked() {
    const EACH: u64 = 500;
    let program = Program::new("Faults").arguments(["8", &EACH.to_string()]).since(21);
    program.quipu(["--event=page-faults", "--context=chain", "--merge-threads=never"]).on_every_jdk(|run| {
        assert!(run.status.success(), "{}", run.said());
        let faults = quipu_e2e::Shares::of(run.profile(), "event.page-faults");
        for i in 0..8 {
            let found = faults.thread(&format!("writer-{i}"));
            assert!(
                (EACH - EACH / 50..=EACH + EACH / 5).contains(&found),
                "writer-{i}: {found}; {}",
                run.said()
            );
        }
    });
}
