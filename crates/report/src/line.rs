//! Source lines: from the counts of the blocks that start on them, or from where samples were.

use crate::columns::Selection;
use crate::json::Report;
use crate::number::{grouped, in_unit, percent, percent_of, share};
use crate::pattern;
use crate::style::Style;
use crate::table::{Name, Table, printable};
use crate::{Options, ReportError};
use quipu_profile::{MethodId, Metric, MetricKind, NO_BCI, Profile};
use std::collections::BTreeMap;
use std::io;

const LIMIT: usize = 30;

/// One line of one method.
struct LineRow {
    method: MethodId,
    /// 0 when the method has no line table, or a sample did not say where it was.
    line: u32,
    /// How often the line was entered: the count of its busiest block. Of samples, how many there were.
    times: u64,
    /// Bytecodes, or what the samples stand for.
    value: u64,
}

/// Where numbers by line come from.
enum Source<'a> {
    /// Blocks that were counted.
    Blocks,
    /// Samples of this metric.
    Samples(&'a Metric),
}

impl Source<'_> {
    /// Names of the two numbers of a row.
    fn names(&self) -> [&str; 2] {
        match self {
            Source::Blocks => ["executions", "bytecodes"],
            Source::Samples(metric) => ["samples", metric.name()],
        }
    }
}

fn source<'a>(profile: &'a Profile, selection: &Selection) -> Result<Source<'a>, ReportError> {
    let main = selection.main(profile);
    let id = profile.metric_id(main.name());
    let sampled = matches!(main.spec().kind, MetricKind::Sampled { .. });
    let says_where = profile.samples().iter().any(|s| Some(s.metric) == id && s.bci != NO_BCI);
    if sampled && says_where {
        return Ok(Source::Samples(main));
    }
    match profile.methods().iter().all(|method| method.blocks.is_empty()) {
        true => Err(ReportError::NoLines),
        false => Ok(Source::Blocks),
    }
}

/// Lines by value, most first.
fn lines(profile: &Profile, options: &Options, source: &Source<'_>) -> Result<Vec<LineRow>, ReportError> {
    let wanted = pattern::wanted(profile, options)?;
    let mut by_line: BTreeMap<(MethodId, u32), (u64, u64)> = BTreeMap::new();
    match source {
        Source::Blocks => {
            for (id, method) in profile.methods().iter().enumerate() {
                for block in &method.blocks {
                    let line = method.line_at(block.bci).unwrap_or(0);
                    let slot = by_line.entry((id as MethodId, line)).or_default();
                    slot.0 = slot.0.max(block.count);
                    let bytecodes = block.count.saturating_mul(u64::from(block.instructions));
                    slot.1 = slot.1.saturating_add(bytecodes);
                }
            }
        }
        Source::Samples(metric) => {
            let id = profile.metric_id(metric.name());
            for sample in profile.samples().iter().filter(|sample| Some(sample.metric) == id) {
                let Some(method) = profile.tree().method(sample.node) else { continue };
                let bci = Some(sample.bci).filter(|&bci| bci != NO_BCI);
                let line = bci.and_then(|bci| profile.method(method).line_at(bci)).unwrap_or(0);
                let slot = by_line.entry((method, line)).or_default();
                *slot = (slot.0 + 1, slot.1.saturating_add(sample.value));
            }
        }
    }
    by_line.retain(|&(method, _), _| wanted[method as usize]);
    let row = |((method, line), (times, value))| LineRow { method, line, times, value };
    let mut rows: Vec<LineRow> = by_line.into_iter().map(row).collect();
    rows.sort_by_key(|row| (std::cmp::Reverse((row.value, row.times)), row.method, row.line));
    Ok(rows)
}

pub(crate) fn json(
    profile: &Profile,
    options: &Options,
    selection: &Selection,
    out: &mut dyn io::Write,
) -> Result<(), ReportError> {
    let source = source(profile, selection)?;
    let rows = lines(profile, options, &source)?;
    let [times, value] = source.names();
    let mut report = Report::new(out, "line", &[times.to_owned(), value.to_owned()])?;
    for row in rows.iter().take(options.limit.unwrap_or(usize::MAX)) {
        report.row(|object| {
            object.names(profile, row.method)?;
            object.text("source", profile.str(profile.method(row.method).source))?;
            object.int("line", row.line)?;
            object.int(times, row.times)?;
            object.int(value, row.value)
        })?;
    }
    Ok(report.finish()?)
}

pub(crate) fn text(
    profile: &Profile,
    options: &Options,
    selection: &Selection,
    style: &Style,
) -> Result<String, ReportError> {
    let source = source(profile, selection)?;
    let rows = lines(profile, options, &source)?;
    let limit = options.limit.unwrap_or(LIMIT);
    let sum = match source {
        Source::Blocks => rows.iter().fold(0u64, |sum, row| sum.saturating_add(row.value)),
        Source::Samples(metric) => metric.total(),
    };
    let [times, value] = source.names();
    let mut table = Table::new(style, vec![times.to_owned(), value.to_owned(), String::new()], "line");
    let worth = |row: &&LineRow| share(row.value, sum) >= selection.min;
    for row in rows.iter().take(limit).filter(worth) {
        let method = profile.method(row.method);
        let place = match (profile.str(method.source), row.line) {
            (_, 0) => "(no line)".to_owned(),
            ("", line) => format!("line {line}"),
            (source, line) => format!("{}:{line}", printable(source)),
        };
        let mut name = Name::method(profile, row.method);
        name.lead = format!("{place}  ");
        let (shown, part) = match source {
            Source::Blocks => (grouped(row.value), percent(row.value, sum)),
            Source::Samples(metric) => {
                (in_unit(row.value, &metric.spec().unit), percent_of(row.value, sum, metric.spec()))
            }
        };
        table.row(vec![grouped(row.times), shown, part], share(row.value, sum), name);
    }
    table.rest(rows.iter().skip(limit).map(|row| row.value), sum, value);
    Ok(table.render_methods(profile))
}
