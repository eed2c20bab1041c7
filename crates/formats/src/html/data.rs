//! The page's data: the heaviest part of the tree, and a method table counted over all of it.

use crate::cut::Cut;
use crate::jsontext::{comma, numbers, string, strings};
use crate::{ExportError, Options, names};
use quipu_profile::{
    Aggregation, MethodId, Metric, MetricId, MetricKind, NO_METHOD, NodeId, Profile, StrId, Thread,
};
use std::collections::HashMap;
use std::io::{self, Write};

/// Rows of all method tables together; each thread gets its share, but at least [`MIN_ROWS`].
const MAX_ROWS: usize = 60_000;
const MIN_ROWS: usize = 100;

/// What stands in the method column for a thread's root and for folded nodes.
const ROOT: i64 = -1;
const FOLDED: i64 = -2;

pub(super) fn write(
    profile: &Profile,
    options: &Options,
    main: MetricId,
    contexts: usize,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    // A picture needs values that add up; peaks do not.
    let metrics: Vec<&Metric> = (profile.metrics().iter().enumerate())
        .filter(|(id, metric)| {
            *id as MetricId == main
                || (metric.spec().aggregation != Aggregation::Max
                    && metric.total() > 0
                    && !metric.spec().is_variance())
        })
        .map(|(_, metric)| metric)
        .collect();
    let columns: Vec<&[u64]> = metrics.iter().map(|metric| metric.values()).collect();
    let cut = Cut::new(profile, &columns, options.max_nodes, 0.0);
    let tables: Vec<Table> =
        profile.threads().iter().map(|thread| Table::new(profile, thread, &columns)).collect();
    let mut methods = Renumbered::default();

    out.write_all(br#"{"title":"#)?;
    string(out, &names::clean(&options.title(profile)))?;
    out.write_all(br#","metrics":["#)?;
    let mut first = true;
    for metric in &metrics {
        comma(out, &mut first)?;
        out.write_all(br#"{"name":"#)?;
        string(out, &names::clean(metric.name()))?;
        out.write_all(br#","unit":"#)?;
        string(out, &names::clean(metric.spec().unit.as_str()))?;
        let exact = metric.spec().kind == MetricKind::Exact;
        let count = metric.spec().aggregation == Aggregation::Count;
        write!(out, r#","exact":{exact},"count":{count}}}"#)?;
    }
    let name = profile.metrics()[main as usize].name();
    let shown = metrics.iter().position(|metric| metric.name() == name).unwrap_or(0);
    let drawn = profile.tree().len() - profile.threads().len();
    write!(
        out,
        r#"],"metric":{shown},"contexts":{contexts},"drawn":{drawn},"folded":{},"methodCount":{},"threads":["#,
        cut.folded,
        profile.methods().len()
    )?;
    let mut first = true;
    for thread in profile.threads() {
        comma(out, &mut first)?;
        out.write_all(br#"{"name":"#)?;
        string(out, &names::thread(profile, thread))?;
        write!(out, r#","count":{}}}"#, thread.threads)?;
    }
    out.write_all(b"]")?;
    nodes(profile, &cut, &columns, &mut methods, out)?;
    out.write_all(br#","tables":["#)?;
    let mut first = true;
    for table in &tables {
        comma(out, &mut first)?;
        table.write(&mut methods, out)?;
    }
    out.write_all(b"]")?;
    methods.write(profile, out)?;
    about(profile, out)?;
    out.write_all(b"}")?;
    Ok(())
}

/// Preorder columns: the change of depth, the method, and the nodes' own values by metric.
fn nodes(
    profile: &Profile,
    cut: &Cut,
    columns: &[&[u64]],
    methods: &mut Renumbered,
    out: &mut dyn Write,
) -> io::Result<()> {
    let tree = profile.tree();
    let depths = tree.depths();
    let counts = cut.folded_counts();
    // A kept node, or what was folded into it as its first child.
    let mut kept: Vec<(NodeId, bool)> = Vec::new();
    for node in (0..tree.len() as NodeId).filter(|&node| cut.keeps(node)) {
        kept.push((node, false));
        if counts[node as usize] > 0 {
            kept.push((node, true));
        }
    }
    let mut last = 0i64;
    out.write_all(br#","nodes":{"step":"#)?;
    numbers(
        out,
        kept.iter().map(|&(node, folded)| {
            let depth = i64::from(depths[node as usize]) + i64::from(folded);
            depth - std::mem::replace(&mut last, depth)
        }),
    )?;
    out.write_all(br#","method":"#)?;
    let ids = kept.iter().map(|&(node, folded)| match tree.methods()[node as usize] {
        _ if folded => FOLDED,
        NO_METHOD => ROOT,
        method => i64::from(methods.id(method)),
    });
    numbers(out, ids)?;
    out.write_all(br#","folded":"#)?;
    numbers(out, kept.iter().filter(|(_, folded)| *folded).map(|&(node, _)| counts[node as usize]))?;
    out.write_all(br#","self":["#)?;
    let mut first = true;
    for values in columns {
        comma(out, &mut first)?;
        let sums = cut.folded_values(values);
        let column = kept
            .iter()
            .map(|&(node, folded)| if folded { sums[node as usize] } else { values[node as usize] });
        numbers(out, column)?;
    }
    out.write_all(b"]}")
}

/// One thread's methods with their own and inclusive values by metric, the heaviest first.
struct Table {
    rows: Vec<(MethodId, Vec<u64>, Vec<u64>)>,
    /// How many lighter methods there are.
    rest: usize,
}

impl Table {
    fn new(profile: &Profile, thread: &Thread, columns: &[&[u64]]) -> Table {
        let tree = profile.tree();
        let range = tree.subtree(thread.root);
        let mut slots: HashMap<MethodId, usize> = HashMap::new();
        let mut rows: Vec<(MethodId, Vec<u64>, Vec<u64>)> = Vec::new();
        let slot_of: Vec<u32> = tree.methods()[range.start as usize..range.end as usize]
            .iter()
            .map(|&method| {
                if method == NO_METHOD {
                    return u32::MAX;
                }
                *slots.entry(method).or_insert_with(|| {
                    rows.push((method, vec![0; columns.len()], vec![0; columns.len()]));
                    rows.len() - 1
                }) as u32
            })
            .collect();
        for (column, values) in columns.iter().enumerate() {
            let own = &values[range.start as usize..range.end as usize];
            for (&slot, &value) in slot_of.iter().zip(own) {
                if slot != u32::MAX {
                    let cell = &mut rows[slot as usize].1[column];
                    *cell = cell.saturating_add(value);
                }
            }
            inclusive(profile, thread, &slot_of, own, |slot, value| {
                let cell = &mut rows[slot].2[column];
                *cell = cell.saturating_add(value);
            });
        }
        let total: Vec<u64> = columns
            .iter()
            .map(|values| {
                values[range.start as usize..range.end as usize]
                    .iter()
                    .fold(0, |a: u64, &b| a.saturating_add(b))
            })
            .collect();
        let weight = |row: &(MethodId, Vec<u64>, Vec<u64>)| {
            let shares = row.2.iter().zip(&total).map(|(&part, &all)| part as f64 / all.max(1) as f64);
            shares.fold(0.0, f64::max)
        };
        rows.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(a.0.cmp(&b.0)));
        let room = (MAX_ROWS / profile.threads().len().max(1)).max(MIN_ROWS);
        let rest = rows.len().saturating_sub(room);
        rows.truncate(room);
        Table { rows, rest }
    }

    fn write(&self, methods: &mut Renumbered, out: &mut dyn Write) -> io::Result<()> {
        write!(out, r#"{{"rest":{},"method":"#, self.rest)?;
        numbers(out, self.rows.iter().map(|row| methods.id(row.0)))?;
        let width = self.rows.first().map_or(0, |row| row.1.len());
        for (key, total) in [("self", false), ("total", true)] {
            write!(out, r#","{key}":["#)?;
            let mut first = true;
            for column in 0..width {
                comma(out, &mut first)?;
                numbers(out, self.rows.iter().map(|row| if total { row.2[column] } else { row.1[column] }))?;
            }
            out.write_all(b"]")?;
        }
        out.write_all(b"}")
    }
}

/// Gives every outermost occurrence of a method the sum of its subtree: recursion counts once.
fn inclusive(
    profile: &Profile,
    thread: &Thread,
    slot_of: &[u32],
    own: &[u64],
    mut add: impl FnMut(usize, u64),
) {
    let tree = profile.tree();
    let root = thread.root;
    let mut sums = own.to_vec();
    for offset in (1..sums.len()).rev() {
        let parent = (tree.parents()[root as usize + offset] - root) as usize;
        sums[parent] = sums[parent].saturating_add(sums[offset]);
    }
    // By slot: the end of the outermost occurrence that is open.
    let mut open_until: Vec<NodeId> = Vec::new();
    for (offset, &slot) in slot_of.iter().enumerate() {
        if slot == u32::MAX {
            continue;
        }
        let node = root + offset as NodeId;
        let slot = slot as usize;
        if open_until.len() <= slot {
            open_until.resize(slot + 1, 0);
        }
        if node >= open_until[slot] {
            open_until[slot] = tree.end(node);
            add(slot, sums[offset]);
        }
    }
}

/// Methods in the order of their first use, so that only those in the page are written.
#[derive(Default)]
struct Renumbered {
    ids: HashMap<MethodId, u32>,
    order: Vec<MethodId>,
}

impl Renumbered {
    fn id(&mut self, method: MethodId) -> u32 {
        *self.ids.entry(method).or_insert_with(|| {
            self.order.push(method);
            self.order.len() as u32 - 1
        })
    }

    fn write(&self, profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
        let mut ids: HashMap<StrId, usize> = HashMap::new();
        let mut texts: Vec<StrId> = Vec::new();
        let mut text = |id: StrId| {
            *ids.entry(id).or_insert_with(|| {
                texts.push(id);
                texts.len() - 1
            })
        };
        out.write_all(br#","methods":["#)?;
        let mut first = true;
        for &id in &self.order {
            comma(out, &mut first)?;
            let method = profile.method(id);
            let row = [
                text(method.class),
                text(method.name),
                text(method.descriptor),
                usize::from(method.opaque()),
            ];
            numbers(out, row)?;
        }
        out.write_all(br#"],"strings":"#)?;
        strings(out, texts.iter().map(|&id| names::clean(profile.str(id))))
    }
}

/// What the page tells about the profile besides its numbers.
fn about(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let (meta, run) = (&profile.meta, &profile.run);
    let mut facts: Vec<(&str, String)> = Vec::new();
    let mut fact = |key, value: String| {
        if !value.trim().is_empty() {
            facts.push((key, value));
        }
    };
    fact("Program", meta.target.main.clone());
    fact("Command", meta.target.command.join(" "));
    fact("Java", format!("{} {} {}", meta.jvm.name, meta.jvm.version, meta.jvm.vendor));
    fact("JVM flags", meta.jvm.flags.join(" "));
    let options: Vec<String> = (meta.options.iter())
        .map(|(key, value)| if value.is_empty() { format!("--{key}") } else { format!("--{key} {value}") })
        .collect();
    fact("Measured with", options.join(" "));
    fact("Duration", run.duration.map(|ns| format!("{:.3} s", ns as f64 / 1e9)).unwrap_or_default());
    fact("Process", run.pid.map(|pid| pid.to_string()).unwrap_or_default());
    fact("Machine", format!("{} {} {}", run.host.name, run.host.os, run.host.cpu));
    fact("Cost of measuring", run.cost.join(" "));
    let lost: Vec<String> =
        meta.lost.iter().map(|(cause, &count)| quipu_profile::lost_in_words(cause, count)).collect();
    fact("Lost", if lost.is_empty() { "nothing".to_owned() } else { lost.join(", ") });
    fact("Exported by", format!("Quipu {}", env!("CARGO_PKG_VERSION")));
    out.write_all(br#","facts":["#)?;
    let mut first = true;
    for (key, value) in facts {
        comma(out, &mut first)?;
        strings(out, [key, &*names::clean(value.trim())])?;
    }
    out.write_all(br#"],"notices":"#)?;
    let notice =
        (!lost.is_empty()).then(|| format!("Some of it was lost while measuring ({}).", lost.join(", ")));
    strings(out, notice.iter().map(|text| names::clean(text)))
}
