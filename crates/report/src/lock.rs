//! Locks: how often and how long threads waited for each, where, and where it was held meanwhile.

use crate::json::Report;
use crate::number::{grouped, in_unit};
use crate::style::Style;
use crate::table::printable;
use crate::{Options, ReportError, pattern};
use quipu_profile::{NO_METHOD, NO_NODE, NodeId, Profile, StrId, Unit};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

const LIMIT: usize = 30;

/// One lock, or all of a class that were too many to tell apart.
struct Row {
    class: StrId,
    /// Its identity, as `@hash`; empty if it has none.
    identity: StrId,
    count: u64,
    total: u64,
    longest: u64,
    /// Of a hundred waits, the one that is longer than all but one.
    p99: u64,
    waiter: Option<String>,
    holder: Option<String>,
}

fn rows(profile: &Profile, options: &Options) -> Result<Vec<Row>, ReportError> {
    let nothing = || ReportError::Nothing { what: "lock", kind: "--locks" };
    let time = profile.metric("lock.time").ok_or_else(nothing)?;
    let values = |name: &str| profile.metric(name).map(|metric| metric.values());
    let (counts, blocked) = (values("lock.count"), values("lock.blocked"));
    let tree = profile.tree();
    let mut nodes: BTreeMap<(StrId, StrId), Vec<NodeId>> = BTreeMap::new();
    for (node, &method) in (0..).zip(tree.methods()).filter(|(_, method)| **method != NO_METHOD) {
        let method = profile.method(method);
        if method.is_detail() && profile.str(method.name) == "[lock]" {
            nodes.entry((method.class, method.descriptor)).or_default().push(node);
        }
    }
    let mut waits: BTreeMap<NodeId, Vec<u64>> = BTreeMap::new();
    let metric = profile.metric_id("lock.time");
    for sample in profile.samples().iter().filter(|sample| Some(sample.metric) == metric) {
        waits.entry(sample.node).or_default().push(sample.value);
    }
    let wanted = |class: StrId| {
        options.filter.as_ref().is_none_or(|filter| pattern::wants(filter, profile.str(class)))
    };
    let row = |(&(class, identity), nodes): (&(StrId, StrId), &Vec<NodeId>)| {
        let sum = |values: &[u64]| nodes.iter().map(|&node| values[node as usize]).sum::<u64>();
        let mut lengths: Vec<u64> =
            nodes.iter().filter_map(|node| waits.get(node)).flatten().copied().collect();
        lengths.sort_unstable();
        let p99 = lengths.get((lengths.len() * 99).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0);
        Row {
            class,
            identity,
            count: counts.map_or(0, sum),
            total: sum(time.values()),
            longest: lengths.last().copied().unwrap_or(0),
            p99,
            waiter: heaviest(profile, nodes, time.values()),
            holder: blocked.and_then(|blocked| heaviest(profile, nodes, blocked)),
        }
    };
    let mut rows: Vec<Row> = nodes.iter().filter(|((class, _), _)| wanted(*class)).map(row).collect();
    rows.retain(|row| row.count > 0);
    rows.sort_by_key(|row| std::cmp::Reverse(row.total));
    if rows.is_empty() && options.filter.is_some() {
        let names: Vec<&str> = nodes.keys().map(|(class, _)| profile.str(*class)).collect();
        let filter = options.filter.as_deref().unwrap_or_default();
        return Err(ReportError::unknown("lock", filter, names.iter().copied()));
    }
    Ok(rows)
}

/// The method where most is, and the first one above it that is not the JDK's.
fn heaviest(profile: &Profile, nodes: &[NodeId], values: &[u64]) -> Option<String> {
    let tree = profile.tree();
    let mut by_method: BTreeMap<u32, u64> = BTreeMap::new();
    for &node in nodes.iter().filter(|&&node| values[node as usize] > 0) {
        let mut at = tree.parents()[node as usize];
        let mut found = None;
        while at != NO_NODE && tree.methods()[at as usize] != NO_METHOD {
            let method = tree.methods()[at as usize];
            found = found.or(Some(method));
            let class = profile.str(profile.method(method).class);
            if !["java.", "jdk.", "sun."].iter().any(|package| class.starts_with(package)) {
                found = Some(method);
                break;
            }
            at = tree.parents()[at as usize];
        }
        *by_method.entry(found?).or_default() += values[node as usize];
    }
    let (&method, _) = by_method.iter().max_by_key(|(_, value)| **value)?;
    Some(profile.method_name(method))
}

pub(crate) fn json(profile: &Profile, options: &Options, out: &mut dyn io::Write) -> Result<(), ReportError> {
    let rows = rows(profile, options)?;
    let mut report = Report::new(out, "lock", &["lock.count".to_owned(), "lock.time".to_owned()])?;
    for row in rows.iter().take(options.limit.unwrap_or(usize::MAX)) {
        report.row(|object| {
            object.text("class", profile.str(row.class))?;
            object.text("identity", profile.str(row.identity))?;
            object.int("lock.count", row.count)?;
            object.int("lock.time", row.total)?;
            object.int("max", row.longest)?;
            object.int("p99", row.p99)?;
            for (key, method) in [("waiter", &row.waiter), ("holder", &row.holder)] {
                match method {
                    Some(method) => object.text(key, method)?,
                    None => object.null(key)?,
                }
            }
            Ok(())
        })?;
    }
    Ok(report.finish()?)
}

pub(crate) fn text(profile: &Profile, options: &Options, style: &Style) -> Result<String, ReportError> {
    let rows = rows(profile, options)?;
    let limit = options.limit.unwrap_or(LIMIT);
    let time = |nanos| in_unit(nanos, &Unit::Nanoseconds);
    let mut out = String::new();
    let _ = writeln!(out, "{:>10} {:>9} {:>10} {:>10}  lock", "lock.time", "count", "max", "p99");
    let mut line = |text: &str| {
        out.extend(printable(text).chars().take(style.width.unwrap_or(usize::MAX)));
        out.push('\n');
    };
    for row in rows.iter().take(limit) {
        let (class, identity) = (profile.str(row.class), profile.str(row.identity));
        let numbers = format!(
            "{:>10} {:>9} {:>10} {:>10}",
            time(row.total),
            grouped(row.count),
            time(row.longest),
            time(row.p99)
        );
        line(&format!("{numbers}  {class}{identity}"));
        for (words, method) in [("waited for in", &row.waiter), ("held in", &row.holder)] {
            if let Some(method) = method {
                line(&format!("{:42}  {words} {method}", ""));
            }
        }
    }
    if rows.len() > limit {
        line(&format!("... {} locks more", rows.len() - limit));
    }
    Ok(out)
}
