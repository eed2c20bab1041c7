//! The forest of calling contexts, as columns in preorder.

use crate::{MethodId, NO_METHOD};

/// Index of a node. Parents have smaller ids than their children.
pub type NodeId = u32;

/// What a thread's root has instead of a parent.
pub const NO_NODE: NodeId = u32::MAX;

/// The site of a call whose bytecode index is not known, or not kept apart.
pub const UNKNOWN_SITE: i32 = -1;

/// Contexts of all threads. Node `n`'s subtree is `n..end(n)`; siblings are sorted by (method, site).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    pub(crate) parent: Vec<NodeId>,
    pub(crate) method: Vec<MethodId>,
    pub(crate) site: Vec<i32>,
    pub(crate) end: Vec<NodeId>,
}

impl Tree {
    /// How many nodes there are, roots included.
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// True when there is no node, not even a root.
    pub fn is_empty(&self) -> bool {
        self.parent.is_empty()
    }

    /// Parent ids by node; [`NO_NODE`] for roots.
    pub fn parents(&self) -> &[NodeId] {
        &self.parent
    }

    /// Method ids by node; [`NO_METHOD`] for roots.
    pub fn methods(&self) -> &[MethodId] {
        &self.method
    }

    /// Call sites by node: the bci in the parent's method, or [`UNKNOWN_SITE`].
    pub fn sites(&self) -> &[i32] {
        &self.site
    }

    /// Subtree ends by node.
    pub fn ends(&self) -> &[NodeId] {
        &self.end
    }

    /// The calling context, `None` for a thread's root.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        Some(self.parent[node as usize]).filter(|&parent| parent != NO_NODE)
    }

    /// The method executing, `None` for a thread's root.
    pub fn method(&self, node: NodeId) -> Option<MethodId> {
        Some(self.method[node as usize]).filter(|&method| method != NO_METHOD)
    }

    /// The bci of the call in the parent's method, when known.
    pub fn site(&self, node: NodeId) -> Option<u32> {
        u32::try_from(self.site[node as usize]).ok()
    }

    /// One past the last node of the subtree.
    pub fn end(&self, node: NodeId) -> NodeId {
        self.end[node as usize]
    }

    /// The node and everything below it.
    pub fn subtree(&self, node: NodeId) -> std::ops::Range<NodeId> {
        node..self.end(node)
    }

    /// The node's children, in canonical order.
    pub fn children(&self, node: NodeId) -> Children<'_> {
        Children { tree: self, next: node + 1, end: self.end(node) }
    }

    /// True when the node has no children.
    pub fn is_leaf(&self, node: NodeId) -> bool {
        self.end(node) == node + 1
    }

    /// Distance from the thread's root by node; roots have 0.
    pub fn depths(&self) -> Vec<u32> {
        let mut depths = vec![0; self.len()];
        for (node, &parent) in self.parent.iter().enumerate() {
            if parent != NO_NODE {
                depths[node] = depths[parent as usize] + 1;
            }
        }
        depths
    }

    /// The nodes from just below the thread's root down to `node`, outermost first.
    pub fn path(&self, node: NodeId) -> Vec<NodeId> {
        let mut path = Vec::new();
        let mut at = node;
        while let Some(parent) = self.parent(at) {
            path.push(at);
            at = parent;
        }
        path.reverse();
        path
    }

    pub(crate) fn compute_ends(&mut self) {
        let n = self.len();
        self.end = (1..=n as u32).collect();
        for node in (0..n).rev() {
            let parent = self.parent[node];
            if parent != NO_NODE {
                let end = self.end[node];
                let slot = &mut self.end[parent as usize];
                *slot = (*slot).max(end);
            }
        }
    }
}

/// Iterator over a node's children: hops from subtree to subtree.
#[derive(Clone, Debug)]
pub struct Children<'a> {
    tree: &'a Tree,
    next: NodeId,
    end: NodeId,
}

impl Iterator for Children<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        if self.next >= self.end {
            return None;
        }
        let child = self.next;
        self.next = self.tree.end(child);
        Some(child)
    }
}
