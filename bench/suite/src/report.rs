//! The suite's tables.

use crate::statistics::Estimate;
use crate::summary::{Row, geometric_means};
use crate::table::Table;

const COLUMNS: [&str; 19] = [
    "program",
    "profiler",
    "plain ms",
    "wall ×",
    "range",
    "CPU ×",
    "work ×",
    "range",
    "JIT %",
    "start ×",
    "whole ×",
    "MB plain",
    "MB",
    "calls",
    "samples",
    "contexts",
    "B/context",
    "file kB",
    "lost",
];

/// With more JIT compilation than this a state is not called steady.
const RESTLESS: f64 = 0.05;

/// All rows of one JDK, with the geometric mean of each profiler that has more than one program.
pub fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(&COLUMNS);
    let mut profilers: Vec<&str> = Vec::new();
    for row in rows {
        if !profilers.contains(&row.profiler.as_str()) {
            profilers.push(&row.profiler);
        }
        table.rows.push(cells(row));
    }
    for profiler in profilers {
        let its: Vec<&Row> =
            rows.iter().filter(|row| row.profiler == profiler && row.wall.is_some()).collect();
        if its.len() > 1 {
            let [wall, cpu, work] = geometric_means(&its);
            let mut cells =
                vec![format!("geometric mean of {}", its.len()), profiler.to_owned(), String::new()];
            cells.extend([times(&wall), range(&wall), times(&cpu), times(&work), range(&work)]);
            cells.resize(table.headings.len(), String::new());
            table.rows.push(cells);
        }
    }
    table
}

/// Sentences about what the figures do not show.
pub fn notes(rows: &[Row]) -> Vec<String> {
    let mut notes = Vec::new();
    for row in rows {
        let what = format!("{} under {} on JDK {}", row.program, row.profiler, row.jdk);
        if let Some(failure) = &row.failure {
            notes.push(format!("{what}: {}", failure.trim_end()));
        }
        if let Some(peak) = row
            .collector_peak
            .filter(|_| row.failure.is_none())
            .filter(|peak| *peak > row.peak.1 + row.peak.1 / 10)
        {
            notes.push(format!("{what}: the profiler's own process needed {} MB", peak >> 20));
        }
        if !row.product.lost.is_empty() {
            let lost: Vec<String> =
                row.product.lost.iter().map(|(cause, n)| format!("{cause} {n}")).collect();
            notes.push(format!("{what} lost: {}", lost.join(", ")));
        }
        if !row.product.answer.is_empty() {
            notes.push(format!("{what} found: {}", row.product.answer.join("; ")));
        }
    }
    let restless: std::collections::BTreeSet<&str> = rows
        .iter()
        .filter(|row| [row.compiling.0, row.compiling.1].iter().flatten().any(|share| *share > RESTLESS))
        .map(|row| row.program.as_str())
        .collect();
    if !restless.is_empty() {
        notes.push(format!(
            "not steady, more than {:.0}% of the CPU time was JIT compilation (column JIT %): {}",
            RESTLESS * 100.0,
            restless.into_iter().collect::<Vec<_>>().join(", ")
        ));
    }
    if let Some(sure) = rows.iter().find_map(|row| row.wall.as_ref().filter(|wall| wall.rounds > 1)) {
        notes.push(format!(
            "ranges hold the true median with {:.0}% confidence ({} rounds)",
            sure.confidence * 100.0,
            sure.rounds
        ));
    }
    notes
}

fn cells(row: &Row) -> Vec<String> {
    let megabytes = |bytes: u64| format!("{}", bytes >> 20);
    let product = &row.product;
    let mut cells = vec![row.program.clone(), row.profiler.clone()];
    cells.push(row.plain_wall.map_or_else(String::new, |nanos| format!("{:.1}", nanos / 1e6)));
    if row.wrong {
        cells.push("WRONG".to_owned());
    } else if row.wall.is_none() {
        cells.push(if row.stopped { "stopped" } else { "failed" }.to_owned());
    } else {
        cells.extend([
            times(&row.wall),
            range(&row.wall),
            times(&row.cpu),
            times(&row.work),
            range(&row.work),
        ]);
        let percent =
            |share: Option<f64>| share.map_or_else(String::new, |share| format!("{:.0}", share * 100.0));
        cells.push(format!("{}/{}", percent(row.compiling.0), percent(row.compiling.1)));
        cells.extend([times(&row.startup), times(&row.whole), megabytes(row.peak.0), megabytes(row.peak.1)]);
        let number = |n: Option<u64>| n.map_or_else(String::new, |n| n.to_string());
        cells.extend([number(product.calls), number(product.samples), number(product.contexts)]);
        let per_context = product.contexts.filter(|n| *n > 100_000 && row.arena > 0).map(|n| row.arena / n);
        cells.push(number(per_context));
        cells.push(format!("{:.0}", product.size as f64 / 1e3));
        cells.push(match product.lost.iter().map(|(_, n)| n).sum::<u64>() {
            0 => String::new(),
            lost => lost.to_string(),
        });
    }
    cells.resize(COLUMNS.len(), String::new());
    cells
}

fn times(estimate: &Option<Estimate>) -> String {
    estimate.as_ref().map_or_else(String::new, |it| format!("{:.2}", it.median))
}

fn range(estimate: &Option<Estimate>) -> String {
    match estimate {
        Some(it) if it.rounds > 1 => format!("{:.2}–{:.2}", it.low, it.high),
        _ => String::new(),
    }
}
