//! `quipu heap diff A B`: what grew.

use std::path::Path;

use quipu_heap::{Dump, Histogram, HistogramRow};
use quipu_report::grouped;
use serde_json::{Value as Json, json};

use super::open::{Bar, Reading, failed, tell};
use super::table::{Table, bytes, more, name};
use super::views::all_damage;
use super::{Limit, print, print_json};
use crate::exit::{DONE, Failure};

/// Prints what changed.
pub fn print_diff(reading: &Reading, before: &Path, after: &Path, limit: Limit) -> anyhow::Result<u8> {
    let ((before, broken), (after, also_broken)) = (read(reading, before)?, read(reading, after)?);
    let changes = quipu_heap::changes(&before, &after);
    if reading.json {
        let rows: Vec<Json> = changes
            .iter()
            .take(limit.rows())
            .map(|change| {
                json!({
                    "class": change.class,
                    "objects": { "before": change.objects.0, "after": change.objects.1 },
                    "bytes": { "before": change.bytes.0, "after": change.bytes.1 },
                })
            })
            .collect();
        print_json(&json!({ "by": "class", "metrics": ["objects", "bytes"], "rows": rows,
            "total": { "objects": { "before": before.objects(), "after": after.objects() },
                       "bytes": { "before": before.bytes(), "after": after.bytes() } } }))?;
        return Ok(broken.max(also_broken));
    }
    let mut table = Table::new(&["bytes", "objects", "after", "class"]);
    for change in changes.iter().take(limit.rows()) {
        table.row(vec![
            signed(change.bytes),
            signed(change.objects),
            bytes(change.bytes.1),
            name(&change.class),
        ]);
    }
    let total = format!(
        "{} bytes, {} objects in all; {} classes changed\n",
        signed((before.bytes(), after.bytes())),
        signed((before.objects(), after.objects())),
        grouped(changes.len() as u64)
    );
    print(&format!("{}{}{total}", table.text(""), more(changes.len(), limit.rows())))?;
    Ok(broken.max(also_broken))
}

fn signed((before, after): (u64, u64)) -> String {
    match after.checked_sub(before) {
        Some(0) => "0".to_owned(),
        Some(more) => format!("+{}", grouped(more)),
        None => format!("-{}", grouped(before - after)),
    }
}

/// A histogram: counted, or printed by somebody before.
fn read(reading: &Reading, path: &Path) -> anyhow::Result<(Histogram, u8)> {
    if let Some(histogram) = printed(path) {
        return Ok((histogram, DONE));
    }
    let opened = reading.open(path)?;
    let counted = Dump::count(&opened.source, &Bar::new()).map_err(|error| match error {
        quipu_heap::HeapError::NotADump { .. } => Failure::usage(format!(
            "{} is neither a heap dump nor a histogram (`quipu heap histo --json`, or `jcmd PID GC.class_histogram`)",
            path.display()
        )),
        error => failed(path)(error),
    })?;
    let status = tell(path, &all_damage(&opened, &counted.damage), counted.histogram.objects());
    Ok((counted.histogram, status))
}

/// No histogram is longer.
const LONGEST: u64 = 64 << 20;

fn printed(path: &Path) -> Option<Histogram> {
    if std::fs::metadata(path).ok()?.len() > LONGEST {
        return None;
    }
    let text = std::fs::read(path).ok().and_then(|bytes| String::from_utf8(bytes).ok())?;
    of_json(&text).or_else(|| Histogram::of_jcmd(&text))
}

fn of_json(text: &str) -> Option<Histogram> {
    let value: Json = serde_json::from_str(text).ok()?;
    let row = |row: &Json| {
        Some(HistogramRow {
            class: row.get("class")?.as_str()?.to_owned(),
            objects: row.get("objects")?.as_u64()?,
            bytes: row.get("bytes")?.as_u64()?,
        })
    };
    let rows: Option<Vec<HistogramRow>> = value.get("rows")?.as_array()?.iter().map(row).collect();
    Some(Histogram::new(rows?))
}
