//! The contexts, and the file they are written to.

use std::collections::HashMap;
use std::io::{self, Write};

use crate::recorder::Method;
use crate::roles::Role;

/// Index of a node.
pub type NodeId = u32;

/// The root of what the program does.
pub const CALLS: NodeId = 0;
/// The root of what loads and links classes.
pub const LOADING: NodeId = 1;

/// How a leaf's call was made; a caller that was rewritten can count only what it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// By an instruction that names the method.
    Directly,
    /// By an instruction that leaves it to the receiver's class.
    Virtually,
    /// By the VM, by native code, or by a method without a context.
    Otherwise,
}

#[derive(Debug)]
struct Node {
    parent: NodeId,
    method: u32,
    calls: u64,
    bytecodes: u64,
    direct: u64,
    by_receiver: u64,
}

/// The contexts.
#[derive(Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    children: HashMap<(NodeId, u32), NodeId>,
}

impl Tree {
    /// The two roots.
    pub fn new() -> Tree {
        let root = || Node { parent: 0, method: 0, calls: 0, bytecodes: 0, direct: 0, by_receiver: 0 };
        Tree { nodes: vec![root(), root()], children: HashMap::new() }
    }

    /// Counts a call of a method below a context, and returns its own context.
    pub fn call(&mut self, parent: NodeId, method: u32) -> NodeId {
        let next = self.nodes.len() as NodeId;
        let node = *self.children.entry((parent, method)).or_insert(next);
        if node == next {
            self.nodes.push(Node { parent, method, calls: 0, bytecodes: 0, direct: 0, by_receiver: 0 });
        }
        self.nodes[node as usize].calls += 1;
        node
    }

    /// Says how the last call of a leaf was made.
    pub fn made(&mut self, node: NodeId, how: Made) {
        match how {
            Made::Directly => self.nodes[node as usize].direct += 1,
            Made::Virtually => self.nodes[node as usize].by_receiver += 1,
            Made::Otherwise => {}
        }
    }

    /// Counts one bytecode.
    pub fn step(&mut self, node: NodeId) {
        self.nodes[node as usize].bytecodes += 1;
    }

    /// One line for each node, parents first, fields separated by tabs: id, parent, class, method, descriptor, what it
    /// is, calls, bytecodes, calls made directly and virtually. Methods without a context are there as leaves if they
    /// were called virtually: a caller might take them for the opaque method that they override.
    pub fn write(&self, methods: &[Method], out: &mut impl Write) -> io::Result<()> {
        for (id, node) in self.nodes.iter().enumerate().skip(2) {
            let Node { parent, calls, bytecodes, direct, by_receiver, .. } = node;
            let Method { class, name, descriptor, role, .. } = &methods[node.method as usize];
            let kind = match role {
                role if role.is_opaque() => "opaque",
                Role::Transparent => "transparent",
                _ => "counted",
            };
            write!(out, "node\t{id}\t{parent}\t{class}\t{name}\t{descriptor}\t{kind}\t")?;
            writeln!(out, "{calls}\t{bytecodes}\t{direct}\t{by_receiver}")?;
        }
        Ok(())
    }
}
