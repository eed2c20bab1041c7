//! Source lines, from the counts of the blocks that start on them.

use crate::json::Report;
use crate::number::{grouped, percent, share};
use crate::pattern;
use crate::style::Style;
use crate::table::{Name, Table, printable};
use crate::{Options, ReportError};
use quipu_profile::{MethodId, Profile};
use std::collections::BTreeMap;
use std::io;

const LIMIT: usize = 30;

/// One line of one method.
struct LineRow {
    method: MethodId,
    /// 0 when the method has no line table.
    line: u32,
    /// How often the line was entered: the count of its busiest block.
    executions: u64,
    bytecodes: u64,
}

/// Lines by bytecodes, most first.
fn lines(profile: &Profile, options: &Options) -> Result<Vec<LineRow>, ReportError> {
    let wanted = pattern::wanted(profile, options)?;
    if profile.methods().iter().all(|method| method.blocks.is_empty()) {
        return Err(ReportError::NoBlocks);
    }
    let mut rows = Vec::new();
    for (id, method) in profile.methods().iter().enumerate().filter(|&(id, _)| wanted[id]) {
        let mut by_line: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for block in &method.blocks {
            let slot = by_line.entry(method.line_at(block.bci).unwrap_or(0)).or_default();
            slot.0 = slot.0.max(block.count);
            slot.1 = slot.1.saturating_add(block.count.saturating_mul(u64::from(block.instructions)));
        }
        let row =
            |(line, (executions, bytecodes))| LineRow { method: id as MethodId, line, executions, bytecodes };
        rows.extend(by_line.into_iter().map(row));
    }
    rows.sort_by_key(|row| (std::cmp::Reverse((row.bytecodes, row.executions)), row.method, row.line));
    Ok(rows)
}

pub(crate) fn json(profile: &Profile, options: &Options, out: &mut dyn io::Write) -> Result<(), ReportError> {
    let rows = lines(profile, options)?;
    let mut report = Report::new(out, "line", &["executions".to_owned(), "bytecodes".to_owned()])?;
    for row in rows.iter().take(options.limit.unwrap_or(usize::MAX)) {
        report.row(|object| {
            object.names(profile, row.method)?;
            object.text("source", profile.str(profile.method(row.method).source))?;
            object.int("line", row.line)?;
            object.int("executions", row.executions)?;
            object.int("bytecodes", row.bytecodes)
        })?;
    }
    Ok(report.finish()?)
}

pub(crate) fn text(profile: &Profile, options: &Options, style: &Style) -> Result<String, ReportError> {
    let rows = lines(profile, options)?;
    let limit = options.limit.unwrap_or(LIMIT);
    let sum = rows.iter().fold(0u64, |sum, row| sum.saturating_add(row.bytecodes));
    let headers = ["executions", "bytecodes", ""].map(str::to_owned).to_vec();
    let mut table = Table::new(style, headers, "line");
    for row in rows.iter().take(limit) {
        let method = profile.method(row.method);
        let place = match (profile.str(method.source), row.line) {
            (_, 0) => "(no line)".to_owned(),
            ("", line) => format!("line {line}"),
            (source, line) => format!("{}:{line}", printable(source)),
        };
        let mut name = Name::method(profile, row.method);
        name.lead = format!("{place}  ");
        let cells = vec![grouped(row.executions), grouped(row.bytecodes), percent(row.bytecodes, sum)];
        table.row(cells, share(row.bytecodes, sum), name);
    }
    table.rest(rows.iter().skip(limit).map(|row| row.bytecodes), sum, "bytecodes");
    Ok(table.render_methods(profile))
}
