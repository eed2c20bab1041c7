//! Call graphs, end to end: exact ones against the truth, sampled ones against exact ones.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod directives;
mod exact;
mod sampled;
mod steered;

use std::collections::BTreeMap;

use quipu_profile::Profile;
use quipu_report::{By, Options};
use serde_json::Value;

/// An edge: caller, bytecode index of the call site, callee; methods as `class.name descriptor`.
type Edge = (String, i64, String);

/// The weights of a profile's edges, as `report --by edge --json` tells them.
fn edges(profile: &Profile, metric: &str) -> BTreeMap<Edge, u64> {
    let options = Options { by: By::Edge, metric: Some(metric.to_owned()), ..Options::default() };
    let json = quipu_report::json(profile, &options).expect("a report");
    let report: Value = serde_json::from_str(&json).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    let name = |method: &Value| {
        let part = |key: &str| method[key].as_str().unwrap_or_default();
        [part("class"), ".", part("method"), part("descriptor")].concat()
    };
    let edge = |row: &Value| {
        let site = row["bci"].as_i64().expect("a bytecode index");
        ((name(&row["caller"]), site, name(&row["callee"])), row["weight"].as_u64().expect("a weight"))
    };
    let edges: BTreeMap<Edge, u64> = rows.iter().map(edge).collect();
    assert_eq!(edges.len(), rows.len(), "an edge has one row");
    edges
}

/// Those between methods of classes whose names begin like this.
fn inside(edges: BTreeMap<Edge, u64>, class: &str) -> BTreeMap<Edge, u64> {
    let within = |edge: &Edge| edge.0.starts_with(class) && edge.2.starts_with(class);
    edges.into_iter().filter(|(edge, _)| within(edge)).collect()
}
