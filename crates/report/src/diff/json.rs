//! Diffs for programs.

use super::{DiffOptions, by_name, changed, compare};
use crate::json::{Object, Report};
use crate::{ReportError, pattern};
use quipu_profile::{By, Change, Diff, MethodId, Profile};
use std::io;

/// Changed keys as rows, then what moved as rows with `"change":"moved"`, `from` and `to`.
pub fn diff_json(a: &Profile, b: &Profile, options: &DiffOptions) -> Result<String, ReportError> {
    let (found, metric) = compare(a, b, options)?;
    if options.contexts {
        return contexts_json(&found, &metric, options);
    }
    let both = &found.aligned.both;
    let mut out = Vec::new();
    let mut report =
        Report::new(&mut out as &mut dyn io::Write, by_name(options.by), std::slice::from_ref(&metric))?;
    let limit = options.limit.unwrap_or(usize::MAX);
    for row in changed(&found).take(limit) {
        report.row(|object| {
            match options.by {
                By::Method => object.names(both, row.key)?,
                _ => object.text(by_name(options.by), &found.names[row.key as usize])?,
            }
            object.text("change", row.change.as_str())?;
            values(object, &metric, row.own, row.total)?;
            // Infinite for exact counts, which JSON cannot say: null means beyond doubt.
            object.float("sigmas", Some(row.significance.sigmas))
        })?;
    }
    if options.by == By::Method {
        for moved in found.moved.iter().take(limit) {
            report.row(|object| {
                object.names(both, moved.method)?;
                object.text("change", Change::Moved.as_str())?;
                object.method("from", both, moved.from)?;
                object.method("to", both, moved.to)?;
                object.int("weight", moved.weight)
            })?;
        }
    }
    report.finish()?;
    Ok(String::from_utf8(out).expect("JSON is UTF-8"))
}

/// Self and total, each before and after.
fn values(object: &mut Object<'_, '_>, metric: &str, own: [u64; 2], total: [u64; 2]) -> io::Result<()> {
    object.object(metric, |object| {
        for (key, [before, after]) in [("self", own), ("total", total)] {
            object.object(key, |pair| {
                pair.int("before", before)?;
                pair.int("after", after)
            })?;
        }
        Ok(())
    })
}

/// Contexts that changed as rows, with their whole path, outermost first.
fn contexts_json(found: &Diff, metric: &str, options: &DiffOptions) -> Result<String, ReportError> {
    let both = &found.aligned.both;
    let mut out = Vec::new();
    let mut report = Report::new(&mut out as &mut dyn io::Write, "context", &[metric.to_owned()])?;
    let wanted = |method: MethodId| {
        options.filter.as_ref().is_none_or(|filter| pattern::wants(filter, &both.method_name(method)))
    };
    let method = |node: u32| both.tree().methods()[node as usize];
    let rows = found.contexts();
    let rows = rows.iter().filter(|row| wanted(method(row.node)));
    for row in rows.take(options.limit.unwrap_or(usize::MAX)) {
        report.row(|object| {
            object.names(both, method(row.node))?;
            let path = both.tree().path(row.node);
            object.strings("path", path.iter().map(|&node| both.method_name(method(node))))?;
            object.text("change", row.change.as_str())?;
            values(object, metric, row.own, row.total)?;
            object.float("sigmas", Some(row.significance.sigmas))
        })?;
    }
    report.finish()?;
    Ok(String::from_utf8(out).expect("JSON is UTF-8"))
}
