//! How much a method and everything below it has done so far: what a program is told about itself while it runs.

use std::collections::HashMap;

use crate::reader::Contents;
use crate::record::Record;

/// A method to look for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Internal name of its class, in the JVM's modified UTF-8.
    pub class: &'a [u8],
    /// Its name.
    pub name: &'a [u8],
    /// Its descriptor; any if none.
    pub descriptor: Option<&'a [u8]>,
}

/// What the outermost calls of a method have done, without the initialisation of classes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Work {
    /// Calls of the method that were not below another.
    pub runs: u64,
    /// Bytecodes.
    pub bytecodes: u64,
    /// Calls, those of the method included.
    pub calls: u64,
    /// Instructions that make objects or arrays, as far as blocks were counted.
    pub allocations: u64,
    /// Bytecodes that each method executed itself: `class.name` as in the log, most first.
    pub hot: Vec<(Vec<u8>, u64)>,
}

struct Method<'a> {
    class: &'a [u8],
    name: &'a [u8],
    descriptor: &'a [u8],
    per_call: u64,
    /// Allocations of each counted block.
    allocations: Vec<u64>,
    derived: u64,
}

/// Adds up what an arena has of a method.
pub fn work(contents: &Contents<'_>, wanted: &Wanted<'_>) -> Work {
    let methods = methods(contents);
    let mut work = Work::default();
    let mut hot: HashMap<u32, u64> = HashMap::new();
    // Whether a node is below the method. Parents come before their children.
    let mut inside = vec![false; contents.nodes.len()];
    for (at, node) in contents.nodes.iter().enumerate() {
        let Some(method) = methods.get(&node.method) else { continue };
        let below = node.parent.is_some_and(|parent| inside.get(parent as usize) == Some(&true));
        let begins = !below && wanted.is(method);
        if !(begins || below && method.name != b"<clinit>") {
            continue;
        }
        if let Some(here) = inside.get_mut(at) {
            *here = true;
        }
        let add = |sum: &mut u64, n: u64| *sum = sum.saturating_add(n);
        if begins {
            add(&mut work.runs, node.calls);
        }
        // Some of what it executes follows from its calls.
        let executed = method.per_call.wrapping_mul(node.calls).wrapping_add(node.bytecodes);
        add(&mut work.bytecodes, executed);
        add(hot.entry(node.method).or_default(), executed);
        add(&mut work.calls, node.calls.saturating_mul(1 + method.derived));
        for (count, allocations) in contents.block_counts(node).zip(&method.allocations) {
            add(&mut work.allocations, count.saturating_mul(*allocations));
        }
    }
    let mut hot: Vec<(u32, u64)> = hot.into_iter().filter(|(_, executed)| *executed > 0).collect();
    hot.sort_unstable_by_key(|&(id, executed)| (std::cmp::Reverse(executed), id));
    let named = |id| methods.get(&id).map_or_else(Vec::new, |m| [m.class, b".", m.name].concat());
    work.hot = hot.into_iter().map(|(id, executed)| (named(id), executed)).collect();
    work
}

impl Wanted<'_> {
    fn is(&self, method: &Method<'_>) -> bool {
        (self.class, self.name) == (method.class, method.name)
            && self.descriptor.is_none_or(|descriptor| descriptor == method.descriptor)
    }
}

fn methods<'a>(contents: &Contents<'a>) -> HashMap<u32, Method<'a>> {
    let mut classes: HashMap<u32, &[u8]> = HashMap::new();
    let mut methods = HashMap::new();
    for record in &contents.records {
        match *record {
            Record::Class { id, name, .. } => {
                classes.insert(id, name);
            }
            Record::Method { id, class, per_call, name, descriptor, blocks, derived, .. } => {
                let Some(&class) = classes.get(&class) else { continue };
                let words = blocks.chunks_exact(6).filter_map(|block| block.get(4..6)?.try_into().ok());
                let method = Method {
                    class,
                    name,
                    descriptor,
                    per_call: per_call.into(),
                    allocations: words.map(|word| u16::from_ne_bytes(word).into()).collect(),
                    derived: derived.len() as u64 / 4,
                };
                methods.insert(id, method);
            }
            _ => {}
        }
    }
    methods
}
