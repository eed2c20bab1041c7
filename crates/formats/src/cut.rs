//! Cutting a tree to a number of nodes by weight, for readers that keep everything in a browser.
//!
//! A node weighs the largest share that its subtree has of any metric. Subtrees weigh at most what their parent
//! does, so the heaviest `n` nodes form a tree again. Nothing is lost from sums: what is cut is charged to the nearest
//! node that stays, as its *folded* part.

use crate::walk;
use quipu_profile::{NO_NODE, NodeId, Profile};

pub(crate) struct Cut {
    /// By node: itself when it stays, else the nearest caller that does.
    nearest: Vec<NodeId>,
    /// How many nodes were folded away.
    pub folded: usize,
}

impl Cut {
    /// Keeps the `max_nodes` heaviest nodes by these columns, roots always.
    pub fn new(profile: &Profile, columns: &[&[u64]], max_nodes: usize, min_share: f32) -> Cut {
        let parents = profile.tree().parents();
        let len = parents.len();
        let mut weights = vec![0f32; len];
        for column in columns {
            let sums = walk::sums(profile, column);
            let total: f64 = profile.threads().iter().map(|t| sums[t.root as usize] as f64).sum();
            if total > 0.0 {
                for (weight, sum) in weights.iter_mut().zip(&sums) {
                    *weight = weight.max((*sum as f64 / total) as f32);
                }
            }
        }
        let mut threshold = -1.0;
        if len > max_nodes {
            let mut order = weights.clone();
            threshold = *order.select_nth_unstable_by(max_nodes, |a, b| b.total_cmp(a)).1;
        }
        // Equally heavy nodes at the threshold are taken in preorder while there is room: callers come first.
        let heavier = weights.iter().filter(|&&w| w > threshold).count();
        let mut room = max_nodes.saturating_sub(heavier);
        let mut nearest = Vec::with_capacity(len);
        let mut folded = 0;
        for node in 0..len {
            let parent = parents[node];
            let stays = parent == NO_NODE
                || (nearest[parent as usize] == parent
                    && weights[node] >= min_share
                    && (weights[node] > threshold
                        || (weights[node] == threshold && room > 0 && {
                            room -= 1;
                            true
                        })));
            folded += usize::from(!stays);
            nearest.push(if stays { node as NodeId } else { nearest[parent as usize] });
        }
        Cut { nearest, folded }
    }

    /// True when the node stays.
    pub fn keeps(&self, node: NodeId) -> bool {
        self.nearest[node as usize] == node
    }

    /// The node itself or the nearest caller that stays.
    pub fn nearest(&self, node: NodeId) -> NodeId {
        self.nearest[node as usize]
    }

    /// By node that stays: the values of the nodes folded into it.
    pub fn folded_values(&self, values: &[u64]) -> Vec<u64> {
        let mut sums = vec![0u64; values.len()];
        for (node, &nearest) in self.nearest.iter().enumerate() {
            if nearest != node as NodeId {
                sums[nearest as usize] = sums[nearest as usize].saturating_add(values[node]);
            }
        }
        sums
    }

    /// By node that stays: how many nodes were folded into it.
    pub fn folded_counts(&self) -> Vec<u32> {
        let mut counts = vec![0u32; self.nearest.len()];
        for (node, &nearest) in self.nearest.iter().enumerate() {
            counts[nearest as usize] += u32::from(nearest != node as NodeId);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quipu_profile::{Builder, MethodSpec, MetricSpec, ThreadSpec};

    fn fan(values: &[u64]) -> Profile {
        let mut b = Builder::new();
        let metric = b.metric(MetricSpec::bytecodes());
        let thread = b.thread(ThreadSpec { name: "main", ..Default::default() });
        for (i, &value) in values.iter().enumerate() {
            let name = format!("m{i:03}");
            let method = b.method(MethodSpec { class: "A", name: &name, ..Default::default() });
            let node = b.child(b.root(thread), method, -1);
            let leaf = b.child(node, method, -1);
            b.add(leaf, metric, value);
        }
        b.finish()
    }

    #[test]
    fn the_heaviest_stay_and_sums_do_not_change() {
        let profile = fan(&[5, 50, 1, 20, 20]);
        let values = profile.metrics()[0].values();
        for max in 0..12 {
            let cut = Cut::new(&profile, &[values], max, 0.0);
            let kept = (0..values.len() as u32).filter(|&n| cut.keeps(n)).count();
            assert!(kept <= max.max(1), "{kept} of {max}");
            assert_eq!(kept + cut.folded, values.len());
            let folded = cut.folded_values(values);
            let sum: u64 =
                (0..values.len()).filter(|&n| cut.keeps(n as u32)).map(|n| values[n] + folded[n]).sum();
            assert_eq!(sum, 96);
            assert_eq!(cut.folded_counts().iter().sum::<u32>() as usize, cut.folded);
        }
        // m001 is nodes 3 and 4: the heaviest pair.
        let cut = Cut::new(&profile, &[values], 3, 0.0);
        assert!(cut.keeps(3) && cut.keeps(4) && !cut.keeps(1));
        assert_eq!(Cut::new(&profile, &[values], 100, 0.1).folded, 4);
    }
}
