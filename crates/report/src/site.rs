//! Call sites: what was done on behalf of one place in the code, whoever was called from it.

use crate::columns::{Columns, Selection};
use crate::json::Report;
use crate::number::share;
use crate::pattern;
use crate::style::Style;
use crate::table::{Name, Table, printable};
use crate::{Options, ReportError};
use quipu_profile::{MethodId, NO_METHOD, Profile};
use rustc_hash::FxHashMap;
use std::io;

const LIMIT: usize = 30;

struct Sites {
    /// (method, bci) by row, sorted.
    places: Vec<(MethodId, i32)>,
    columns: Columns,
    /// Rows to show, heaviest total first.
    rows: Vec<usize>,
}

fn sites(profile: &Profile, options: &Options, selection: &Selection) -> Result<Sites, ReportError> {
    let wanted = pattern::wanted(profile, options)?;
    if !profile.has_sites() {
        return Err(ReportError::NoSites);
    }
    let tree = profile.tree();
    let place = |node: usize| {
        let parent = tree.parents()[node] as usize;
        let caller = *tree.methods().get(parent).unwrap_or(&NO_METHOD);
        (caller != NO_METHOD && wanted[caller as usize]).then(|| (caller, tree.sites()[node]))
    };
    let mut places: Vec<(MethodId, i32)> = (0..tree.len()).filter_map(place).collect();
    places.sort_unstable();
    places.dedup();
    let index: FxHashMap<(MethodId, i32), u32> =
        places.iter().enumerate().map(|(at, &place)| (place, at as u32)).collect();
    // `own` is what the callees did themselves, `total` includes what they called; nested calls from one site count once.
    let site = |node: usize| place(node).map(|place| index[&place]);
    let columns = selection.columns(profile, |metric| profile.totals_by(metric, site, places.len()));
    let values = &columns.main().values;
    let mut rows: Vec<usize> = (0..places.len()).filter(|&row| columns.worth(row)).collect();
    rows.sort_by_key(|&row| std::cmp::Reverse((values.total[row], values.own[row])));
    Ok(Sites { places, columns, rows })
}

pub(crate) fn json(
    profile: &Profile,
    options: &Options,
    selection: &Selection,
    out: &mut dyn io::Write,
) -> Result<(), ReportError> {
    let sites = sites(profile, options, selection)?;
    let mut report = Report::new(out, "site", &selection.names(profile))?;
    for &row in sites.rows.iter().take(options.limit.unwrap_or(usize::MAX)) {
        let (method, bci) = sites.places[row];
        let line = u32::try_from(bci).ok().and_then(|bci| profile.method(method).line_at(bci));
        report.row(|object| {
            object.names(profile, method)?;
            object.text("source", profile.str(profile.method(method).source))?;
            object.int("bci", bci)?;
            match line {
                Some(line) => object.int("line", line)?,
                None => object.null("line")?,
            }
            object.metrics(&sites.columns, row)
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
    let sites = sites(profile, options, selection)?;
    let limit = options.limit.unwrap_or(LIMIT);
    let main = sites.columns.main();
    let mut table = Table::new(style, sites.columns.headers(), "call site").counting(sites.columns.unit());
    for &row in sites.rows.iter().take(limit) {
        let (method, bci) = sites.places[row];
        let mut name = Name::method(profile, method);
        let found = profile.method(method);
        name.suffix = match (bci, u32::try_from(bci).ok().and_then(|bci| found.line_at(bci))) {
            (..0, _) => " (site unknown)".to_owned(),
            (bci, Some(line)) => format!("  {}:{line} @{bci}", printable(profile.str(found.source))),
            (bci, None) => format!(" @{bci}"),
        };
        table.row(sites.columns.cells(row), share(main.values.total[row], main.sum), name);
    }
    table.rest(sites.rows.iter().skip(limit).map(|&row| main.values.own[row]), main.sum, &main.spec.name);
    Ok(table.render_methods(profile))
}
