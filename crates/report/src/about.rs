//! What samples were about: classes of objects that were made, or that were touched. One row each.

use crate::columns::{Columns, Selection};
use crate::json::Report;
use crate::number::share;
use crate::pattern;
use crate::style::Style;
use crate::table::{Name, Table, printable};
use crate::{By, Options, ReportError};
use quipu_profile::{Metric, NO_METHOD, Profile};
use std::collections::BTreeMap;
use std::io;

const LIMIT: usize = 30;

struct About {
    names: Vec<String>,
    columns: Columns,
    /// Rows to show, heaviest first.
    rows: Vec<usize>,
}

/// How details of this report are called in profiles, and what to ask for to get them.
fn word(by: By) -> (&'static str, &'static str) {
    match by {
        By::Object => ("[object]", "--event page-faults"),
        _ => ("[allocated]", "--alloc"),
    }
}

fn about(profile: &Profile, options: &Options, selection: &Selection) -> Result<About, ReportError> {
    let (word, kind) = word(options.by);
    let mut rows: BTreeMap<&str, u32> = BTreeMap::new();
    let details =
        profile.methods().iter().map(|method| method.is_detail() && profile.str(method.name) == word);
    let details: Vec<bool> = details.collect();
    for (method, _) in profile.methods().iter().zip(&details).filter(|(_, detail)| **detail) {
        rows.insert(profile.str(method.class), 0);
    }
    if rows.is_empty() {
        return Err(ReportError::Nothing { what: options.by.as_str(), kind });
    }
    (0..).zip(rows.values_mut()).for_each(|(row, slot)| *slot = row);
    let names: Vec<String> = rows.keys().map(|&name| name.to_owned()).collect();
    let row_of = |method: usize| details[method].then(|| rows[profile.str(profile.methods()[method].class)]);
    let of_method: Vec<Option<u32>> = (0..details.len()).map(row_of).collect();
    let of_node = |node: usize| match profile.tree().methods()[node] {
        NO_METHOD => None,
        method => of_method[method as usize],
    };
    let columns =
        selection.columns(profile, |metric: &Metric| profile.totals_by(metric, of_node, names.len()));
    let wanted: Vec<bool> = match &options.filter {
        None => vec![true; names.len()],
        Some(filter) => names.iter().map(|name| pattern::wants(filter, name)).collect(),
    };
    if !wanted.contains(&true) {
        let filter = options.filter.as_deref().unwrap_or_default();
        return Err(ReportError::unknown("class", filter, names.iter().map(String::as_str)));
    }
    let shown = columns.ranked((0..names.len()).filter(|&row| wanted[row] && columns.worth(row)));
    Ok(About { names, columns, rows: shown })
}

pub(crate) fn json(
    profile: &Profile,
    options: &Options,
    selection: &Selection,
    out: &mut dyn io::Write,
) -> Result<(), ReportError> {
    let about = about(profile, options, selection)?;
    let mut report = Report::new(out, options.by.as_str(), &selection.names(profile))?;
    for &row in about.rows.iter().take(options.limit.unwrap_or(usize::MAX)) {
        report.row(|object| {
            object.text("class", &about.names[row])?;
            object.own_metrics(&about.columns, row)
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
    let about = about(profile, options, selection)?;
    let limit = options.limit.unwrap_or(LIMIT);
    let main = about.columns.main();
    let mut table = Table::new(style, about.columns.headers(), "class").counting(about.columns.unit());
    for &row in about.rows.iter().take(limit) {
        let name = Name::plain(printable(&about.names[row]));
        table.row(about.columns.cells(row), share(main.values.own[row], main.sum), name);
    }
    table.rest(about.rows.iter().skip(limit).map(|&row| main.values.own[row]), main.sum, &main.spec.name);
    Ok(table.render_methods(profile))
}
