//! The right place is named, once.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod common;

use common::{Row, ask, limited, named, profile, strict, threads};
use quipu_gate::{GateError, Limit, Outcome};

const BASE: [Row<'_>; 7] = [
    ("app.Main.main", 1, 1_000),
    ("app.Main.main/app.Parser.parse", 100, 50_000),
    ("app.Main.main/app.Parser.parse/app.Lexer.next", 10_000, 80_000),
    ("app.Main.main/app.Parser.parse/app.Lexer.next/app.Buffer.read", 20_000, 40_000),
    ("app.Main.main/app.Writer.write", 100, 20_000),
    ("app.Main.main/app.Writer.write/app.Buffer.read", 500, 1_000),
    ("app.Main.main/app.Writer.write/app.Buffer.flush", 5, 600),
];

/// The base with some rows changed or added.
fn changed(rows: &[Row<'static>]) -> Vec<Row<'static>> {
    let mut all = BASE.to_vec();
    for row in rows {
        match all.iter_mut().find(|known| known.0 == row.0) {
            Some(known) => *known = *row,
            None => all.push(*row),
        }
    }
    all
}

#[test]
fn the_same_profile_passes() {
    let verdict = strict(&profile(&BASE), &profile(&BASE));
    assert!(verdict.passed() && verdict.improvements.is_empty() && verdict.renamed.is_empty());
    assert_eq!(verdict.subjects[0].outcome, Outcome::Same);
}

#[test]
fn one_percent_more_in_one_method_is_exactly_that_context() {
    let new = changed(&[("app.Main.main/app.Parser.parse/app.Lexer.next", 10_000, 80_800)]);
    let verdict = strict(&profile(&BASE), &profile(&new));
    assert_eq!(named(&verdict), ["app.Lexer.next 800"]);
    let culprit = &verdict.culprits[0];
    assert_eq!(culprit.path, ["app.Main.main", "app.Parser.parse", "app.Lexer.next"]);
    assert_eq!((culprit.own, culprit.contexts, culprit.calls.len()), (800, 1, 0));
    assert_eq!(culprit.place.source_line().as_deref(), Some("Lexer.java:40"));
    // 800 of 192,600 is 0.415 %.
    let limit = |text: &str| Limit { relative: Some(text.parse().unwrap()), absolute: None };
    assert!(limited(&profile(&BASE), &profile(&new), limit("0.5%")).passed());
    assert!(!limited(&profile(&BASE), &profile(&new), limit("0.4%")).passed());
}

#[test]
fn more_calls_are_the_callers_doing_with_all_below_folded() {
    // parse calls next 1,000 times more; next and read do per call what they did.
    let new = changed(&[
        ("app.Main.main/app.Parser.parse", 100, 52_000),
        ("app.Main.main/app.Parser.parse/app.Lexer.next", 11_000, 88_000),
        ("app.Main.main/app.Parser.parse/app.Lexer.next/app.Buffer.read", 22_000, 44_000),
    ]);
    let verdict = strict(&profile(&BASE), &profile(&new));
    assert_eq!(named(&verdict), ["app.Parser.parse 14000"]);
    let culprit = &verdict.culprits[0];
    assert_eq!(culprit.own, 2_000);
    assert_eq!((culprit.calls[0].callee.as_str(), culprit.calls[0].times), ("app.Lexer.next", 1_000));
    assert_eq!((culprit.calls[0].cost, culprit.calls[0].new), (12_000, false));
}

#[test]
fn a_new_callee_is_one_culprit_at_its_caller() {
    let new = changed(&[
        ("app.Main.main/app.Writer.write/app.Log.debug", 100, 700),
        ("app.Main.main/app.Writer.write/app.Log.debug/app.Format.format", 100, 9_000),
    ]);
    let verdict = strict(&profile(&BASE), &profile(&new));
    assert_eq!(named(&verdict), ["app.Writer.write 9700"]);
    let call = &verdict.culprits[0].calls[0];
    assert_eq!((call.callee.as_str(), call.times, call.cost, call.new), ("app.Log.debug", 100, 9_700, true));
}

#[test]
fn two_changes_are_two_culprits_in_the_order_of_their_cost() {
    let new = changed(&[
        ("app.Main.main/app.Writer.write/app.Buffer.flush", 5, 1_600),
        ("app.Main.main/app.Parser.parse", 100, 50_500),
    ]);
    let verdict = strict(&profile(&BASE), &profile(&new));
    assert_eq!(named(&verdict), ["app.Buffer.flush 1000", "app.Parser.parse 500"]);
}

#[test]
fn a_method_that_grew_in_many_contexts_is_named_once() {
    let new = changed(&[
        ("app.Main.main/app.Parser.parse/app.Lexer.next/app.Buffer.read", 20_000, 60_000),
        ("app.Main.main/app.Writer.write/app.Buffer.read", 500, 1_500),
    ]);
    let verdict = strict(&profile(&BASE), &profile(&new));
    assert_eq!(named(&verdict), ["app.Buffer.read 20500"]);
    assert_eq!(verdict.culprits[0].contexts, 2);
    assert_eq!(verdict.culprits[0].path.len(), 4, "the context that costs most");
}

#[test]
fn both_more_calls_and_more_work_per_call_are_told_apart() {
    // write is called twice as often, and each call does half as much again.
    let new = changed(&[
        ("app.Main.main/app.Writer.write", 200, 60_000),
        ("app.Main.main/app.Writer.write/app.Buffer.read", 1_000, 2_000),
        ("app.Main.main/app.Writer.write/app.Buffer.flush", 10, 1_200),
    ]);
    let verdict = strict(&profile(&BASE), &profile(&new));
    assert_eq!(named(&verdict), ["app.Main.main 21600", "app.Writer.write 20000"]);
}

#[test]
fn calls_that_cost_less_than_the_others_cost_what_they_cost() {
    // 100 more calls of write that return at once: not twice the work, and write did not get better.
    let new = changed(&[("app.Main.main/app.Writer.write", 200, 20_300)]);
    let verdict = strict(&profile(&BASE), &profile(&new));
    assert_eq!(named(&verdict), ["app.Main.main 300"]);
    assert_eq!(verdict.culprits[0].calls[0].times, 100);
    assert!(verdict.improvements.is_empty());
}

#[test]
fn removed_work_passes_and_is_reported() {
    let new: Vec<Row<'_>> = BASE.iter().filter(|row| !row.0.contains("Writer")).copied().collect();
    let verdict = strict(&profile(&BASE), &profile(&new));
    assert!(verdict.passed() && verdict.culprits.is_empty());
    assert_eq!(verdict.subjects[0].outcome, Outcome::Improved);
    assert_eq!(
        (verdict.improvements[0].place.name(), verdict.improvements[0].cost),
        ("app.Main.main".into(), -21_600)
    );
    assert!(verdict.improvements[0].calls[0].gone);
}

#[test]
fn recursion_is_one_place_however_deep() {
    let deep = |depth: usize, own: u64| {
        let mut rows: Vec<(String, u64, u64)> = vec![("a.Main.main".into(), 1, 10)];
        for level in 1..=depth {
            rows.push((format!("a.Main.main{}", "/a.Tree.walk".repeat(level)), 1 << level, own << level));
        }
        rows
    };
    let build = |rows: &[(String, u64, u64)]| {
        profile(&rows.iter().map(|(path, calls, own)| (path.as_str(), *calls, *own)).collect::<Vec<_>>())
    };
    // Each call does more: the method is to blame. One level more: whoever called it with a larger tree.
    let verdict = strict(&build(&deep(8, 20)), &build(&deep(8, 21)));
    assert_eq!(named(&verdict), ["a.Tree.walk 510"]);
    assert_eq!(verdict.culprits[0].path, ["a.Main.main", "a.Tree.walk"]);
    let verdict = strict(&build(&deep(8, 20)), &build(&deep(9, 20)));
    assert_eq!(named(&verdict), ["a.Main.main 10240"]);
    assert_eq!(verdict.culprits[0].calls[0].times, 512);
}

#[test]
fn threads_are_judged_one_by_one() {
    let (light, heavy): ([Row<'_>; 1], [Row<'_>; 1]) = ([("a.W.run", 1, 100)], [("a.W.run", 1, 200)]);
    let a = threads(&[("main", &BASE), ("worker", &heavy), ("main [class loading]", &light)]);
    let b = threads(&[("main", &BASE[..2]), ("worker", &heavy), ("main [class loading]", &heavy)]);
    assert!(strict(&a, &b).passed(), "less in main, and class loading does not count");
    let b = threads(&[("main", &BASE[..2]), ("worker", &[("a.W.run", 1, 201)])]);
    let verdict = strict(&a, &b);
    assert_eq!(verdict.failed().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["worker"]);
    assert_eq!(named(&verdict), ["a.W.run 1"], "savings elsewhere do not make up for it");
    let two = threads(&[("pool-1", &light), ("pool-2", &light)]);
    let other = threads(&[("pool-2", &light), ("pool-3", &light)]);
    assert!(strict(&two, &other).passed(), "numbers in thread names are not the program's");
}

#[test]
fn chosen_methods_are_gated_by_their_inclusive_totals() {
    // The thread as a whole got better.
    let new =
        changed(&[("app.Main.main", 1, 10), ("app.Main.main/app.Writer.write/app.Buffer.flush", 5, 700)]);
    let (a, b) = (profile(&BASE), profile(&new));
    assert!(ask(&a, &b, Limit::default(), &["Parser.parse"]).unwrap().passed());
    let verdict = ask(&a, &b, Limit::default(), &["app.Writer.*"]).unwrap();
    assert_eq!(verdict.failed().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["app.Writer.write"]);
    assert_eq!(named(&verdict), ["app.Buffer.flush 100"]);
    let error = ask(&a, &b, Limit::default(), &["app.Wrter.write"]).unwrap_err();
    assert!(matches!(&error, GateError::Unknown { near, .. } if near[0] == "app.Writer.write"), "{error}");
}

#[test]
fn what_cannot_be_judged_is_a_sentence() {
    let system = threads(&[("main [class loading]", &BASE)]);
    assert_eq!(ask(&system, &system, Limit::default(), &[]).unwrap_err(), GateError::NoThreads);
    let empty = quipu_profile::Builder::new().finish();
    assert_eq!(ask(&empty, &empty, Limit::default(), &[]).unwrap_err(), GateError::NoMetrics);
    assert!(matches!(ask(&empty, &profile(&BASE), Limit::default(), &[]), Err(GateError::NotMeasured(_))));
}
