//! The line that changed, when blocks or call sites were counted.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod common;

use common::strict;
use quipu_profile::{
    Block, Builder, Line, MethodSpec, MetricKind, MetricSpec, Profile, ThreadSpec, UNKNOWN_SITE, Unit,
};

const LINES: [Line; 4] = [
    Line { bci: 0, line: 10 },
    Line { bci: 5, line: 11 },
    Line { bci: 9, line: 12 },
    Line { bci: 20, line: 14 },
];

/// A method that calls another at some sites, and has some blocks.
fn method(own: u64, sites: &[(i32, u64)], blocks: &[Block]) -> Profile {
    let mut b = Builder::new();
    let (calls, bytecodes) = (b.metric(MetricSpec::calls()), b.metric(MetricSpec::bytecodes()));
    let spec = |name, lines| MethodSpec {
        class: "A",
        name,
        descriptor: "()V",
        source: "A.java",
        lines,
        ..Default::default()
    };
    let (caller, callee) = (b.method(spec("caller", &LINES)), b.method(spec("callee", &[])));
    blocks.iter().for_each(|&block| b.block(caller, block));
    let thread = b.thread(ThreadSpec { name: "main", ..Default::default() });
    let at = b.child(b.root(thread), caller, UNKNOWN_SITE);
    b.add(at, calls, 1);
    b.add(at, bytecodes, own);
    for &(site, times) in sites {
        let node = b.child(at, callee, site);
        b.add(node, calls, times);
        b.add(node, bytecodes, 10 * times);
    }
    b.finish()
}

#[test]
fn the_call_site_that_was_added() {
    let verdict = strict(&method(50, &[(6, 3), (21, 3)], &[]), &method(53, &[(6, 3), (10, 4), (24, 3)], &[]));
    let place = &verdict.culprits[0].place;
    assert_eq!((place.line, place.line_is_exact), (Some(12), true));
    assert_eq!(verdict.culprits[0].calls[0].times, 4);
}

#[test]
fn the_block_that_runs_longer() {
    let block = |bci, count| Block { bci, instructions: 4, count };
    let before = method(60, &[], &[block(0, 1), block(5, 10), block(20, 4)]);
    let after = method(160, &[], &[block(0, 1), block(5, 10), block(9, 25), block(20, 4)]);
    let place = &strict(&before, &after).culprits[0].place;
    assert_eq!((place.line, place.line_is_exact), (Some(12), true));
}

#[test]
fn without_either_the_first_line() {
    let place = &strict(&method(50, &[], &[]), &method(60, &[], &[])).culprits[0].place;
    assert_eq!((place.line, place.line_is_exact), (Some(10), false));
    assert_eq!(place.source_line().as_deref(), Some("A.java:10"));
}

/// `main` calls `work` so often, and `work` does so much; the last line of `main` begins at `edge`.
fn caller(edge: u32, times: u64, own: u64) -> Profile {
    let mut b = Builder::new();
    let (calls, bytecodes) = (b.metric(MetricSpec::calls()), b.metric(MetricSpec::bytecodes()));
    let lines = [Line { bci: 0, line: 3 }, Line { bci: edge, line: 4 }];
    let main = b.method(MethodSpec { class: "A", name: "main", lines: &lines, ..Default::default() });
    let work = b.method(MethodSpec { class: "A", name: "work", lines: &LINES, ..Default::default() });
    let thread = b.thread(ThreadSpec { name: "main", ..Default::default() });
    let at = b.child(b.root(thread), main, UNKNOWN_SITE);
    b.add(at, calls, 1);
    b.add(at, bytecodes, 10);
    let below = b.child(at, work, UNKNOWN_SITE);
    b.add(below, calls, times);
    b.add(below, bytecodes, own);
    b.finish()
}

#[test]
fn a_dear_call_is_the_edited_callers_doing() {
    let places = |a: &Profile, b: &Profile| {
        strict(a, b).culprits.iter().map(|c| (c.place.method.clone(), c.cost)).collect::<Vec<_>>()
    };
    let before = caller(8, 10, 1_000);
    assert_eq!(places(&before, &caller(12, 11, 5_000)), [("main".to_owned(), 4_000)]);
    // Without a sign of an edit, the call costs what the others do and the rest is the callee's.
    let both = [("work".to_owned(), 3_900), ("main".to_owned(), 100)];
    assert_eq!(places(&before, &caller(8, 11, 5_000)), both);
}

#[test]
fn samples_must_differ_by_more_than_chance() {
    let sampled = |samples: u64| {
        let mut b = Builder::new();
        let kind = MetricKind::Sampled { period: 1_000 };
        let time = b.metric(MetricSpec { kind, ..MetricSpec::exact("time", Unit::Nanoseconds) });
        let method = b.method(MethodSpec { class: "A", name: "a", ..Default::default() });
        let thread = b.thread(ThreadSpec { name: "main", ..Default::default() });
        let node = b.child(b.root(thread), method, UNKNOWN_SITE);
        b.add(node, time, samples * 1_000);
        b.finish()
    };
    let chance = strict(&sampled(100), &sampled(120));
    assert!(chance.passed() && chance.sampled);
    assert_eq!(chance.subjects[0].outcome, quipu_gate::Outcome::Chance);
    let real = strict(&sampled(100), &sampled(200));
    assert!(!real.passed());
    assert_eq!(real.culprits[0].place.name(), "A.a");
}
