//! The node columns: preorder lets the shape of the tree be one small number per node.

use super::bytes::{Reader, put};
use super::error::ReadError;
use crate::{MethodId, NO_METHOD, NO_NODE, NodeId, Tree, UNKNOWN_SITE};

/// Shape: for each node how many levels up from the node before its parent is; 0 for a first child. One level is
/// counted above the first node, so roots need no special case.
pub(super) fn put_shape(out: &mut Vec<u8>, tree: &Tree) {
    put(out, tree.len() as u64);
    let mut path: Vec<NodeId> = Vec::new();
    for (node, &parent) in tree.parent.iter().enumerate() {
        let mut up = 0;
        while path.last().copied().unwrap_or(NO_NODE) != parent {
            path.pop();
            up += 1;
        }
        put(out, up);
        path.push(node as NodeId);
    }
}

/// Parents by node, and the roots.
pub(super) fn shape(reader: &mut Reader<'_>) -> Result<(Vec<NodeId>, Vec<NodeId>), ReadError> {
    let count = reader.count()?;
    if count >= NO_NODE as usize {
        return Err(reader.malformed("too many nodes"));
    }
    let mut parent = Vec::with_capacity(count);
    let (mut path, mut roots) = (Vec::new(), Vec::new());
    for node in 0..count as NodeId {
        let up = reader.varint()?;
        if up > path.len() as u64 {
            return Err(reader.malformed(format!("node {node} hangs above its root")));
        }
        path.truncate(path.len() - up as usize);
        match path.last() {
            Some(&above) => parent.push(above),
            None => {
                roots.push(node);
                parent.push(NO_NODE);
            }
        }
        path.push(node);
    }
    Ok((parent, roots))
}

/// Methods of all nodes but roots.
pub(super) fn put_methods(out: &mut Vec<u8>, tree: &Tree) {
    for &method in tree.method.iter().filter(|&&method| method != NO_METHOD) {
        put(out, u64::from(method));
    }
}

pub(super) fn methods(
    reader: &mut Reader<'_>,
    parent: &[NodeId],
    methods: usize,
) -> Result<Vec<MethodId>, ReadError> {
    reader.at_least(parent.iter().filter(|&&above| above != NO_NODE).count())?;
    let mut out = Vec::with_capacity(parent.len());
    for &above in parent {
        out.push(if above == NO_NODE { NO_METHOD } else { reader.index(methods)? });
    }
    Ok(out)
}

/// Sites plus one of all nodes but roots. The section is left out when no site is known.
pub(super) fn put_sites(out: &mut Vec<u8>, tree: &Tree) {
    for (&site, _) in tree.site.iter().zip(&tree.parent).filter(|(_, parent)| **parent != NO_NODE) {
        put(out, (i64::from(site) + 1) as u64);
    }
}

pub(super) fn sites(reader: &mut Reader<'_>, parent: &[NodeId]) -> Result<Vec<i32>, ReadError> {
    reader.at_least(parent.iter().filter(|&&above| above != NO_NODE).count())?;
    let mut out = Vec::with_capacity(parent.len());
    for &above in parent {
        out.push(if above == NO_NODE {
            UNKNOWN_SITE
        } else {
            (i64::from(reader.index(1 << 31)?) - 1) as i32
        });
    }
    Ok(out)
}

/// The finished tree, when siblings are sorted and distinct as the model promises.
pub(super) fn tree(
    reader: &Reader<'_>,
    parent: Vec<NodeId>,
    method: Vec<MethodId>,
    site: Vec<i32>,
) -> Result<Tree, ReadError> {
    let mut tree = Tree { parent, method, site, end: Vec::new() };
    tree.compute_ends();
    for node in 0..tree.len() {
        // The next sibling, if any, stands where this subtree ends and has the same parent.
        let next = tree.end[node] as usize;
        if next < tree.len()
            && tree.parent[next] == tree.parent[node]
            && tree.parent[node] != NO_NODE
            && (tree.method[node], tree.site[node]) >= (tree.method[next], tree.site[next])
        {
            return Err(reader.malformed(format!("siblings {node} and {next} are out of order")));
        }
    }
    Ok(tree)
}
