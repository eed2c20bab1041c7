//! Call sites: what was done on behalf of one place in the code, whoever was called from it.

use crate::columns::{Columns, Selection};
use crate::json::Report;
use crate::number::{grouped, percent, share};
use crate::pattern;
use crate::style::Style;
use crate::table::{Name, Table, printable};
use crate::{Options, ReportError};
use quipu_profile::{MethodId, Metric, NO_METHOD, NodeId, Profile, Totals};
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
    let wanted = match &options.filter {
        None => vec![true; profile.methods().len()],
        Some(filter) => pattern::methods(profile, filter)?,
    };
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
    let of_node: Vec<u32> =
        (0..tree.len()).map(|node| place(node).map_or(u32::MAX, |place| index[&place])).collect();
    let columns = selection.columns(profile, |metric| totals(profile, metric, &of_node, places.len()));
    let values = &columns.main().values;
    let mut rows: Vec<usize> = (0..places.len()).filter(|&row| columns.any(row)).collect();
    rows.sort_by_key(|&row| std::cmp::Reverse((values.total[row], values.own[row])));
    Ok(Sites { places, columns, rows })
}

/// `own` is what the callees did themselves, `total` includes what they called; nested calls from one site count once.
fn totals(profile: &Profile, metric: &Metric, of_node: &[u32], sites: usize) -> Totals {
    let aggregation = metric.spec().aggregation;
    let inclusive = profile.inclusive(metric);
    let mut totals = Totals { own: vec![0; sites], total: vec![0; sites] };
    let mut until: Vec<NodeId> = vec![0; sites];
    for (node, &site) in of_node.iter().enumerate().filter(|(_, site)| **site != u32::MAX) {
        let site = site as usize;
        totals.own[site] = aggregation.combine(totals.own[site], metric.values()[node]);
        if node as NodeId >= until[site] {
            until[site] = profile.tree().end(node as NodeId);
            totals.total[site] = aggregation.combine(totals.total[site], inclusive[node]);
        }
    }
    totals
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
    let mut table = Table::new(style, sites.columns.headers(), "call site");
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
    if sites.rows.len() > limit {
        let rest =
            sites.rows[limit..].iter().fold(0u64, |sum, &row| sum.saturating_add(main.values.own[row]));
        let more = grouped((sites.rows.len() - limit) as u64);
        table.note(format!("{} {more} more with {} itself", style.dots(), percent(rest, main.sum)));
    }
    Ok(table.render())
}
