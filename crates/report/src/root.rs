//! Roots: how often each was executed to its end, and how long that took.
//!
//! Executions are known by the range of times that they are in, with their number and their sum. What is said of one of them is the
//! mean of its range, which is a 32nd of its times wide at the most.

use crate::json::Report;
use crate::number::{grouped, in_unit};
use crate::signature::Detail;
use crate::style::Style;
use crate::table::{printable, shorten};
use crate::{Options, ReportError, pattern};
use quipu_profile::{MethodId, NO_METHOD, NO_NODE, Profile, Unit};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

const LIMIT: usize = 30;
/// What leaves are called that have executions.
const LEAF: &str = "[took]";

/// So many of a thousand executions are not longer.
const PERCENTILES: [(&str, u64); 4] = [("p50", 500), ("p90", 900), ("p99", 990), ("p99.9", 999)];

/// A root, wherever it was called.
struct Row {
    method: MethodId,
    name: String,
    /// By the shortest time of the range: how many executions, and what they took in all.
    ranges: BTreeMap<u64, (u64, u64)>,
}

impl Row {
    fn executions(&self) -> u64 {
        self.ranges.values().map(|(count, _)| count).sum()
    }

    fn total(&self) -> u64 {
        self.ranges.values().fold(0, |sum, (_, total)| sum.saturating_add(*total))
    }

    /// The shortest of those that so many of a thousand are not longer than.
    fn percentile(&self, permille: u64) -> u64 {
        let wanted = u128::from(self.executions()) * u128::from(permille);
        let wanted = u64::try_from(wanted.div_ceil(1000)).unwrap_or(u64::MAX).max(1);
        let mut seen = 0;
        let found = self.ranges.values().find(|(count, _)| {
            seen += count;
            seen >= wanted
        });
        found.map_or(0, |(count, total)| total / count)
    }
}

fn rows(profile: &Profile, options: &Options) -> Result<Vec<Row>, ReportError> {
    let values = |name: &str| profile.metric(name).map(|metric| metric.values());
    let (Some(counts), Some(times)) = (values("executions"), values("time.gross")) else {
        return Err(ReportError::Nothing { what: "root", kind: "--root" });
    };
    let tree = profile.tree();
    let mut ranges: BTreeMap<MethodId, BTreeMap<u64, (u64, u64)>> = BTreeMap::new();
    for (node, &method) in tree.methods().iter().enumerate().filter(|(_, method)| **method != NO_METHOD) {
        let detail = profile.method(method);
        let root = Some(tree.parents()[node])
            .filter(|&parent| parent != NO_NODE)
            .and_then(|parent| tree.method(parent));
        let shortest = profile.str(detail.class).strip_suffix(" ns").and_then(|nanos| nanos.parse().ok());
        let is_leaf = detail.is_detail() && profile.str(detail.name) == LEAF && counts[node] > 0;
        if let (true, Some(root), Some(shortest)) = (is_leaf, root, shortest) {
            let (count, total) = ranges.entry(root).or_default().entry(shortest).or_default();
            (*count, *total) = (count.saturating_add(counts[node]), total.saturating_add(times[node]));
        }
    }
    let row = |(method, ranges)| Row { method, name: profile.method_name(method), ranges };
    let mut rows: Vec<Row> = ranges.into_iter().map(row).collect();
    if let Some(filter) = &options.filter {
        let names: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
        rows.retain(|row| pattern::wants(filter, &row.name));
        if rows.is_empty() {
            return Err(ReportError::unknown("root", filter, names.iter().map(String::as_str)));
        }
    }
    tell_apart(profile, &mut rows);
    rows.sort_by(|a, b| (b.total(), &a.name).cmp(&(a.total(), &b.name)));
    Ok(rows)
}

/// Adds to the names of methods that are called alike what they differ in.
fn tell_apart(profile: &Profile, rows: &mut [Row]) {
    for detail in Detail::ALL {
        let mut known: BTreeMap<String, u32> = BTreeMap::new();
        for row in rows.iter() {
            *known.entry(row.name.clone()).or_default() += 1;
        }
        for row in rows.iter_mut().filter(|row| known.get(&row.name).is_some_and(|&alike| alike > 1)) {
            row.name.push_str(&detail.of(profile, row.method));
        }
    }
}

pub(crate) fn json(profile: &Profile, options: &Options, out: &mut dyn io::Write) -> Result<(), ReportError> {
    let rows = rows(profile, options)?;
    let mut report = Report::new(out, "root", &["executions".to_owned(), "time.gross".to_owned()])?;
    for row in rows.iter().take(options.limit.unwrap_or(usize::MAX)) {
        report.row(|object| {
            object.names(profile, row.method)?;
            object.int("executions", row.executions())?;
            object.int("time.gross", row.total())?;
            object.int("min", row.percentile(0))?;
            for (name, permille) in PERCENTILES {
                object.int(name, row.percentile(permille))?;
            }
            object.int("max", row.percentile(1000))?;
            object.objects("histogram", &row.ranges, |range, (&from, &(count, _))| {
                range.int("from", from)?;
                range.int("count", count)
            })
        })?;
    }
    Ok(report.finish()?)
}

pub(crate) fn text(profile: &Profile, options: &Options, style: &Style) -> Result<String, ReportError> {
    let rows = rows(profile, options)?;
    let limit = options.limit.unwrap_or(LIMIT);
    let time = |nanos| in_unit(nanos, &Unit::Nanoseconds);
    let columns = |numbers: [&str; 8]| {
        let mut text = format!("{:>10}", numbers[0]);
        numbers[1..].iter().for_each(|number| {
            let _ = write!(text, " {number:>9}");
        });
        text
    };
    let header = columns(["executions", "gross", "min", "p50", "p90", "p99", "p99.9", "max"]);
    let width = style.width.unwrap_or(usize::MAX);
    let shown = rows.get(..limit).unwrap_or(&rows);
    // Names that do not fit behind the numbers stand above them.
    let room = width.saturating_sub(header.len() + 2);
    let beside = shown.iter().all(|row| printable(&row.name).chars().count() <= room);
    let mut out = if beside { format!("{header}  root\n") } else { format!("{header}\n") };
    for row in shown {
        let [p50, p90, p99, p999] = PERCENTILES.map(|(_, permille)| time(row.percentile(permille)));
        let (min, max) = (time(row.percentile(0)), time(row.percentile(1000)));
        let (executions, total) = (grouped(row.executions()), time(row.total()));
        let numbers = columns([&executions, &total, &min, &p50, &p90, &p99, &p999, &max]);
        let name = shorten(&printable(&row.name), if beside { room } else { width }, style.dots());
        let _ = if beside { writeln!(out, "{numbers}  {name}") } else { writeln!(out, "{name}\n{numbers}") };
    }
    if rows.len() > limit {
        let _ = writeln!(out, "... {} rows more", rows.len() - limit);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::{Row, tell_apart};
    use quipu_profile::{Builder, MethodSpec, MetricSpec, ThreadSpec, UNKNOWN_SITE};
    use std::collections::BTreeMap;

    #[test]
    fn overloads_are_told_apart() {
        let mut builder = Builder::new();
        let calls = builder.metric(MetricSpec::calls());
        let thread = builder.thread(ThreadSpec { name: "main", ..ThreadSpec::default() });
        for (name, descriptor) in [("place", "(I)V"), ("place", "(Ljava/lang/String;)V"), ("cancel", "()V")] {
            let spec = MethodSpec { class: "Orders", name, descriptor, ..MethodSpec::default() };
            let method = builder.method(spec);
            let node = builder.child(builder.root(thread), method, UNKNOWN_SITE);
            builder.add(node, calls, 1);
        }
        let profile = builder.finish();
        let row = |method| Row { method, name: profile.method_name(method), ranges: BTreeMap::new() };
        let mut rows: Vec<Row> = (0..profile.methods().len() as u32).map(row).collect();
        tell_apart(&profile, &mut rows);
        let mut names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["Orders.cancel", "Orders.place(String)", "Orders.place(int)"]);
    }

    #[test]
    fn percentiles_are_means_of_ranges() {
        let ranges = [(0, (1, 0)), (64, (89, 89 * 65)), (1024, (9, 9 * 1030)), (4096, (1, 4100))]
            .into_iter()
            .collect();
        let row = Row { method: 0, name: String::new(), ranges };
        assert_eq!((row.executions(), row.total()), (100, 89 * 65 + 9 * 1030 + 4100));
        let found = [0, 500, 900, 901, 990, 999, 1000].map(|permille| row.percentile(permille));
        assert_eq!(found, [0, 65, 65, 1030, 1030, 4100, 4100]);
    }
}
