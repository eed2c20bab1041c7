//! Methods, classes, packages, modules, threads and labels: one row each.

use crate::columns::{Columns, Selection};
use crate::json::Report;
use crate::number::share;
use crate::pattern;
use crate::style::Style;
use crate::table::{Name, Table, printable};
use crate::{By, Options, ReportError};
use quipu_profile::{By as Group, MethodId, Metric, Profile, StrId, Totals};
use std::collections::BTreeSet;
use std::io;

/// Rows of text unless told otherwise.
const LIMIT: usize = 30;

/// The numbers, and the rows to show, heaviest first.
struct Flat {
    names: Vec<String>,
    opaque: Vec<bool>,
    columns: Columns,
    rows: Vec<usize>,
}

fn flat(profile: &Profile, options: &Options, selection: &Selection) -> Result<Flat, ReportError> {
    let group = match options.by {
        By::Thread => return threads(profile, options, selection),
        By::Label => return labels(profile, options, selection),
        By::Class => Group::Class,
        By::Package => Group::Package,
        By::Module => Group::Module,
        _ => Group::Method,
    };
    let keys = profile.keys(group);
    let columns = selection
        .columns(profile, |metric: &Metric| profile.totals(metric, &keys.of_method, keys.names.len()));
    let wanted = match (&options.filter, group) {
        (None, _) => vec![true; keys.names.len()],
        (Some(filter), Group::Method) => pattern::methods(profile, filter)?,
        (Some(filter), _) => filtered(options.by, filter, &keys.names)?,
    };
    let rows = columns.ranked((0..keys.names.len()).filter(|&row| wanted[row] && columns.worth(row)));
    Ok(Flat { names: keys.names, opaque: keys.opaque, columns, rows })
}

fn threads(profile: &Profile, options: &Options, selection: &Selection) -> Result<Flat, ReportError> {
    let names: Vec<String> =
        profile.threads().iter().map(|thread| profile.str(thread.name).to_owned()).collect();
    let columns = selection.columns(profile, |metric| {
        // All a thread did, it did itself.
        let values = profile.totals_by_thread(metric);
        Totals { own: values.clone(), total: values }
    });
    let wanted = match &options.filter {
        None => vec![true; names.len()],
        Some(filter) => filtered(options.by, filter, &names)?,
    };
    let enough = |row: usize| selection.min == 0.0 || columns.worth(row);
    let rows = columns.ranked((0..names.len()).filter(|&row| wanted[row] && enough(row)));
    Ok(Flat { opaque: vec![false; names.len()], names, columns, rows })
}

/// What was done under each label, and under none. What carries several is in the row of each.
fn labels(profile: &Profile, options: &Options, selection: &Selection) -> Result<Flat, ReportError> {
    let threads = profile.threads().iter().flat_map(|thread| &thread.labels);
    let samples = profile.samples().iter().flat_map(|sample| profile.labels(sample.labels));
    let known: Vec<_> = threads.chain(samples).copied().collect::<BTreeSet<_>>().into_iter().collect();
    if known.is_empty() {
        return Err(ReportError::NoLabels);
    }
    let row_of = |label: &(StrId, StrId)| known.binary_search(label).unwrap_or(known.len());
    let mut names: Vec<String> =
        known.iter().map(|&(key, value)| format!("{}={}", profile.str(key), profile.str(value))).collect();
    names.push(String::new());
    let columns = selection.columns(profile, |metric| {
        let mut values = vec![0u64; names.len()];
        let mut add = |of_thread: &[(StrId, StrId)], of_sample: &[(StrId, StrId)], value: u64| {
            if of_thread.is_empty() && of_sample.is_empty() {
                values[known.len()] = values[known.len()].saturating_add(value);
            }
            for label in of_thread.iter().chain(of_sample) {
                let slot = &mut values[row_of(label)];
                *slot = slot.saturating_add(value);
            }
        };
        let id = profile.metric_id(metric.name());
        let mut sampled = vec![0u64; profile.threads().len()];
        for sample in profile.samples().iter().filter(|sample| Some(sample.metric) == id) {
            let thread = sample.thread as usize;
            sampled[thread] = sampled[thread].saturating_add(sample.value);
            add(&profile.threads()[thread].labels, profile.labels(sample.labels), sample.value);
        }
        // What was not sampled, of which only the thread is known.
        for ((thread, all), sampled) in
            profile.threads().iter().zip(profile.totals_by_thread(metric)).zip(sampled)
        {
            add(&thread.labels, &[], all.saturating_sub(sampled));
        }
        Totals { own: values.clone(), total: values }
    });
    let wanted = match &options.filter {
        None => vec![true; names.len()],
        Some(filter) => filtered(options.by, filter, &names)?,
    };
    let rows = columns.ranked((0..names.len()).filter(|&row| wanted[row] && columns.worth(row)));
    Ok(Flat { opaque: vec![false; names.len()], names, columns, rows })
}

fn filtered(by: By, filter: &str, names: &[String]) -> Result<Vec<bool>, ReportError> {
    let wanted: Vec<bool> = names.iter().map(|name| pattern::wants(filter, name)).collect();
    match wanted.contains(&true) {
        true => Ok(wanted),
        false => Err(ReportError::unknown(by.as_str(), filter, names.iter().map(String::as_str))),
    }
}

pub(crate) fn json(
    profile: &Profile,
    options: &Options,
    selection: &Selection,
    out: &mut dyn io::Write,
) -> Result<(), ReportError> {
    let flat = flat(profile, options, selection)?;
    let mut report = Report::new(out, options.by.as_str(), &selection.names(profile))?;
    for &row in flat.rows.iter().take(options.limit.unwrap_or(usize::MAX)) {
        report.row(|object| {
            match options.by {
                By::Class | By::Package | By::Module | By::Label => {
                    object.text(options.by.as_str(), &flat.names[row])?
                }
                By::Thread => {
                    let thread = &profile.threads()[row];
                    object.text("thread", &flat.names[row])?;
                    object.text("group", profile.str(thread.group))?;
                    object.text("kind", thread.kind.as_str())?;
                    object.int("threads", thread.threads)?;
                }
                _ => {
                    object.names(profile, row as MethodId)?;
                    object.bool("opaque", flat.opaque[row])?;
                }
            }
            object.metrics(&flat.columns, row)
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
    let flat = flat(profile, options, selection)?;
    let limit = options.limit.unwrap_or(LIMIT);
    let main = flat.columns.main();
    let mut table =
        Table::new(style, flat.columns.headers(), options.by.as_str()).counting(flat.columns.unit());
    for &row in flat.rows.iter().take(limit) {
        let mut name = match (options.by, flat.names[row].as_str()) {
            (By::Method, _) => Name::method(profile, row as MethodId),
            (By::Module, "") => Name::plain("(not of the JDK)".to_owned()),
            (by, "") => Name::plain(format!("(no {})", by.as_str())),
            (_, name) => Name::plain(printable(name)),
        };
        if let (By::Thread, threads @ (0 | 2..)) =
            (options.by, profile.threads().get(row).map_or(1, |t| t.threads))
        {
            name.suffix = format!(" ({threads} threads)");
        }
        table.row(flat.columns.cells(row), share(main.values.own[row], main.sum), name);
    }
    table.rest(flat.rows.iter().skip(limit).map(|&row| main.values.own[row]), main.sum, &main.spec.name);
    Ok(table.render_methods(profile))
}
