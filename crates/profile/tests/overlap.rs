//! Overlap and diff on profiles small enough for pencil and paper.

use quipu_profile::{
    Aligned, Builder, By, Change, Matching, MethodSpec, MetricSpec, Names, On, Profile, ThreadSpec, Unit,
    diff, expected_overlap, overlap, overlap_of, overlap_percent,
};

/// Paths with their bytecodes: `"A.main/B.f"`, methods as `class.name`, an optional `@site` after each.
fn profile(paths: &[(&str, u64)]) -> Profile {
    with_metric(paths, MetricSpec::bytecodes())
}

fn with_metric(paths: &[(&str, u64)], metric: MetricSpec) -> Profile {
    let mut b = Builder::new();
    let metric = b.metric(metric);
    let thread = b.thread(ThreadSpec { name: "main", ..Default::default() });
    for (path, value) in paths {
        let mut node = b.root(thread);
        for frame in path.split('/') {
            let (frame, site) = frame.split_once('@').unwrap_or((frame, "-1"));
            let (class, name) = frame.rsplit_once('.').unwrap();
            let method = b.method(MethodSpec { class, name, ..Default::default() });
            node = b.child(node, method, site.parse().unwrap());
        }
        b.add(node, metric, *value);
    }
    b.finish()
}

#[test]
fn by_hand() {
    // Contexts: main 20/10 %, f 50/10 %, g 30/80 %: min 10 + 10 + 30 = 50.
    let a = profile(&[("A.main", 20), ("A.main/A.f", 50), ("A.main/B.g", 30)]);
    let b = profile(&[("A.main", 10), ("A.main/A.f", 10), ("A.main/B.g", 80)]);
    let of = |on| overlap(&a, &b, "bytecodes", on, Matching::default()).unwrap();
    assert_eq!(of(On::Context), 50.0);
    assert_eq!(of(On::Method), 50.0);
    // Classes: A 70/20, B 30/80: 20 + 30.
    assert_eq!(of(On::Class), 50.0);
    // Edges leave the outermost method out: f 62.5/11.11…, g 37.5/88.88…: 11.11… + 37.5.
    assert!((of(On::Edge) - (100.0 / 9.0 + 37.5)).abs() < 1e-12);
}

#[test]
fn the_same_methods_in_other_contexts() {
    // f is called by g in one and by h in the other: methods agree, contexts and edges do not.
    let a = profile(&[("A.g/A.f", 60), ("A.h", 40)]);
    let b = profile(&[("A.g", 0), ("A.h/A.f", 60), ("A.h", 40)]);
    let of = |on| overlap(&a, &b, "bytecodes", on, Matching::default()).unwrap();
    assert_eq!((of(On::Method), of(On::Class)), (100.0, 100.0));
    assert_eq!((of(On::Context), of(On::Edge)), (40.0, 0.0));
}

#[test]
fn call_sites_count_when_both_sides_know_them() {
    let a = profile(&[("A.m/A.f@1", 50), ("A.m/A.f@9", 50)]);
    let b = profile(&[("A.m/A.f@1", 100)]);
    let unknown = profile(&[("A.m/A.f", 100)]);
    let of = |x: &Profile, y: &Profile, on| overlap(x, y, "bytecodes", on, Matching::default()).unwrap();
    assert_eq!((of(&a, &b, On::Edge), of(&a, &b, On::Context)), (50.0, 50.0));
    assert_eq!((of(&a, &unknown, On::Edge), of(&a, &unknown, On::Context)), (100.0, 100.0));
}

#[test]
fn scale_does_not_matter_and_extremes_are_safe() {
    assert_eq!(overlap_percent(&[1, 2, 3], &[10, 20, 30]), 100.0);
    assert_eq!(overlap_percent(&[1, 0], &[0, 1]), 0.0);
    assert_eq!(overlap_percent(&[], &[]), 100.0);
    assert_eq!(overlap_percent(&[0], &[5]), 0.0);
    assert_eq!(overlap_percent(&[u64::MAX, u64::MAX], &[u64::MAX, u64::MAX]), 100.0);
    assert_eq!(overlap_percent(&[u64::MAX, 0], &[u64::MAX / 2, u64::MAX / 2]), 50.0);
    let barely = overlap_percent(&[u64::MAX - 1, 1], &[u64::MAX, 0]);
    assert!(barely <= 100.0);
}

#[test]
fn generated_classes_are_matched_by_origin() {
    let a = profile_of_lambda("A$$Lambda$14/0x00007f0100", "lambda$main$0");
    let b = profile_of_lambda("A$$Lambda/0x00007fffee", "lambda$main$3");
    let of = |names| overlap(&a, &b, "bytecodes", On::Context, Matching { names, threads: false }).unwrap();
    assert_eq!((of(Names::ByOrigin), of(Names::Exact)), (100.0, 0.0));
    let changes = diff(&a, &b, "bytecodes", By::Method, Matching::default()).unwrap();
    assert!(changes.is_same());
}

fn profile_of_lambda(class: &str, body: &str) -> Profile {
    let mut b = Builder::new();
    let metric = b.metric(MetricSpec::bytecodes());
    let thread = b.thread(ThreadSpec::default());
    let run = b.method(MethodSpec { class, name: "run", descriptor: "()V", ..Default::default() });
    let lambda = b.method(MethodSpec { class: "A", name: body, descriptor: "()V", ..Default::default() });
    let node = b.push(b.root(thread), run, -1);
    b.add(node, metric, 4);
    let node = b.push(node, lambda, -1);
    b.add(node, metric, 6);
    b.finish()
}

#[test]
fn a_diff_says_what_became_of_each_method() {
    let a = profile(&[
        ("A.main", 10),
        ("A.main/A.f", 50),
        ("A.main/A.g", 30),
        ("A.main/A.old", 5),
        ("A.main/A.x/A.moved", 7),
        ("A.main/A.y", 1),
    ]);
    let b = profile(&[
        ("A.main", 10),
        ("A.main/A.f", 90),
        ("A.main/A.g", 10),
        ("A.main/A.new", 6),
        ("A.main/A.y/A.moved", 7),
        ("A.main/A.y", 1),
        ("A.main/A.x", 0),
    ]);
    let d = diff(&a, &b, "bytecodes", By::Method, Matching::default()).unwrap();
    let found: Vec<(&str, Change, [u64; 2])> =
        d.rows.iter().map(|row| (d.names[row.key as usize].as_str(), row.change, row.own)).collect();
    assert_eq!(
        found,
        [
            ("A.f", Change::Heavier, [50, 90]),
            ("A.g", Change::Lighter, [30, 10]),
            ("A.new", Change::Appeared, [0, 6]),
            ("A.old", Change::Vanished, [5, 0]),
            ("A.main", Change::Same, [10, 10]),
            ("A.moved", Change::Moved, [7, 7]),
            ("A.x", Change::Vanished, [0, 0]),
            ("A.y", Change::Same, [1, 1]),
        ]
    );
    let both = &d.aligned.both;
    let moved: Vec<_> = d
        .moved
        .iter()
        .map(|m| (both.method_name(m.method), both.method_name(m.from), both.method_name(m.to), m.weight))
        .collect();
    assert_eq!(moved, [("A.moved".into(), "A.x".into(), "A.y".into(), 7)]);
    assert_eq!(d.sums, [103, 124]);
    // A subtree that is new is one row.
    let tops: Vec<String> =
        d.contexts().iter().map(|row| both.method_name(both.tree().method(row.node).unwrap())).collect();
    assert_eq!(tops, ["A.f", "A.g", "A.x", "A.moved", "A.new", "A.old"]);
}

#[test]
fn chance_is_not_a_change() {
    let cpu = || MetricSpec::sampled("cpu", Unit::Count, 1);
    let a = with_metric(&[("A.f", 100), ("A.g", 100)], cpu());
    let b = with_metric(&[("A.f", 120), ("A.g", 200)], cpu());
    let d = diff(&a, &b, "cpu", By::Method, Matching::default()).unwrap();
    let changes: Vec<_> = d.rows.iter().map(|row| (d.names[row.key as usize].as_str(), row.change)).collect();
    assert_eq!(changes, [("A.g", Change::Heavier), ("A.f", Change::Same)]);
}

#[test]
fn what_cannot_be_compared_says_so() {
    let a = profile(&[("A.f", 1)]);
    let b = with_metric(&[("A.f", 1)], MetricSpec::calls());
    let error = overlap(&a, &b, "bytecodes", On::Method, Matching::default()).unwrap_err();
    assert_eq!(error.to_string(), "the second profile has no metric bytecodes; both have: ");
    let sampled = with_metric(&[("A.f", 1)], MetricSpec::sampled("bytecodes", Unit::Bytecodes, 1000));
    let error = Profile::merge(&[&a, &sampled]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the profiles cannot be merged: bytecodes is exact bytecodes (sum) in one and sampled bytecodes (sum) in another"
    );
}

/// A program of 200 methods, some hot, most not, and `samples` drawn from it.
fn drawn(samples: u64, seed: u64) -> Profile {
    let weights: Vec<u64> = (1..=200).map(|rank| 1_000_000 / (rank * rank)).collect();
    let all: u64 = weights.iter().sum();
    let mut counts = vec![0; weights.len()];
    let mut random = seed;
    for _ in 0..samples {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut at = (random >> 33) % all;
        let hit = weights.iter().position(|&weight| {
            let found = at < weight;
            at = at.wrapping_sub(if found { 0 } else { weight });
            found
        });
        counts[hit.unwrap()] += 10;
    }
    let names: Vec<String> = (0..weights.len()).map(|at| format!("A.m{at}")).collect();
    let paths: Vec<(&str, u64)> = names.iter().map(String::as_str).zip(counts).collect();
    with_metric(&paths, MetricSpec::sampled("time", Unit::Nanoseconds, 10))
}

#[test]
fn the_overlap_that_chance_leaves() {
    for samples in [100, 1000, 10_000] {
        let (mut real, mut expected) = (0.0, 0.0);
        for seed in 0..50 {
            let (a, b) = (drawn(samples, 2 * seed + 1), drawn(samples, 1_000_000 + seed));
            let aligned = Aligned::new(&a, &b, "time", Matching::default()).unwrap();
            real += overlap_of(&aligned, On::Method) / 50.0;
            expected += expected_overlap(&aligned, On::Method).unwrap() / 50.0;
        }
        // Methods that no sample fell on cannot be reckoned with, so the estimate is a little too high.
        assert!((real - expected).abs() < 3.0, "{samples} samples: {real} is, {expected} was expected");
    }
    let exact = profile(&[("A.main", 20), ("A.main/A.f", 50)]);
    let aligned = Aligned::new(&exact, &exact, "bytecodes", Matching::default()).unwrap();
    assert_eq!(expected_overlap(&aligned, On::Method), None);
}
