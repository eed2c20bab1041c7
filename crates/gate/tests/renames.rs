//! Code that was only rearranged passes, and does not hide what was not.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod common;

use common::{Row, named, profile, strict};

const BASE: [Row<'_>; 4] = [
    ("app.Main.main", 1, 1_000),
    ("app.Main.main/app.Job.run", 10, 500),
    ("app.Main.main/app.Job.run/app.Job.helper", 100, 5_000),
    ("app.Main.main/app.Job.run/app.Job.helper/app.Sum.add", 1_000, 4_000),
];

fn renamed(rows: &[Row<'_>], from: &str, to: &str) -> Vec<(String, u64, u64)> {
    rows.iter().map(|(path, calls, own)| (path.replace(from, to), *calls, *own)).collect()
}

fn build(rows: &[(String, u64, u64)]) -> quipu_profile::Profile {
    profile(&rows.iter().map(|(path, calls, own)| (path.as_str(), *calls, *own)).collect::<Vec<_>>())
}

#[test]
fn a_renamed_method_passes_and_is_said() {
    let verdict = strict(&profile(&BASE), &build(&renamed(&BASE, "Job.helper", "Job.assist")));
    assert!(verdict.passed() && verdict.improvements.is_empty());
    let renamed = &verdict.renamed[0];
    assert_eq!((renamed.from.as_str(), renamed.to.as_str()), ("app.Job.helper", "app.Job.assist"));
    assert!(renamed.same_work && verdict.renamed.len() == 1);
}

#[test]
fn growth_inside_a_renamed_method_is_found_there() {
    let mut rows = renamed(&BASE, "Job.helper", "Job.assist");
    rows[3].2 += 40;
    let verdict = strict(&profile(&BASE), &build(&rows));
    assert_eq!(named(&verdict), ["app.Sum.add 40"]);
    assert_eq!(verdict.culprits[0].path[2], "app.Job.assist");
    let mut rows = renamed(&BASE, "Job.helper", "Job.assist");
    rows[2].2 += 70;
    let verdict = strict(&profile(&BASE), &build(&rows));
    assert_eq!(named(&verdict), ["app.Job.assist 70"]);
    assert!(!verdict.renamed[0].same_work);
}

#[test]
fn a_renamed_class_passes() {
    let verdict = strict(&profile(&BASE), &build(&renamed(&BASE, "app.Job", "app.Task")));
    assert!(verdict.passed());
    assert_eq!(verdict.renamed.len(), 2, "{:?}", verdict.renamed);
    assert!(verdict.improvements.is_empty());
}

#[test]
fn generated_names_are_no_renames() {
    let lambda = |number: &str| {
        build(&renamed(&BASE, "app.Job.helper", &format!("app.Job$$Lambda.0x00{number}.lambda$run${number}")))
    };
    let verdict = strict(&lambda("14"), &lambda("15"));
    assert!(verdict.passed() && verdict.renamed.is_empty() && verdict.moved.is_empty());
}

#[test]
fn an_extracted_method_costs_only_its_calls() {
    let mut rows: Vec<Row<'_>> = BASE.to_vec();
    rows[1] = ("app.Main.main/app.Job.run", 10, 230);
    rows.push(("app.Main.main/app.Job.run/app.Job.part", 10, 300));
    let verdict = strict(&profile(&BASE), &profile(&rows));
    assert_eq!(named(&verdict), ["app.Job.run 30"]);
}

#[test]
fn a_call_that_moved_is_not_blamed() {
    let rows: [Row<'_>; 5] = [
        ("app.Main.main", 1, 1_007),
        ("app.Main.main/app.Job.run", 10, 500),
        ("app.Main.main/app.Job.helper", 100, 5_000),
        ("app.Main.main/app.Job.helper/app.Sum.add", 1_000, 4_000),
        ("app.Main.main/app.Log.log", 1, 3),
    ];
    let verdict = strict(&profile(&BASE), &profile(&rows));
    assert_eq!(named(&verdict), ["app.Main.main 10"]);
    let moved = &verdict.moved[0];
    assert_eq!((moved.callee.as_str(), moved.cost), ("app.Job.helper", 9_000));
    assert_eq!((moved.from.as_str(), moved.to.as_str()), ("app.Job.run", "app.Main.main"));
}
