//! Operations that look at frames: focus, hide, cut to a package, re-root, collapse recursion.

use crate::{Builder, MethodId, NO_NODE, NodeId, Profile, UNKNOWN_SITE};

impl Profile {
    /// Only contexts that pass through a method `wanted` holds of: it, its callers above and all below it. Callers keep
    /// their place and lose their own values, so totals are those of the wanted methods.
    pub fn focus(&self, wanted: impl Fn(&Profile, MethodId) -> bool) -> Profile {
        let (tree, marks) = (&self.tree, self.mark(wanted));
        // Up to which node we are inside an outermost wanted subtree; preorder makes that one number.
        let mut inside = vec![false; tree.len()];
        let mut until = 0;
        for node in 0..tree.len() as NodeId {
            if node >= until && self.is_marked(&marks, node) {
                until = tree.end(node);
            }
            inside[node as usize] = node < until;
        }
        let mut needed = inside.clone();
        for node in (0..tree.len()).rev() {
            let parent = tree.parent[node];
            if needed[node] && parent != NO_NODE {
                needed[parent as usize] = true;
            }
        }
        let mut kept = self.transform(
            |thread| needed[thread.root as usize],
            |builder, placed, node, method| match needed[node as usize] {
                true => builder.push(
                    placed[tree.parent[node as usize] as usize],
                    method,
                    tree.site[node as usize],
                ),
                false => NO_NODE,
            },
        );
        // A focused tree has the same nodes in the same order, so the callers' values are found by counting along.
        let outside: Vec<bool> =
            (0..tree.len()).filter(|&node| needed[node]).map(|node| !inside[node]).collect();
        for metric in &mut kept.metrics {
            metric
                .values
                .iter_mut()
                .zip(&outside)
                .filter(|(_, outside)| **outside)
                .for_each(|(value, _)| *value = 0);
        }
        kept.samples.retain(|sample| !outside[sample.node as usize]);
        kept
    }

    /// Without frames of methods `unwanted` holds of; their values go to the caller that is left.
    pub fn hide(&self, unwanted: impl Fn(&Profile, MethodId) -> bool) -> Profile {
        let (tree, marks) = (&self.tree, self.mark(unwanted));
        self.transform(
            |_| true,
            |builder, placed, node, method| {
                let above = placed[tree.parent[node as usize] as usize];
                if self.is_marked(&marks, node) {
                    above
                } else {
                    builder.push(above, method, self.site_below(&marks, node))
                }
            },
        )
    }

    /// Only frames of methods `wanted` holds of, for a package say. What they call elsewhere is charged to them; what
    /// happens outside of them is dropped.
    pub fn only(&self, wanted: impl Fn(&Profile, MethodId) -> bool) -> Profile {
        let (tree, marks) = (&self.tree, self.mark(wanted));
        let hidden: Vec<bool> = marks.iter().map(|wanted| !wanted).collect();
        // Builder nodes that stand for "nothing wanted yet": the roots. Their values must not be kept.
        let mut result = self.transform(
            |_| true,
            |builder, placed, node, method| {
                let above = placed[tree.parent[node as usize] as usize];
                if self.is_marked(&marks, node) {
                    builder.push(above, method, self.site_below(&hidden, node))
                } else {
                    above
                }
            },
        );
        let roots: Vec<NodeId> = result.threads.iter().map(|thread| thread.root).collect();
        for metric in &mut result.metrics {
            roots.iter().for_each(|&root| metric.values[root as usize] = 0);
        }
        result.samples.retain(|sample| roots.binary_search(&sample.node).is_err());
        result
    }

    /// Only classes of this package and the packages below it.
    pub fn only_package(&self, package: &str) -> Profile {
        self.only(|profile, method| {
            let found = crate::package_of(profile.str(profile.method(method).class));
            found.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    /// Trees that begin at the outermost calls of methods `wanted` holds of; the callers above them are gone.
    pub fn root_at(&self, wanted: impl Fn(&Profile, MethodId) -> bool) -> Profile {
        let (tree, marks) = (&self.tree, self.mark(wanted));
        let mut root_of = vec![NO_NODE; tree.len()];
        for thread in &self.threads {
            for node in tree.subtree(thread.root) {
                root_of[node as usize] = thread.root;
            }
        }
        let mut until = 0;
        let mut result = self.transform(
            |_| true,
            |builder: &mut Builder, placed, node, method| {
                if node < until {
                    return builder.push(
                        placed[tree.parent[node as usize] as usize],
                        method,
                        tree.site[node as usize],
                    );
                }
                if !self.is_marked(&marks, node) {
                    return NO_NODE;
                }
                until = tree.end(node);
                builder.push(placed[root_of[node as usize] as usize], method, UNKNOWN_SITE)
            },
        );
        let roots: Vec<NodeId> = result.threads.iter().map(|thread| thread.root).collect();
        for metric in &mut result.metrics {
            roots.iter().for_each(|&root| metric.values[root as usize] = 0);
        }
        result
    }

    /// Every method at most once on a path: a recursive call is counted at the frame that is already there.
    pub fn collapse_recursion(&self) -> Profile {
        let tree = &self.tree;
        // Per method: where its outermost open frame was placed, and the node at which that frame's subtree ends.
        let mut open: Vec<(NodeId, NodeId)> = vec![(NO_NODE, 0); self.methods.len()];
        self.transform(
            |_| true,
            |builder, placed, node, method| {
                let slot = &mut open[tree.method[node as usize] as usize];
                if node < slot.1 {
                    return slot.0;
                }
                let place = builder.push(
                    placed[tree.parent[node as usize] as usize],
                    method,
                    tree.site[node as usize],
                );
                *slot = (place, tree.end(node));
                place
            },
        )
    }

    /// The call site of a node whose caller may have been hidden: the bci means nothing in another method.
    fn site_below(&self, hidden: &[bool], node: NodeId) -> i32 {
        let parent = self.tree.parent[node as usize];
        if self.is_marked(hidden, parent) { UNKNOWN_SITE } else { self.tree.site[node as usize] }
    }
}
