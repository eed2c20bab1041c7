//! Call edges; and methods with their callers or callees, which are edges without sites.

use crate::columns::{Columns, Selection};
use crate::json::Report;
use crate::number::{grouped, in_unit, percent_of, share};
use crate::pattern;
use crate::style::Style;
use crate::table::{Name, Table};
use crate::{By, Options, ReportError};
use quipu_profile::{MethodId, Metric, NO_METHOD, Profile};
use rustc_hash::FxHashMap;
use std::io;

const LIMIT: usize = 30;
/// Methods in the middle, and neighbours of each, unless told otherwise.
const MIDDLES: usize = 10;
const NEIGHBOURS: usize = 5;

/// The metric edges are weighed by: how often, unless told otherwise.
fn weight<'a>(profile: &'a Profile, selection: &Selection) -> &'a Metric {
    let calls = (!selection.chosen).then(|| profile.metric("calls")).flatten();
    calls.unwrap_or_else(|| selection.main(profile))
}

struct Edges {
    graph: quipu_profile::CallGraph,
    columns: Columns,
    weights: Vec<u64>,
    rows: Vec<usize>,
}

fn edges(profile: &Profile, options: &Options, selection: &Selection) -> Result<Edges, ReportError> {
    let wanted = pattern::wanted(profile, options)?;
    let graph = profile.call_graph();
    let columns = selection.columns(profile, |metric| profile.totals_by_edge(&graph, metric));
    let weights = profile.totals_by_edge(&graph, weight(profile, selection)).own;
    let is_wanted = |row: &usize| {
        let edge = graph.edges[*row];
        wanted[edge.caller as usize] || wanted[edge.callee as usize]
    };
    // Calls of what is opaque have a weight and nothing of the metric that other tables are ranked by.
    let sum = weights.iter().fold(0u64, |sum, &weight| sum.saturating_add(weight));
    let is_worth = |row: &usize| match weights[*row] {
        0 => columns.worth(*row),
        weight => share(weight, sum) >= selection.min,
    };
    let mut rows: Vec<usize> = (0..graph.edges.len()).filter(is_wanted).filter(is_worth).collect();
    rows.sort_by_key(|&row| std::cmp::Reverse(weights[row]));
    Ok(Edges { graph, columns, weights, rows })
}

pub(crate) fn json(
    profile: &Profile,
    options: &Options,
    selection: &Selection,
    out: &mut dyn io::Write,
) -> Result<(), ReportError> {
    let edges = edges(profile, options, selection)?;
    let mut report = Report::new(out, "edge", &selection.names(profile))?;
    for &row in edges.rows.iter().take(options.limit.unwrap_or(usize::MAX)) {
        let edge = edges.graph.edges[row];
        report.row(|object| {
            object.method("caller", profile, edge.caller)?;
            object.int("bci", edge.site)?;
            object.method("callee", profile, edge.callee)?;
            object.int("weight", edges.weights[row])?;
            object.metrics(&edges.columns, row)
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
    let edges = edges(profile, options, selection)?;
    let limit = options.limit.unwrap_or(LIMIT);
    let metric = weight(profile, selection);
    let sum = edges.weights.iter().fold(0u64, |sum, &weight| sum.saturating_add(weight));
    let mut table = Table::new(style, vec![metric.name().to_owned(), String::new()], "caller -> callee")
        .counting(&metric.spec().unit);
    let arrow = if style.unicode { "→" } else { "->" };
    for &row in edges.rows.iter().take(limit) {
        let (edge, weight) = (edges.graph.edges[row], edges.weights[row]);
        let site = match edge.site {
            ..0 => String::new(),
            site => match profile.method(edge.caller).line_at(site as u32) {
                Some(line) => format!(":{line}"),
                None => format!("@{site}"),
            },
        };
        let name = Name::edge(profile, edge.caller, format!("{site} {arrow} "), edge.callee);
        let cells = vec![in_unit(weight, &metric.spec().unit), percent_of(weight, sum, metric.spec())];
        table.row(cells, share(weight, sum), name);
    }
    table.rest(edges.rows.iter().skip(limit).map(|&row| edges.weights[row]), sum, metric.name());
    Ok(table.render_methods(profile))
}

/// Methods in the middle, ranked, each with its neighbours, ranked.
struct Neighbourhood {
    /// (middle, neighbour) by row of `columns`.
    pairs: Vec<(MethodId, MethodId)>,
    columns: Columns,
    middles: Columns,
    /// Middle methods in order, with their rows in order.
    groups: Vec<(MethodId, Vec<usize>)>,
}

fn neighbourhood(
    profile: &Profile,
    options: &Options,
    selection: &Selection,
) -> Result<Neighbourhood, ReportError> {
    let wanted = pattern::wanted(profile, options)?;
    let tree = profile.tree();
    let mut index: FxHashMap<(MethodId, MethodId), u32> = FxHashMap::default();
    let mut of_node = vec![u32::MAX; tree.len()];
    for (node, slot) in of_node.iter_mut().enumerate() {
        let callee = tree.methods()[node];
        if callee == NO_METHOD {
            continue;
        }
        let caller = tree.methods()[tree.parents()[node] as usize];
        let (middle, neighbour) = if options.by == By::Callers { (callee, caller) } else { (caller, callee) };
        if middle != NO_METHOD && wanted[middle as usize] {
            let next = index.len() as u32;
            *slot = *index.entry((middle, neighbour)).or_insert(next);
        }
    }
    let mut pairs = vec![(NO_METHOD, NO_METHOD); index.len()];
    index.into_iter().for_each(|(pair, at)| pairs[at as usize] = pair);
    // Nested calls over the same pair count once in totals.
    let pair = |node: usize| Some(of_node[node]).filter(|&pair| pair != u32::MAX);
    let columns = selection.columns(profile, |metric| profile.totals_by(metric, pair, pairs.len()));
    let middles = selection.columns(profile, |metric| profile.totals_by_method(metric));

    // Ties are settled by the pair itself: the numbering of pairs is an accident.
    let mut by_pair: Vec<usize> = (0..pairs.len()).collect();
    by_pair.sort_unstable_by_key(|&row| pairs[row]);
    let ranked = middles
        .ranked((0..profile.methods().len()).filter(|&method| wanted[method] && middles.worth(method)));
    let groups = ranked
        .into_iter()
        .map(|method| {
            let from = by_pair.partition_point(|&row| (pairs[row].0 as usize) < method);
            let to = by_pair.partition_point(|&row| (pairs[row].0 as usize) <= method);
            let mut rows = by_pair[from..to].to_vec();
            let values = &columns.main().values;
            rows.sort_by_key(|&row| std::cmp::Reverse((values.total[row], values.own[row])));
            (method as MethodId, rows)
        })
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    Ok(Neighbourhood { pairs, columns, middles, groups })
}

pub(crate) fn neighbours_json(
    profile: &Profile,
    options: &Options,
    selection: &Selection,
    out: &mut dyn io::Write,
) -> Result<(), ReportError> {
    let found = neighbourhood(profile, options, selection)?;
    let mut report = Report::new(out, options.by.as_str(), &selection.names(profile))?;
    let key = if options.by == By::Callers { "caller" } else { "callee" };
    let rows = found.groups.iter().flat_map(|(_, rows)| rows);
    for &row in rows.take(options.limit.unwrap_or(usize::MAX)) {
        let (middle, neighbour) = found.pairs[row];
        report.row(|object| {
            object.names(profile, middle)?;
            object.bool("opaque", profile.method(middle).opaque())?;
            object.method(key, profile, neighbour)?;
            object.metrics(&found.columns, row)
        })?;
    }
    Ok(report.finish()?)
}

pub(crate) fn neighbours_text(
    profile: &Profile,
    options: &Options,
    selection: &Selection,
    style: &Style,
) -> Result<String, ReportError> {
    let found = neighbourhood(profile, options, selection)?;
    let callers = options.by == By::Callers;
    let title = if callers { "method, called by" } else { "method, calling" };
    let arrow = match (style.unicode, callers) {
        (true, true) => "←",
        (true, false) => "→",
        (false, true) => "<-",
        (false, false) => "->",
    };
    let middles = options.limit.unwrap_or(MIDDLES);
    let mut table = Table::new(style, found.columns.headers(), title).counting(found.columns.unit());
    for (at, (middle, rows)) in found.groups.iter().take(middles).enumerate() {
        if at > 0 {
            table.note(String::new());
        }
        let main = found.middles.main();
        let value = main.values.own[*middle as usize];
        let name = Name::method(profile, *middle);
        table.row(found.middles.cells(*middle as usize), share(value, main.sum), name);
        // With a filter the reader came for these methods: show all their neighbours.
        let shown = if options.filter.is_some() { rows.len() } else { NEIGHBOURS };
        for &row in rows.iter().take(shown) {
            let mut name = Name::method(profile, found.pairs[row].1);
            name.lead = format!("  {arrow} ");
            let main = found.columns.main();
            let part = share(main.values.total[row], main.sum);
            table.row(found.columns.cells(row), part, name);
        }
        if rows.len() > shown {
            table.note(format!("  {} {} more", style.dots(), rows.len() - shown));
        }
    }
    if found.groups.len() > middles {
        let more = grouped((found.groups.len() - middles) as u64);
        table.note(format!("{} {more} more methods", style.dots()));
    }
    Ok(table.render_methods(profile))
}
