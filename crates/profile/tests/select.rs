//! Parts of a profile: by time, label and thread name.

mod common;

use common::Stack;
use quipu_profile::{
    Builder, Event, MethodSpec, MetricSpec, NO_BCI, NO_NODE, NO_THREAD, Profile, Sample, ThreadSpec,
    UNKNOWN_SITE, Unit, thread_pattern,
};

/// Two workers, one labelled; a sample each millisecond, alternating between `f` and `g`.
fn sampled() -> Profile {
    let mut b = Builder::new();
    let cpu = b.metric(MetricSpec::sampled("samples.cpu", Unit::Nanoseconds, 10));
    let methods = ["f", "g"]
        .map(|name| b.method(MethodSpec { class: "app.A", name, descriptor: "()V", ..Default::default() }));
    let threads = [
        b.thread(ThreadSpec {
            name: "worker-1",
            labels: &[("user", "ann"), ("page", "/")],
            ..Default::default()
        }),
        b.thread(ThreadSpec { name: "worker-2", threads: 3, ..Default::default() }),
    ];
    for time in 0..10u64 {
        let thread = threads[usize::from(time >= 6)];
        let node = b.child(b.root(thread), methods[time as usize % 2], UNKNOWN_SITE);
        b.add(node, cpu, 10);
        let labels = b.labels(if time % 3 == 0 { &[("request", "7"), ("user", "bob")] } else { &[] });
        b.sample(Sample { time, thread, node, metric: cpu, value: 10, labels, bci: NO_BCI });
    }
    let name = b.string("gc.pause");
    b.event(Event { time: 2, duration: 3, thread: NO_THREAD, node: NO_NODE, name, details: Vec::new() });
    b.event(Event { time: 8, duration: 0, thread: threads[1], node: NO_NODE, name, details: Vec::new() });
    b.finish()
}

#[test]
fn by_time() {
    let p = sampled();
    common::check(&p);
    let part = p.select_time(4..7);
    common::check(&part);
    assert_eq!(part.samples().len(), 3);
    assert_eq!(part.metric("samples.cpu").unwrap().total(), 30);
    assert_eq!(part.totals_by_thread(&part.metrics()[0]), [20, 10]);
    // The collection from 2 to 5 reaches into the stretch; the instant at 8 does not.
    assert_eq!(part.events().len(), 1);
    let nothing = p.select_time(100..200);
    assert_eq!((nothing.tree().len(), nothing.threads().len()), (2, 2));
    assert_eq!(p.select_time(0..u64::MAX), p);
}

#[test]
fn by_label_and_thread() {
    let p = sampled();
    let ann = p.select_label("user", "ann");
    assert_eq!((ann.threads().len(), ann.metrics()[0].total(), ann.samples().len()), (1, 60, 6));
    assert!(p.select_label("user", "eve").threads().is_empty());
    // Every third sample is on behalf of bob, whichever thread took it.
    let bob = p.select_label("user", "bob");
    common::check(&bob);
    assert_eq!((bob.threads().len(), bob.metrics()[0].total(), bob.samples().len()), (2, 40, 4));
    assert_eq!(bob.totals_by_thread(&bob.metrics()[0]), [20, 20]);
    let labels =
        bob.labels(bob.samples()[0].labels).iter().map(|&(key, value)| (bob.str(key), bob.str(value)));
    assert_eq!(labels.collect::<Vec<_>>(), [("request", "7"), ("user", "bob")]);
    assert_eq!(Profile::merge(&[&bob, &bob]).unwrap().select_label("request", "7").metrics()[0].total(), 80);
    // Events of no thread stay with every part, those of a thread go with it.
    assert_eq!((ann.events().len(), p.select_thread("worker-2").events().len()), (1, 2));
}

#[test]
fn pools_fold_into_one_tree() {
    let mut p = sampled();
    p = p.fold_threads(thread_pattern);
    // Labels are part of a tree's identity: the labelled worker stays apart.
    let names: Vec<_> = p.threads().iter().map(|t| (p.str(t.name), t.threads)).collect();
    assert_eq!(names, [("worker-#", 3), ("worker-#", 1)]);
    let all = p.merge_threads();
    assert_eq!((all.threads().len(), all.threads()[0].threads), (1, 4));
    assert_eq!(all.metrics()[0].values(), [0, 50, 50]);
    common::check(&all);
}

#[test]
fn packages_cut_out() {
    let mut b = Builder::new();
    let calls = b.metric(MetricSpec::calls());
    let thread = b.thread(ThreadSpec::default());
    let mut node = b.root(thread);
    for class in ["java.lang.Thread", "app.Main", "java.util.ArrayList", "app.io.Reader", "apple.Core"] {
        let method = b.method(MethodSpec { class, name: "m", ..Default::default() });
        node = b.push(node, method, 5);
        b.add(node, calls, 1);
    }
    let app = b.finish().only_package("app");
    let names: Vec<_> =
        (1..app.tree().len() as u32).map(|n| app.method_name(app.tree().method(n).unwrap())).collect();
    assert_eq!(names, ["app.Main.m", "app.io.Reader.m"]);
    // What they called elsewhere is charged to them; what happened above them is not.
    assert_eq!(app.metrics()[0].values(), [0, 2, 2]);
    assert_eq!(app.tree().sites()[1..], [UNKNOWN_SITE, UNKNOWN_SITE]);
}

#[test]
fn without_sites_contexts_that_differ_in_nothing_else_are_one() {
    let stack = |sites: [i8; 2]| Stack {
        thread: 0,
        frames: vec![(1, sites[0]), (2, sites[1])],
        calls: 1,
        bytecodes: 5,
    };
    let with = common::build(&[stack([-1, 4]), stack([-1, 9]), stack([3, 4])], &[], true);
    let without = with.without_sites();
    common::check(&without);
    assert_eq!((with.tree().len(), without.tree().len()), (6, 3));
    assert!(with.has_sites() && !without.has_sites());
    for (before, after) in with.metrics().iter().zip(without.metrics()) {
        assert_eq!(before.total(), after.total(), "{}", before.name());
    }
    assert_eq!(without, without.without_sites());
}
