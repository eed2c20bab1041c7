//! What objects of random graphs hold, against the definition.

mod support;

use proptest::prelude::*;
use quipu_heap::{Analysis, Dump, InMemory, Unwatched};
use support::{OBJECTS, Writer};

/// Arrays that refer to each other. What they refer to is in their first places; the others are empty.
struct Graph {
    lengths: Vec<usize>,
    targets: Vec<Vec<usize>>,
    roots: Vec<usize>,
}

fn id(node: usize) -> u64 {
    0x10_000 + 0x200 * node as u64
}

impl Graph {
    fn dump(&self) -> Vec<u8> {
        let mut writer = Writer::new(8);
        for (node, (&length, targets)) in self.lengths.iter().zip(&self.targets).enumerate() {
            let mut elements: Vec<u64> = targets.iter().take(length).map(|&target| id(target)).collect();
            elements.resize(length, 0);
            writer.array(id(node), OBJECTS, &elements);
        }
        self.roots.iter().for_each(|&root| writer.root(id(root)));
        writer.finish()
    }

    fn held(&self) -> Vec<Option<u64>> {
        let bytes = self.dump();
        let dump = Dump::open(&bytes, &Unwatched).expect("a dump");
        let analysis = Analysis::new(&dump, &InMemory, &Unwatched).expect("it fits");
        (0..self.lengths.len()).map(|node| analysis.retained_by(id(node))).collect()
    }

    /// What each takes itself: what it holds if nothing refers to anything.
    fn sizes(&self) -> Vec<u64> {
        let alone = Graph {
            lengths: self.lengths.clone(),
            targets: vec![Vec::new(); self.lengths.len()],
            roots: (0..self.lengths.len()).collect(),
        };
        alone.held().into_iter().map(|size| size.expect("a root")).collect()
    }

    fn reachable(&self, without: Option<usize>) -> Vec<bool> {
        let mut seen = vec![false; self.lengths.len()];
        let mut waiting = self.roots.clone();
        while let Some(node) = waiting.pop() {
            if Some(node) != without && !std::mem::replace(&mut seen[node], true) {
                waiting.extend(self.targets[node].iter().take(self.lengths[node]));
            }
        }
        seen
    }

    /// An object holds what cannot be reached without it.
    fn by_definition(&self) -> Vec<Option<u64>> {
        let (sizes, all) = (self.sizes(), self.reachable(None));
        let held = |node: usize| {
            let without = self.reachable(Some(node));
            (0..sizes.len()).filter(|&other| all[other] && !without[other]).map(|other| sizes[other]).sum()
        };
        (0..sizes.len()).map(|node| all[node].then(|| held(node))).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn retained_sizes_agree_with_the_definition(
        lengths in proptest::collection::vec(0_usize..20, 1..32),
        edges in proptest::collection::vec((0_usize..32, 0_usize..32), 0..90),
        roots in proptest::collection::vec(0_usize..32, 0..4),
    ) {
        let nodes = lengths.len();
        let mut targets = vec![Vec::new(); nodes];
        edges.iter().for_each(|(from, to)| targets[from % nodes].push(to % nodes));
        let roots = roots.iter().map(|root| root % nodes).collect();
        let graph = Graph { lengths, targets, roots };
        prop_assert_eq!(graph.held(), graph.by_definition());
    }
}
