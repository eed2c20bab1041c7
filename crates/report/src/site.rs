//! Call sites: what was done on behalf of one place in the code, whoever was called from it.

use crate::columns::{Columns, Selection};
use crate::json::Report;
use crate::number::share;
use crate::pattern;
use crate::style::Style;
use crate::table::{Name, Table, printable};
use crate::{Options, ReportError};
use quipu_profile::{MethodId, Metric, NO_METHOD, NodeId, Profile, StrId, Totals, UNKNOWN_SITE};
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
    if of_allocations(profile, options)? {
        return allocations_json(profile, options, selection, out);
    }
    let sites = sites(profile, options, selection)?;
    let mut report = Report::new(out, "site", &selection.names(profile))?;
    for &row in sites.rows.iter().take(options.limit.unwrap_or(usize::MAX)) {
        let (method, bci) = sites.places[row];
        report.row(|object| {
            object.names(profile, method)?;
            object.text("source", profile.str(profile.method(method).source))?;
            object.int("bci", bci)?;
            match line(profile, method, bci) {
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
    if of_allocations(profile, options)? {
        return allocations_text(profile, options, selection, style);
    }
    let sites = sites(profile, options, selection)?;
    let limit = options.limit.unwrap_or(LIMIT);
    let main = sites.columns.main();
    let mut table = Table::new(style, sites.columns.headers(), "call site").counting(sites.columns.unit());
    for &row in sites.rows.iter().take(limit) {
        let (method, bci) = sites.places[row];
        let mut name = Name::method(profile, method);
        name.suffix = place(profile, method, bci);
        table.row(sites.columns.cells(row), share(main.values.total[row], main.sum), name);
    }
    table.rest(sites.rows.iter().skip(limit).map(|&row| main.values.own[row]), main.sum, &main.spec.name);
    Ok(table.render_methods(profile))
}

fn line(profile: &Profile, method: MethodId, bci: i32) -> Option<u32> {
    u32::try_from(bci).ok().and_then(|bci| profile.method(method).line_at(bci))
}

/// A place in a method: ` Foo.java:12 @7`.
fn place(profile: &Profile, method: MethodId, bci: i32) -> String {
    match (bci, line(profile, method, bci)) {
        (..0, _) => " (site unknown)".to_owned(),
        (bci, Some(line)) => {
            format!("  {}:{line} @{bci}", printable(profile.str(profile.method(method).source)))
        }
        (bci, None) => format!(" @{bci}"),
    }
}

/// Whether a metric is of objects that were made.
pub(crate) fn is_of_allocations(metric: &Metric) -> bool {
    ["alloc.", "live."].iter().any(|kind| metric.name().starts_with(kind))
}

/// Whether sites are those of instructions that make objects: if such a metric is asked for, or nothing else has sites.
pub(crate) fn of_allocations(profile: &Profile, options: &Options) -> Result<bool, ReportError> {
    let main = Selection::new(profile, options)?;
    let any = profile.metrics().iter().any(is_of_allocations);
    Ok(is_of_allocations(main.main(profile)) || (!main.chosen && any && !profile.has_sites()))
}

/// Instructions that make objects: the class of the objects, and where it was.
struct Allocations {
    places: Vec<(StrId, MethodId, i32)>,
    /// Of the places, and behind them of the methods, as far as their places are shown.
    columns: Columns,
    /// Places to show, heaviest first.
    rows: Vec<usize>,
    /// The same by method, the heaviest first: the row of the method, and its places.
    by_method: Vec<(usize, Vec<usize>)>,
}

fn allocations(
    profile: &Profile,
    options: &Options,
    selection: &Selection,
) -> Result<Allocations, ReportError> {
    let tree = profile.tree();
    // A leaf that says what was made, and the method above it that made it.
    let made = |node: NodeId| {
        let class = tree.method(node).map(|method| profile.method(method))?;
        let is_class = class.is_detail() && profile.str(class.name) == "[allocated]";
        let method = *tree.methods().get(*tree.parents().get(node as usize)? as usize)?;
        (is_class && method != NO_METHOD).then_some((class.class, method))
    };
    let at = |node: NodeId, bci: i32| made(node).map(|(class, method)| (class, method, bci));
    // Samples say where their method was; of what was counted, the leaf does.
    let samples = profile.samples().iter();
    let sampled =
        samples.filter_map(|sample| at(sample.node, i32::try_from(sample.bci).unwrap_or(UNKNOWN_SITE)));
    let counted = (0..tree.len()).filter_map(|node| at(node as NodeId, tree.sites()[node]));
    let mut places: Vec<_> = sampled.chain(counted).collect();
    places.sort_unstable();
    places.dedup();
    if places.is_empty() {
        return Err(ReportError::Nothing { what: "site", kind: "--alloc" });
    }
    let index: FxHashMap<_, usize> = places.iter().enumerate().map(|(at, &place)| (place, at)).collect();
    let name = |row: usize| {
        let (class, method, _) = places[row];
        [profile.str(class).to_owned(), profile.method_name(method)]
    };
    let is_wanted = |row: usize| match &options.filter {
        None => true,
        Some(filter) => name(row).iter().any(|name| pattern::wants(filter, name)),
    };
    let wanted: Vec<bool> = (0..places.len()).map(is_wanted).collect();
    if let (false, Some(filter)) = (wanted.contains(&true), &options.filter) {
        let names: Vec<String> = (0..places.len()).flat_map(name).collect();
        return Err(ReportError::unknown("class or method", filter, names.iter().map(String::as_str)));
    }
    let mut methods: Vec<MethodId> = places.iter().map(|&(_, method, _)| method).collect();
    methods.sort_unstable();
    methods.dedup();
    let method_row =
        |row: usize| places.len() + methods.binary_search(&places[row].1).expect("it is one of theirs");
    let columns = selection.columns(profile, |metric| {
        let mut own = vec![0u64; places.len() + methods.len()];
        let mut add = |place: Option<(StrId, MethodId, i32)>, value: u64| {
            let Some(&row) = place.and_then(|place| index.get(&place)) else { return };
            own[row] = own[row].saturating_add(value);
            if wanted[row] {
                let whole = &mut own[method_row(row)];
                *whole = whole.saturating_add(value);
            }
        };
        let id = profile.metric_id(metric.name());
        let mut rest = metric.values().to_vec();
        for sample in profile.samples().iter().filter(|sample| Some(sample.metric) == id) {
            add(at(sample.node, i32::try_from(sample.bci).unwrap_or(UNKNOWN_SITE)), sample.value);
            let slot = &mut rest[sample.node as usize];
            *slot = slot.saturating_sub(sample.value);
        }
        for (node, value) in rest.into_iter().enumerate().filter(|(_, value)| *value > 0) {
            add(at(node as NodeId, tree.sites()[node]), value);
        }
        Totals { total: own.clone(), own }
    });
    let rows = columns.ranked((0..places.len()).filter(|&row| wanted[row] && columns.worth(row)));
    let mut by_method: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for &row in &rows {
        by_method.entry(method_row(row)).or_default().push(row);
    }
    let whole = (0..methods.len()).map(|method| places.len() + method);
    let whole = columns.ranked(whole.filter(|row| by_method.contains_key(row)));
    let by_method = whole.into_iter().map(|row| (row, by_method.remove(&row).unwrap_or_default())).collect();
    Ok(Allocations { places, columns, rows, by_method })
}

fn allocations_json(
    profile: &Profile,
    options: &Options,
    selection: &Selection,
    out: &mut dyn io::Write,
) -> Result<(), ReportError> {
    let found = allocations(profile, options, selection)?;
    let mut report = Report::new(out, "site", &selection.names(profile))?;
    for &row in found.rows.iter().take(options.limit.unwrap_or(usize::MAX)) {
        let (class, method, bci) = found.places[row];
        report.row(|object| {
            object.text("allocated", profile.str(class))?;
            object.names(profile, method)?;
            object.text("source", profile.str(profile.method(method).source))?;
            object.int("bci", bci)?;
            match line(profile, method, bci) {
                Some(line) => object.int("line", line)?,
                None => object.null("line")?,
            }
            object.own_metrics(&found.columns, row)
        })?;
    }
    Ok(report.finish()?)
}

fn allocations_text(
    profile: &Profile,
    options: &Options,
    selection: &Selection,
    style: &Style,
) -> Result<String, ReportError> {
    let found = allocations(profile, options, selection)?;
    let limit = options.limit.unwrap_or(LIMIT);
    let main = found.columns.main();
    let headers = found.columns.own_headers();
    let mut table = Table::new(style, headers, "class, and where it is made");
    let mut left = limit;
    let mut rest = Vec::new();
    for (whole, rows) in &found.by_method {
        // A method that makes several things has a row of its own, and they are below it.
        let alone = rows.len() == 1;
        if !alone {
            if left < 2 {
                left = 0;
            } else {
                let method = found.places[rows[0]].1;
                let part = share(main.values.own[*whole], main.sum);
                table.row(found.columns.own_cells(*whole), part, Name::method(profile, method));
                left -= 1;
            }
        }
        for &row in rows {
            if left == 0 {
                rest.push(main.values.own[row]);
                continue;
            }
            left -= 1;
            let (class, method, bci) = found.places[row];
            let class = printable(profile.str(class));
            let place = place(profile, method, bci);
            let name = match alone {
                true => {
                    let mut name = Name::method(profile, method);
                    (name.lead, name.suffix) = (format!("{class}  "), place);
                    name
                }
                false => Name::plain(format!("  {class}{place}")),
            };
            table.row(found.columns.own_cells(row), share(main.values.own[row], main.sum), name);
        }
    }
    table.rest(rest.into_iter(), main.sum, &main.spec.name);
    Ok(table.render_methods(profile))
}
