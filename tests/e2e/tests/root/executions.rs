//! How long executions of roots took, against what the program measures itself.

use quipu_e2e::{Command, Program, Run, programs, scratch, tools};
use serde_json::Value;

use super::assert_whole;

/// Executions before those that are measured, and below the other root behind them.
const FEW: usize = 60;
const BELOW: usize = 20;
/// So many executions may have waited for instrumentation, which the program takes for theirs.
const WAITED: usize = 4;

fn report(run: &Run) -> Vec<Value> {
    let file = scratch("executions").join("out.quipu");
    run.profile().save(&file).expect("it is written");
    let mut quipu = Command::new(&tools().quipu);
    let output = quipu.arg("report").arg(&file).args(["--by", "root", "--json"]).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    report["rows"].as_array().expect("rows").clone()
}

/// A range is 3 % wide.
fn assert_near(what: &str, found: &Value, least: u64, most: u64) {
    let found = found.as_u64().expect("a number");
    assert!(
        (least * 96 / 100..=most * 104 / 100).contains(&found),
        "{what}: {found} ns, and it was {least} to {most}"
    );
}

/// What the program measured, in order: each execution as it sees it itself, and as its caller does. The profile's is between
/// these, whatever else takes the processor, and so are those of all ranks.
fn took(run: &Run, seen: &str) -> Vec<u64> {
    let told = run.stdout.lines().find_map(|line| line.strip_prefix(seen)?.strip_prefix(' '));
    let told = told.unwrap_or_else(|| panic!("no times; {}", run.said()));
    told.split(' ').map(|nanos| nanos.parse().expect("a number")).collect()
}

fn percentiles(options: &[&str]) {
    let program = Program::new("Lasts").arguments([FEW.to_string(), BELOW.to_string()]);
    let roots = ["--root", "Lasts.last", "--root", "Lasts.outer"];
    program.quipu_all(&[&roots, options].concat()).on_every_jdk(|run| {
        assert_whole(run);
        let (inside, outside) = (took(run, "inside"), took(run, "outside"));
        let rows = report(run);
        let row = |name: &str| rows.iter().find(|row| row["method"] == name).expect("it is there");
        let last = row("last");
        assert_eq!(last["executions"], outside.len());
        for (name, permille) in [("p50", 500), ("p90", 900), ("p99", 990), ("p99.9", 999), ("max", 1000)] {
            let rank = (outside.len() * permille).div_ceil(1000) - 1;
            assert_near(name, &last[name], inside[rank - WAITED], outside[rank]);
        }
        // Of the sum, what those is that may have waited cannot be known.
        let least = inside[..inside.len() - WAITED].iter().sum();
        assert_near("time.gross", &last["time.gross"], least, outside.iter().sum());
        assert!(last["min"].as_u64().expect("a number") <= outside[0]);
        let histogram = last["histogram"].as_array().expect("ranges");
        let counts = histogram.iter().map(|range| range["count"].as_u64().expect("a number"));
        assert_eq!(counts.sum::<u64>(), outside.len() as u64);
        let outer = row("outer");
        assert_eq!(outer["executions"], BELOW);
        assert!(outer["min"].as_u64().expect("a number") >= 2_000_000, "{outer}");
    });
}

#[test]
fn executions_of_roots_have_percentiles() {
    percentiles(&[]);
}

/// A part of a method, which is left by its end, by `continue` and by an exception.
#[test]
fn regions_have_percentiles() {
    let source = std::fs::read_to_string(programs().join("Regions.java")).expect("a source");
    let line = |mark: &str| source.lines().position(|line| line.contains(mark)).expect("it is there") + 1;
    let region = format!("Regions.work:{}-{}", line("// from") + 1, line("// to") - 1);
    let options = ["--root", "Regions.work", "--region", &region, "--region", "Regions.work:9999"];
    Program::new("Regions").quipu_all(&options).on_every_jdk(|run| {
        assert_whole(run);
        let rows = report(run);
        let row = |name: &str| rows.iter().find(|row| row["method"] == name).expect("it is there").clone();
        let (region, method) = (row(&region), row("work"));
        let known = |name: &str| took(run, name)[0];
        assert_eq!(region["executions"], known("entered"));
        let nanos = |row: &Value, name: &str| row[name].as_u64().expect("a number");
        assert!(
            nanos(&region, "min") >= 1_000_000 && nanos(&region, "time.gross") <= known("around"),
            "{region}"
        );
        // Twice as much is outside of it.
        assert!(
            nanos(&method, "time.gross") >= 2 * known("entered") * 1_000_000 + nanos(&region, "time.gross")
        );
        let said = run.said();
        assert!(said.contains("--region Regions.work:9999: no such lines were below a root"), "{said}");
    });
}

/// Nothing else is instrumented then.
#[test]
fn so_they_have_alone() {
    percentiles(&["--exclude", "*"]);
}
