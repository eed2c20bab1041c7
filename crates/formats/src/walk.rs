//! One pass over a thread's stacks, in preorder, never deeper than told.

use quipu_profile::{Aggregation, NodeId, Profile, Thread};

/// A stack with something to report.
pub(crate) struct Stack<'a> {
    /// Nodes from the outermost method inwards.
    pub path: &'a [NodeId],
    /// The nodes whose own values this stack stands for: the last of `path`, or everything below it.
    pub nodes: std::ops::Range<NodeId>,
    /// True when `nodes` is what was cut off below the last of `path`.
    pub deeper: bool,
}

impl Stack<'_> {
    /// The combined values of a metric.
    pub fn value(&self, values: &[u64], aggregation: Aggregation) -> u64 {
        let range = self.nodes.start as usize..self.nodes.end as usize;
        values[range].iter().fold(0, |sum, &value| aggregation.combine(sum, value))
    }
}

/// Calls `visit` for every context of `thread`, and once for the cut-off part of every stack that is too deep.
pub(crate) fn stacks<E>(
    profile: &Profile,
    thread: &Thread,
    max_depth: u32,
    mut visit: impl FnMut(Stack<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let (parents, ends) = (profile.tree().parents(), profile.tree().ends());
    let mut path: Vec<NodeId> = Vec::new();
    let mut node = thread.root;
    let end = ends[node as usize];
    // What the root itself was charged has an empty path.
    visit(Stack { path: &path, nodes: node..node + 1, deeper: false })?;
    node += 1;
    while node < end {
        while path.last().is_some_and(|&last| last != parents[node as usize]) {
            path.pop();
        }
        path.push(node);
        visit(Stack { path: &path, nodes: node..node + 1, deeper: false })?;
        let below = node + 1..ends[node as usize];
        if path.len() as u32 >= max_depth.max(1) && !below.is_empty() {
            node = below.end;
            visit(Stack { path: &path, nodes: below, deeper: true })?;
        } else {
            node += 1;
        }
    }
    Ok(())
}

/// Sums over subtrees, by node. Unlike [`Profile::inclusive`] always a sum: widths in a picture have to add up.
pub(crate) fn sums(profile: &Profile, values: &[u64]) -> Vec<u64> {
    let mut sums = values.to_vec();
    for (node, parent) in profile.tree().parents().iter().enumerate().rev() {
        if *parent != quipu_profile::NO_NODE {
            sums[*parent as usize] = sums[*parent as usize].saturating_add(sums[node]);
        }
    }
    sums
}
