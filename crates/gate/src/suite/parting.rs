//! Where two runs of the same test part.

use quipu_profile::{Aligned, Matching, Names, NodeId, Profile};

use super::run::trees;
use crate::number::grouped;

/// The outermost context in which two runs of a test differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parting {
    /// `class.method` from the test on.
    pub path: Vec<String>,
    /// `calls` or `bytecodes`.
    pub metric: &'static str,
    /// The context's own value in each run.
    pub values: [u64; 2],
}

impl Parting {
    /// `a.B.test > java.util.Random.next: 3 calls in one run, 5 in the other`.
    pub fn sentence(&self) -> String {
        let [first, second] = self.values;
        format!(
            "{}: {} {} in one run, {} in the other",
            crate::text::shortened(&self.path),
            grouped(first),
            self.metric,
            grouped(second)
        )
    }
}

/// Finds it, for all runs of the test's method together; `None` if they are the same in every context.
pub fn parting(first: &Profile, second: &Profile, test: &str) -> Option<Parting> {
    let tree = trees(first).remove(test)?;
    let [a, b] = [first, second].map(|profile| profile.select_thread(&tree));
    let matching = Matching { names: Names::ByOrigin, threads: true };
    let calls = Aligned::new(&a, &b, "calls", matching).ok()?;
    // The same profiles make the same tree, whatever the metric, so nodes have the same ids in both.
    let bytecodes = Aligned::new(&a, &b, "bytecodes", matching).ok()?;
    let tree = calls.both.tree();
    let differs = |aligned: &Aligned, node: NodeId| {
        let [before, after] = aligned.columns().map(|column| column.values()[node as usize]);
        (before != after).then_some([before, after])
    };
    // Parents come before their children: the first one found is called from where the runs are still the same.
    (0..tree.len() as NodeId).find_map(|node| {
        let (metric, values) = match (differs(&calls, node), differs(&bytecodes, node)) {
            (Some(values), _) => ("calls", values),
            (None, Some(values)) => ("bytecodes", values),
            (None, None) => return None,
        };
        let names = tree.path(node).into_iter().filter_map(|node| tree.method(node));
        Some(Parting { path: names.map(|id| calls.both.method_name(id)).collect(), metric, values })
    })
}
