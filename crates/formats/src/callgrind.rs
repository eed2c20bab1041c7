//! Callgrind's format, for `callgrind_annotate` and KCachegrind: functions, their own cost, and the calls they make.
//!
//! The format has no contexts. A call's inclusive cost is counted once per stack: where the same call (caller, line,
//! callee) is already active further out, the inner one adds nothing, or recursion would count the same work once
//! per level.

use crate::{ExportError, Options, names, walk};
use quipu_profile::{MethodId, NO_METHOD, NodeId, Profile};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

/// Caller, line in the caller (0: unknown), callee.
type Edge = (MethodId, u32, MethodId);

struct Call {
    calls: u64,
    costs: Vec<u64>,
    active: u32,
}

/// Writes every metric that adds up, the chosen one first.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), ExportError> {
    let main = options.metric_id(profile)?;
    let mut columns = vec![main];
    columns.extend((0..profile.metrics().len() as u32).filter(|&id| {
        let spec = profile.metrics()[id as usize].spec();
        id != main && spec.aggregation == Default::default() && !spec.is_variance()
    }));
    let own = own_costs(profile, &columns);
    let edges = edges(profile, &columns);

    writeln!(out, "# callgrind format\nversion: 1\ncreator: quipu {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(out, "cmd: {}", names::clean(&options.title(profile)))?;
    writeln!(out, "positions: line")?;
    let events: Vec<String> = columns.iter().map(|&id| event_name(profile, id)).collect();
    for (event, &id) in events.iter().zip(&columns) {
        let metric = &profile.metrics()[id as usize];
        writeln!(out, "event: {event} : {} ({})", names::clean(metric.name()), metric.spec().unit.as_str())?;
    }
    writeln!(out, "events: {}", events.join(" "))?;
    let totals: Vec<u64> = (0..columns.len())
        .map(|c| own.iter().map(|costs| costs[c]).fold(0u64, u64::saturating_add))
        .collect();
    writeln!(out, "summary: {}\n", joined(&totals))?;

    let mut names = Names::new(profile);
    let mut rest = edges.iter().peekable();
    for (id, costs) in own.iter().enumerate() {
        names.function(out, "", id as MethodId)?;
        let first_line = profile.methods()[id].lines.iter().map(|line| line.line).min().unwrap_or(0);
        writeln!(out, "{first_line} {}", joined(costs))?;
        while let Some(((_, line, callee), call)) =
            rest.next_if(|((caller, _, _), _)| *caller == id as MethodId)
        {
            names.function(out, "c", *callee)?;
            let target = profile.method(*callee).lines.iter().map(|line| line.line).min().unwrap_or(0);
            let line = if *line == 0 { first_line } else { *line };
            writeln!(out, "calls={} {target}\n{line} {}", call.calls, joined(&call.costs))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "totals: {}", joined(&totals))?;
    Ok(())
}

fn joined(costs: &[u64]) -> String {
    costs.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}

/// Event names are separated by blanks.
fn event_name(profile: &Profile, id: u32) -> String {
    let name: String = profile.metrics()[id as usize]
        .name()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("m{id}_{name}") }
}

/// Own costs by method and column.
fn own_costs(profile: &Profile, columns: &[u32]) -> Vec<Vec<u64>> {
    let mut own = vec![vec![0u64; columns.len()]; profile.methods().len()];
    for (column, &id) in columns.iter().enumerate() {
        let values = profile.metrics()[id as usize].values();
        for (&method, &value) in profile.tree().methods().iter().zip(values) {
            if method != NO_METHOD {
                let cost = &mut own[method as usize][column];
                *cost = cost.saturating_add(value);
            }
        }
    }
    own
}

fn edges(profile: &Profile, columns: &[u32]) -> BTreeMap<Edge, Call> {
    let tree = profile.tree();
    let sums: Vec<Vec<u64>> =
        columns.iter().map(|&id| walk::sums(profile, profile.metrics()[id as usize].values())).collect();
    let entered = profile.metric("calls").map(|metric| metric.values());
    let mut slots: HashMap<Edge, usize> = HashMap::new();
    let mut calls: Vec<Call> = Vec::new();
    // Nodes on the current path with the edge that leads to them.
    let mut open: Vec<(NodeId, usize)> = Vec::new();
    for node in 0..tree.len() as NodeId {
        while let Some(&(_, slot)) = open.last().filter(|(last, _)| tree.end(*last) <= node) {
            calls[slot].active -= 1;
            open.pop();
        }
        let Some(callee) = tree.method(node) else { continue };
        let Some(caller) = tree.parent(node).and_then(|parent| tree.method(parent)) else { continue };
        let line = tree.site(node).and_then(|bci| profile.method(caller).line_at(bci)).unwrap_or(0);
        let slot = *slots.entry((caller, line, callee)).or_insert_with(|| {
            calls.push(Call { calls: 0, costs: vec![0; columns.len()], active: 0 });
            calls.len() - 1
        });
        let call = &mut calls[slot];
        // Without a count of calls, a context stands for one.
        call.calls = call.calls.saturating_add(entered.map_or(1, |values| values[node as usize]));
        if call.active == 0 {
            for (cost, column) in call.costs.iter_mut().zip(&sums) {
                *cost = cost.saturating_add(column[node as usize]);
            }
        }
        call.active += 1;
        open.push((node, slot));
    }
    let mut calls: Vec<Option<Call>> = calls.into_iter().map(Some).collect();
    slots.into_iter().filter_map(|(edge, slot)| Some((edge, calls[slot].take()?))).collect()
}

/// Writes a name in full the first time and as a number from then on.
struct Names<'p> {
    profile: &'p Profile,
    texts: Vec<String>,
    functions: Vec<bool>,
    files: HashMap<String, usize>,
    objects: HashMap<String, usize>,
}

impl<'p> Names<'p> {
    fn new(profile: &'p Profile) -> Names<'p> {
        let texts = names::methods(profile);
        let functions = vec![false; texts.len()];
        Names { profile, texts, functions, files: HashMap::new(), objects: HashMap::new() }
    }

    /// `fn=` lines, or `cfn=` with the prefix `c`. Overloads share a text but not a number, so the descriptor is
    /// part of the text.
    fn function(&mut self, out: &mut dyn Write, prefix: &str, id: MethodId) -> io::Result<()> {
        let method = self.profile.method(id);
        let module = match names::clean(self.profile.str(method.module)) {
            module if module.is_empty() => "???".to_owned(),
            module => module.into_owned(),
        };
        shared(out, &format!("{prefix}ob"), &mut self.objects, module)?;
        let path = names::source_path(self.profile, id).unwrap_or_else(|| "???".to_owned());
        let key = if prefix.is_empty() { "fl" } else { "cfi" };
        shared(out, key, &mut self.files, path)?;
        write!(out, "{prefix}fn=({})", id + 1)?;
        if !std::mem::replace(&mut self.functions[id as usize], true) {
            let descriptor = names::clean(self.profile.str(method.descriptor));
            write!(out, " {}{descriptor}", self.texts[id as usize])?;
        }
        writeln!(out)
    }
}

fn shared(
    out: &mut dyn Write,
    key: &str,
    known: &mut HashMap<String, usize>,
    text: String,
) -> io::Result<()> {
    let next = known.len() + 1;
    match known.get(&text) {
        Some(id) => writeln!(out, "{key}=({id})"),
        None => {
            writeln!(out, "{key}=({next}) {text}")?;
            known.insert(text, next);
            Ok(())
        }
    }
}
