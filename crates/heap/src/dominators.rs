//! The dominator tree: an object dominates those that are reachable through it only, which would be gone if it were.
//!
//! Semi-NCA (Georgiadis' simplification of Lengauer and Tarjan's algorithm) over tables of numbers. Nodes are renumbered in
//! the order of a depth-first search, from 1 on; 0 is a node above all roots. Of the edges into a node only two things
//! matter: the least source among those that were visited before it, for which one table is enough, and those from nodes that
//! were visited later, of which there are lists. So no reversed graph is needed. Nothing recurses: lists of millions of
//! elements are common in heaps.

use crate::error::HeapError;
use crate::graph::Graph;
use crate::scratch::{Numbers, Scratch, ViewMut};
use crate::watch::Watch;

/// The tree. Places in the tables are numbers of the search.
pub(crate) struct Dominators {
    /// Number of the search by node; 0 if it cannot be reached.
    pub number: Numbers,
    /// Node by number of the search.
    pub node: Numbers,
    /// The node right above each in the tree.
    pub above: Numbers,
    /// How many nodes can be reached.
    pub reached: u64,
}

impl Dominators {
    pub fn of(graph: &impl Graph, scratch: &dyn Scratch, watch: &dyn Watch) -> Result<Dominators, HeapError> {
        let nodes = graph.nodes();
        watch.begin("searching the graph", nodes);
        let search = Search::of(graph, scratch, watch)?;
        watch.begin("ordering references", nodes);
        let (mut semi, later) = incoming(graph, &search, scratch)?;
        watch.begin("finding dominators", search.reached);
        let Search { number, node, parent: mut above, reached } = search;
        // Made anew at the end: what comes now is what takes most memory.
        drop(number);
        semidominators(reached, &above, &mut semi, &later, scratch, watch)?;
        drop(later);
        let (mut up, semi) = (above.view_mut(), semi.view());
        for w in 1..=reached {
            let mut candidate = up.get(w);
            while candidate > semi.get(w) {
                candidate = up.get(candidate);
            }
            up.set(w, candidate);
        }
        let mut number = Numbers::new(scratch, nodes, nodes)?;
        let mut view = number.view_mut();
        let of = node.view();
        (1..=reached).for_each(|w| view.set(of.get(w), w));
        Ok(Dominators { number, node, above, reached })
    }
}

/// A depth-first search.
struct Search {
    number: Numbers,
    node: Numbers,
    parent: Numbers,
    reached: u64,
}

impl Search {
    fn of(graph: &impl Graph, scratch: &dyn Scratch, watch: &dyn Watch) -> Result<Search, HeapError> {
        let nodes = graph.nodes();
        let mut number = Numbers::new(scratch, nodes, nodes)?;
        let mut node = Numbers::new(scratch, nodes + 1, nodes)?;
        let mut parent = Numbers::new(scratch, nodes + 1, nodes)?;
        let mut reached = 0;
        let (mut numbers, mut order, mut parents) = (number.view_mut(), node.view_mut(), parent.view_mut());
        // Edges that wait to be followed. The last that was put there is followed first, so this is depth-first.
        let mut waiting = Waiting::new(nodes);
        graph.roots().into_iter().rev().for_each(|root| waiting.push(0, root));
        while let Some((from, to)) = waiting.pop() {
            if numbers.get(to) != 0 {
                continue;
            }
            reached += 1;
            numbers.set(to, reached);
            order.set(reached, to);
            parents.set(reached, from);
            graph.targets(to, |target| {
                if numbers.get(target) == 0 {
                    waiting.push(reached, target);
                }
            });
            if reached % 65_536 == 0 {
                watch.advance(65_536);
            }
        }
        Ok(Search { number, node, parent, reached })
    }
}

/// A stack of pairs of numbers, in as few bytes as they need.
struct Waiting {
    bytes: Vec<u8>,
    width: usize,
}

impl Waiting {
    fn new(most: u64) -> Waiting {
        Waiting { bytes: Vec::new(), width: (64 - most.leading_zeros()).div_ceil(8).max(1) as usize }
    }

    #[inline]
    fn push(&mut self, from: u64, to: u64) {
        self.bytes.extend_from_slice(&from.to_le_bytes()[..self.width]);
        self.bytes.extend_from_slice(&to.to_le_bytes()[..self.width]);
    }

    #[inline]
    fn pop(&mut self) -> Option<(u64, u64)> {
        let at = self.bytes.len().checked_sub(2 * self.width)?;
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        let pair = &self.bytes[at..];
        let pair = (number(&pair[..self.width]), number(&pair[self.width..]));
        self.bytes.truncate(at);
        Some(pair)
    }
}

/// For each node those that refer to it and were visited later.
struct Later {
    begin: Numbers,
    from: Numbers,
}

/// What comes into each node: the least source that was visited before it, and the sources that were visited later.
fn incoming(
    graph: &impl Graph,
    search: &Search,
    scratch: &dyn Scratch,
) -> Result<(Numbers, Later), HeapError> {
    let number = search.number.view();
    let mut semi = search.parent.copy(scratch)?;
    let mut least = semi.view_mut();
    for root in graph.roots() {
        least.set(number.get(root), 0);
    }
    // What is directly below the top stays there, whatever else refers to it.
    let counts_for = |least: &ViewMut<'_>, from: u64, to: u64| from > to && least.get(to) != 0;
    let mut total = 0_u64;
    graph.edges(|from, to| {
        let (from, to) = (number.get(from), number.get(to));
        if from == 0 {
        } else if from < to {
            if from < least.get(to) {
                least.set(to, from);
            }
        } else if counts_for(&least, from, to) {
            total += 1;
        }
    });
    let mut begin = Numbers::new(scratch, search.reached + 2, total)?;
    let mut place = begin.view_mut();
    graph.edges(|from, to| {
        let (from, to) = (number.get(from), number.get(to));
        if from != 0 && counts_for(&least, from, to) {
            place.set(to, place.get(to) + 1);
        }
    });
    // To the end of each list, from which it is filled towards its begin.
    let mut sum = 0;
    for w in 0..search.reached + 2 {
        sum += place.get(w);
        place.set(w, sum);
    }
    let mut from_table = Numbers::new(scratch, total, search.reached)?;
    let mut sources = from_table.view_mut();
    graph.edges(|from, to| {
        let (from, to) = (number.get(from), number.get(to));
        if from != 0 && counts_for(&least, from, to) {
            let at = place.get(to) - 1;
            place.set(to, at);
            sources.set(at, from);
        }
    });
    Ok((semi, Later { begin, from: from_table }))
}

/// From the least sources to the semidominators.
fn semidominators(
    reached: u64,
    parent: &Numbers,
    semi: &mut Numbers,
    later: &Later,
    scratch: &dyn Scratch,
    watch: &dyn Watch,
) -> Result<(), HeapError> {
    let mut ancestor = parent.copy(scratch)?;
    let mut label = Numbers::new(scratch, reached + 1, reached)?;
    let (mut ancestor, mut label) = (ancestor.view_mut(), label.view_mut());
    let (mut semi, begin, from) = (semi.view_mut(), later.begin.view(), later.from.view());
    let mut path = Vec::new();
    for w in (1..=reached).rev() {
        let mut least = semi.get(w);
        for i in begin.get(w)..begin.get(w + 1) {
            least = least.min(evaluate(from.get(i), w, &mut ancestor, &mut label, &mut path));
        }
        semi.set(w, least);
        label.set(w, least);
        if w % 65_536 == 0 {
            watch.advance(65_536);
        }
    }
    Ok(())
}

/// The least semidominator on the way from `v` up to, but without, the first node that is not yet done, which are those up to
/// `w`. The way is made shorter for the next time.
#[inline]
fn evaluate(v: u64, w: u64, ancestor: &mut ViewMut<'_>, label: &mut ViewMut<'_>, path: &mut Vec<u64>) -> u64 {
    let mut at = v;
    let mut next = ancestor.get(at);
    if next <= w {
        return label.get(v);
    }
    while next > w {
        path.push(at);
        at = next;
        next = ancestor.get(at);
    }
    let mut least = label.get(at);
    while let Some(below) = path.pop() {
        least = least.min(label.get(below));
        label.set(below, least);
        ancestor.set(below, next);
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::InMemory;
    use crate::watch::Unwatched;
    use proptest::prelude::*;

    struct Lists {
        targets: Vec<Vec<u64>>,
        roots: Vec<u64>,
    }

    impl Graph for Lists {
        fn nodes(&self) -> u64 {
            self.targets.len() as u64
        }
        fn roots(&self) -> Vec<u64> {
            self.roots.clone()
        }
        fn targets(&self, node: u64, each: impl FnMut(u64)) {
            self.targets[node as usize].iter().copied().for_each(each);
        }
    }

    fn reachable(graph: &Lists, without: Option<u64>) -> Vec<bool> {
        let mut seen = vec![false; graph.targets.len()];
        let mut waiting: Vec<u64> = graph.roots.clone();
        while let Some(node) = waiting.pop() {
            if Some(node) != without && !std::mem::replace(&mut seen[node as usize], true) {
                waiting.extend(&graph.targets[node as usize]);
            }
        }
        seen
    }

    /// By the definition: a dominates b if b cannot be reached without a. The one right above is dominated by all others.
    fn by_definition(graph: &Lists) -> Vec<Option<Option<u64>>> {
        let nodes = graph.targets.len() as u64;
        let all = reachable(graph, None);
        let without: Vec<Vec<bool>> = (0..nodes).map(|node| reachable(graph, Some(node))).collect();
        let dominates = |a: u64, b: u64| a != b && all[b as usize] && !without[a as usize][b as usize];
        let above = |b: u64| {
            let mut candidates: Vec<u64> =
                (0..nodes).filter(|&a| all[a as usize] && dominates(a, b)).collect();
            candidates.sort_by_key(|&a| (0..nodes).filter(|&c| all[c as usize] && dominates(c, a)).count());
            candidates.last().copied()
        };
        (0..nodes).map(|b| all[b as usize].then(|| above(b))).collect()
    }

    fn computed(graph: &Lists) -> Vec<Option<Option<u64>>> {
        let tree = Dominators::of(graph, &InMemory, &Unwatched).unwrap();
        let of = |node| match tree.number.get(node) {
            0 => None,
            number => Some(match tree.above.get(number) {
                0 => None,
                above => Some(tree.node.get(above)),
            }),
        };
        (0..graph.nodes()).map(of).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        #[test]
        fn random_graphs_agree_with_the_definition(
            nodes in 1_u64..24,
            edges in proptest::collection::vec((0_u64..24, 0_u64..24), 0..70),
            roots in proptest::collection::vec(0_u64..24, 0..4),
        ) {
            let mut graph = Lists { targets: vec![Vec::new(); nodes as usize], roots: roots.iter().map(|r| r % nodes).collect() };
            for (from, to) in edges {
                graph.targets[(from % nodes) as usize].push(to % nodes);
            }
            prop_assert_eq!(computed(&graph), by_definition(&graph));
        }
    }

    #[test]
    fn a_long_list_takes_no_stack_and_little_time() {
        let nodes = 300_000;
        // Doubly linked, with a reference from its end to its middle.
        let mut targets: Vec<Vec<u64>> =
            (0..nodes).map(|i: u64| vec![(i + 1).min(nodes - 1), i.saturating_sub(1)]).collect();
        targets[nodes as usize - 1].push(nodes / 2);
        let graph = Lists { targets, roots: vec![0] };
        let tree = Dominators::of(&graph, &InMemory, &Unwatched).unwrap();
        assert_eq!(tree.reached, nodes);
        assert!((1..nodes).all(|i| tree.node.get(tree.above.get(tree.number.get(i))) == i - 1));
    }
}
