//! What a verdict looks like. `INSTA_UPDATE=always cargo test` accepts a change.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod common;

use common::{Row, ask, profile, strict, threads};
use quipu_gate::{Limit, Verdict, json, markdown, text};

const BEFORE: [Row<'_>; 6] = [
    ("app.Main.main", 1, 1_000),
    ("app.Main.main/app.Parser.parse", 100, 500_000),
    ("app.Main.main/app.Parser.parse/app.Lexer.next", 10_000, 80_000),
    ("app.Main.main/app.Parser.parse/app.Table.<init>", 100, 9_000),
    ("app.Main.main/app.Parser.parse/app.Parser.helper", 700, 4_000),
    ("app.Main.main/app.Writer.write", 100, 20_000),
];

const AFTER: [Row<'_>; 8] = [
    ("app.Main.main", 1, 1_000),
    ("app.Main.main/app.Parser.parse", 100, 502_000),
    ("app.Main.main/app.Parser.parse/app.Lexer.next", 11_000, 88_000),
    ("app.Main.main/app.Parser.parse/app.Table.<init>", 100, 9_300),
    ("app.Main.main/app.Parser.parse/app.Parser.assist", 700, 4_000),
    ("app.Main.main/app.Writer.write", 100, 14_000),
    ("app.Main.main/app.Writer.write/app.Log.debug", 100, 700),
    ("app.Main.main/app.Writer.write/app.Log.debug/app.Log$Sink.accept", 100, 25_000),
];

fn failed() -> Verdict {
    let worker: [Row<'_>; 1] = [("app.Worker.run", 2, 1_000)];
    let (a, b) = (
        threads(&[("main", &BEFORE), ("worker-1", &worker)]),
        threads(&[("main", &AFTER), ("worker-1", &worker)]),
    );
    ask(&a, &b, Limit::DEFAULT, &["app.Parser.parse", "app.Table.*"]).unwrap()
}

#[test]
fn failed_as_text() {
    insta::assert_snapshot!(text(&failed()));
}

#[test]
fn failed_as_markdown() {
    insta::assert_snapshot!(markdown(&failed()));
}

#[test]
fn failed_as_json() {
    insta::assert_snapshot!(json(&failed()));
}

#[test]
fn improved_as_text() {
    insta::assert_snapshot!(text(&strict(&profile(&AFTER), &profile(&BEFORE))));
}

#[test]
fn same_as_text_and_markdown() {
    let same = strict(&profile(&BEFORE), &profile(&BEFORE));
    insta::assert_snapshot!(text(&same) + "\n" + &markdown(&same));
}

#[test]
fn many_culprits_are_cut_and_counted() {
    let rows = |own: u64| -> Vec<(String, u64, u64)> {
        let deep = "/app.Deep.down";
        let mut all = vec![("app.Main.main".to_owned(), 1, 10)];
        all.extend((1..9).map(|n| (format!("app.Main.main/app.M{n}.go"), 1, own * n)));
        all.push((
            format!("app.Main.main/app.A.a/app.B.b/app.C.c/app.D.d/app.E.e/app.F.f{deep}"),
            1,
            own * 100,
        ));
        all
    };
    let build = |rows: &[(String, u64, u64)]| {
        profile(&rows.iter().map(|(path, calls, own)| (path.as_str(), *calls, *own)).collect::<Vec<_>>())
    };
    insta::assert_snapshot!(text(&strict(&build(&rows(10)), &build(&rows(11)))));
}

#[test]
fn names_cannot_speak_to_terminals_or_pages() {
    let evil: [Row<'_>; 1] = [("a\x1b[31m|`<b>.x\ny", 1, 5)];
    let worse: [Row<'_>; 1] = [("a\x1b[31m|`<b>.x\ny", 1, 50)];
    let verdict = strict(&profile(&evil), &profile(&worse));
    for out in [text(&verdict), markdown(&verdict), json(&verdict)] {
        assert!(!out.contains('\x1b') && !out.contains("x\ny"), "{out}");
    }
    assert!(!markdown(&verdict).contains("|`<"));
}
