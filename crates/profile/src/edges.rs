//! The call graph: contexts added up by (caller, call site, callee).

use crate::{MethodId, Metric, NO_METHOD, Profile, Totals};
use rustc_hash::FxHashMap;

/// One edge of the call graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Edge {
    /// Who calls.
    pub caller: MethodId,
    /// From which bytecode index, or [`UNKNOWN_SITE`](crate::UNKNOWN_SITE).
    pub site: i32,
    /// Who is called.
    pub callee: MethodId,
}

/// All edges of a profile, and which edge each node was reached by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallGraph {
    /// Edges, sorted. Calls from a thread's root are none.
    pub edges: Vec<Edge>,
    /// By node, the index of its edge; `u32::MAX` for roots and outermost methods.
    pub of_node: Vec<u32>,
}

impl Profile {
    /// The call graph.
    pub fn call_graph(&self) -> CallGraph {
        let tree = &self.tree;
        let mut index: FxHashMap<Edge, u32> = FxHashMap::default();
        let mut of_node = vec![u32::MAX; tree.len()];
        for (node, slot) in of_node.iter_mut().enumerate() {
            let (parent, callee) = (tree.parent[node], tree.method[node]);
            if callee == NO_METHOD || tree.method[parent as usize] == NO_METHOD {
                continue;
            }
            let edge = Edge { caller: tree.method[parent as usize], site: tree.site[node], callee };
            let next = index.len() as u32;
            *slot = *index.entry(edge).or_insert(next);
        }
        let mut sorted: Vec<(Edge, u32)> = index.into_iter().collect();
        sorted.sort_unstable();
        let mut rank = vec![0; sorted.len()];
        for (new, &(_, old)) in sorted.iter().enumerate() {
            rank[old as usize] = new as u32;
        }
        for edge in of_node.iter_mut().filter(|edge| **edge != u32::MAX) {
            *edge = rank[*edge as usize];
        }
        CallGraph { edges: sorted.into_iter().map(|(edge, _)| edge).collect(), of_node }
    }

    /// A metric by edge: `own` is what the callee did itself when called this way, `total` includes what it called.
    /// Nested calls over the same edge count once in `total`.
    pub fn totals_by_edge(&self, graph: &CallGraph, metric: &Metric) -> Totals {
        let edge = |node: usize| Some(graph.of_node[node]).filter(|&edge| edge != u32::MAX);
        self.totals_by(metric, edge, graph.edges.len())
    }
}
