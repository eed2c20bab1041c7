//! One method in the middle: who calls it, whom it calls.

use crate::{Aggregation, MethodId, Metric, NO_METHOD, NodeId, Profile};
use rustc_hash::FxHashMap;

/// A neighbour of the method in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The caller or callee; [`NO_METHOD`] for a thread's root.
    pub method: MethodId,
    /// As a caller: what the middle method did itself when called from here. As a callee: what it did itself.
    pub own: u64,
    /// The same with everything called. Shares of callers add up to the middle method's total.
    pub total: u64,
}

/// A method between its callers and its callees, for one metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Butterfly {
    /// What the methods in the middle did themselves.
    pub own: u64,
    /// What they and all they called did, recursion counted once.
    pub total: u64,
    /// Who called them, sorted by method.
    pub callers: Vec<Neighbour>,
    /// Whom they called, sorted by method.
    pub callees: Vec<Neighbour>,
}

impl Profile {
    /// Callers and callees of the methods `middle` holds of, seen as one.
    pub fn butterfly(&self, metric: &Metric, middle: impl Fn(&Profile, MethodId) -> bool) -> Butterfly {
        let (tree, marks) = (&self.tree, self.mark(middle));
        let inclusive = self.inclusive(metric);
        let mut side = [Side::new(metric), Side::new(metric)];
        let (mut own, mut total, mut until) = (0, 0, 0);
        for (node, &all) in inclusive.iter().enumerate() {
            let parent = tree.parent[node];
            if tree.method[node] == NO_METHOD {
                continue;
            }
            let value = metric.values[node];
            let combine = |a, b| metric.spec.aggregation.combine(a, b);
            if self.is_marked(&marks, node as NodeId) {
                // A recursive call adds to calls and own work, and nothing to the total: it is inside already.
                let outermost = node as NodeId >= until;
                if outermost {
                    until = tree.end[node];
                    total = combine(total, all);
                }
                own = combine(own, value);
                let caller = side[0].slot(tree.method[parent as usize]);
                caller.0 = combine(caller.0, value);
                caller.1 = if outermost { combine(caller.1, all) } else { caller.1 };
            }
            if self.is_marked(&marks, parent) {
                let callee = side[1].slot(tree.method[node]);
                callee.0 = combine(callee.0, value);
                if node as NodeId >= callee.2 {
                    callee.2 = tree.end[node];
                    callee.1 = combine(callee.1, all);
                }
            }
        }
        let [callers, callees] = side.map(Side::sorted);
        Butterfly { own, total, callers, callees }
    }
}

/// Own value, total, and where the outermost open subtree ends.
type Slot = (u64, u64, NodeId);

struct Side {
    slots: FxHashMap<MethodId, Slot>,
    counts: bool,
}

impl Side {
    fn new(metric: &Metric) -> Side {
        Side { slots: FxHashMap::default(), counts: metric.spec.aggregation == Aggregation::Count }
    }

    fn slot(&mut self, method: MethodId) -> &mut Slot {
        self.slots.entry(method).or_insert((0, 0, 0))
    }

    fn sorted(self) -> Vec<Neighbour> {
        // Counts have no totals worth the name: both numbers are how often.
        let counts = self.counts;
        let neighbour = |(method, (own, total, _)): (MethodId, Slot)| Neighbour {
            method,
            own,
            total: if counts { own } else { total },
        };
        let mut rows: Vec<Neighbour> = self.slots.into_iter().map(neighbour).collect();
        rows.sort_unstable_by_key(|row| row.method);
        rows
    }
}
