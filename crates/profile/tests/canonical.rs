//! The same counts, fed differently, are the same profile.

use quipu_profile::{Builder, MethodSpec, MetricSpec, Profile, ThreadSpec, UNKNOWN_SITE};

fn method(b: &mut Builder, class: &str, name: &str) -> u32 {
    b.method(MethodSpec { class, name, descriptor: "()V", ..Default::default() })
}

#[test]
fn order_of_feeding_does_not_show() {
    let mut a = Builder::new();
    let calls = a.metric(MetricSpec::calls());
    let bytecodes = a.metric(MetricSpec::bytecodes());
    let (main, f, g) = (method(&mut a, "A", "main"), method(&mut a, "B", "f"), method(&mut a, "B", "g"));
    let t = a.thread(ThreadSpec { name: "main", ..Default::default() });
    let n = a.push(a.root(t), main, UNKNOWN_SITE);
    let nf = a.push(n, f, 3);
    let ng = a.push(n, g, 7);
    for (node, c, b) in [(n, 1, 10), (nf, 2, 20), (ng, 3, 30)] {
        a.add(node, calls, c);
        a.add(node, bytecodes, b);
    }

    let mut b = Builder::new();
    let bytecodes = b.metric(MetricSpec::bytecodes());
    let calls = b.metric(MetricSpec::calls());
    let (g, f, main) = (method(&mut b, "B", "g"), method(&mut b, "B", "f"), method(&mut b, "A", "main"));
    method(&mut b, "Never", "used");
    let t = b.thread(ThreadSpec { name: "main", ..Default::default() });
    // `main` twice, once for each child: merged when finished.
    let n1 = b.push(b.root(t), main, UNKNOWN_SITE);
    let ng = b.push(n1, g, 7);
    let n2 = b.push(b.root(t), main, UNKNOWN_SITE);
    let nf = b.push(n2, f, 3);
    for (node, c, w) in [(n2, 1, 4), (n1, 0, 6), (nf, 2, 20), (ng, 3, 30)] {
        b.add(node, calls, c);
        b.add(node, bytecodes, w);
    }

    let (a, b) = (a.finish(), b.finish());
    assert_eq!(a, b);
    assert_eq!(a.tree().parents(), [u32::MAX, 0, 1, 1]);
    assert_eq!(a.metrics()[0].name(), "calls");
    assert_eq!(a.inclusive(&a.metrics()[1]), [60, 60, 20, 30]);
}

#[test]
fn threads_are_sorted_and_folded_by_name() {
    let mut b = Builder::new();
    let calls = b.metric(MetricSpec::calls());
    let run = method(&mut b, "A", "run");
    for name in ["worker", "main", "worker"] {
        let t = b.thread(ThreadSpec { name, ..Default::default() });
        let n = b.push(b.root(t), run, UNKNOWN_SITE);
        b.add(n, calls, 5);
    }
    let p: Profile = b.finish();
    let names: Vec<_> = p.threads().iter().map(|t| (p.str(t.name), t.threads, t.root)).collect();
    assert_eq!(names, [("main", 1, 0), ("worker", 2, 2)]);
    assert_eq!(p.metrics()[0].values(), [0, 5, 0, 10]);
    assert_eq!((p.thread_of(1), p.thread_of(2), p.thread_of(3)), (0, 1, 1));
}

#[test]
fn a_deep_chain_is_an_ordinary_tree() {
    let mut b = Builder::new();
    let bytecodes = b.metric(MetricSpec::bytecodes());
    let f = method(&mut b, "A", "f");
    let t = b.thread(ThreadSpec::default());
    let mut at = b.root(t);
    for _ in 0..200_000 {
        at = b.child(at, f, UNKNOWN_SITE);
        b.add(at, bytecodes, 1);
    }
    let p = b.finish();
    assert_eq!(p.inclusive(&p.metrics()[0])[0], 200_000);
    assert_eq!(p.tree().path(200_000).len(), 200_000);
}
