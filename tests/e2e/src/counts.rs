//! Questions to a profile, in the words of the tests.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use quipu_profile::{NodeId, Profile};

/// What was counted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Calls.
    pub calls: u64,
    /// Bytecodes executed by the method itself.
    pub bytecodes: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.calls += other.calls;
        self.bytecodes += other.bytecodes;
    }
}

/// The tree of a thread, or of the threads that share one.
#[derive(Debug)]
pub struct ThreadCounts<'p> {
    profile: &'p Profile,
    roots: Vec<NodeId>,
}

impl<'p> ThreadCounts<'p> {
    /// The threads whose names `wanted` accepts.
    pub fn of(profile: &'p Profile, wanted: impl Fn(&str) -> bool) -> Self {
        let threads = profile.threads().iter().filter(|thread| wanted(profile.str(thread.name)));
        Self { profile, roots: threads.map(|thread| thread.root).collect() }
    }

    /// How many trees there are.
    pub fn trees(&self) -> usize {
        self.roots.len()
    }

    /// How many threads ran in them.
    pub fn threads(&self) -> u64 {
        let mine = self.profile.threads().iter().filter(|thread| self.roots.contains(&thread.root));
        mine.map(|thread| thread.threads).sum()
    }

    /// All contexts of a method together; of all its overloads.
    pub fn method(&self, class: &str, name: &str) -> Counts {
        let mut sum = Counts::default();
        for node in self.nodes() {
            if self.is(node, class, name) {
                sum += self.counts(node);
            }
        }
        sum
    }

    /// Contexts of a method.
    pub fn contexts(&self, class: &str, name: &str) -> Vec<NodeId> {
        self.nodes().filter(|&node| self.is(node, class, name)).collect()
    }

    /// The context with this path of `Class.method` from some node on; exactly the frames named.
    pub fn path(&self, path: &[&str]) -> Counts {
        let mut sum = Counts::default();
        for node in self.nodes() {
            if self.ends_with(node, path) {
                sum += self.counts(node);
            }
        }
        sum
    }

    /// Goes up no further than the frames named: recursions are deep.
    fn ends_with(&self, node: NodeId, path: &[&str]) -> bool {
        let tree = self.profile.tree();
        let mut node = Some(node);
        path.iter().rev().all(|&name| {
            let method = node.and_then(|node| tree.method(node));
            node = node.and_then(|node| tree.parent(node));
            method.is_some_and(|method| self.profile.method_name(method) == name)
        })
    }

    /// `Class.method` of every frame above a context, and of itself.
    pub fn path_of(&self, node: NodeId) -> Vec<String> {
        let tree = self.profile.tree();
        let methods = tree.path(node).into_iter().filter_map(|node| tree.method(node));
        methods.map(|method| self.profile.method_name(method)).collect()
    }

    /// `class.method(descriptor)` of every frame above a context, and of itself.
    pub fn full_path_of(&self, node: NodeId) -> Vec<String> {
        self.profile.tree().path(node).into_iter().map(|node| self.name(node)).collect()
    }

    /// Native or intrinsic.
    pub fn is_opaque(&self, node: NodeId) -> bool {
        let method = self.profile.tree().method(node);
        method.is_some_and(|method| self.profile.method(method).flags.opaque())
    }

    /// By `class.method(descriptor)`, all contexts together.
    pub fn by_method(&self) -> BTreeMap<String, Counts> {
        let mut sums: BTreeMap<String, Counts> = BTreeMap::new();
        for node in self.nodes() {
            *sums.entry(self.name(node)).or_default() += self.counts(node);
        }
        sums
    }

    /// Everything.
    pub fn total(&self) -> Counts {
        let mut sum = Counts::default();
        for node in self.nodes() {
            sum += self.counts(node);
        }
        sum
    }

    /// How deep the tree is, opaque methods aside.
    pub fn depth(&self) -> u32 {
        let depths = self.profile.tree().depths();
        self.nodes()
            .filter(|&node| !self.is_opaque(node))
            .map(|node| depths[node as usize])
            .max()
            .unwrap_or(0)
    }

    /// What one context counted.
    pub fn counts(&self, node: NodeId) -> Counts {
        let value =
            |metric: &str| self.profile.metric(metric).map_or(0, |metric| metric.values()[node as usize]);
        Counts { calls: value("calls"), bytecodes: value("bytecodes") }
    }

    /// How many samples were taken in one context.
    pub fn samples(&self, node: NodeId) -> u64 {
        self.profile.metric("samples.bytecodes").map_or(0, |metric| metric.values()[node as usize])
    }

    /// How many samples were taken in all contexts of a method together.
    pub fn samples_of(&self, class: &str, name: &str) -> u64 {
        self.contexts(class, name).into_iter().map(|node| self.samples(node)).sum()
    }

    /// How many samples were taken at all.
    pub fn all_samples(&self) -> u64 {
        self.nodes().map(|node| self.samples(node)).sum()
    }

    /// `class.method(descriptor)` of a context.
    pub fn name(&self, node: NodeId) -> String {
        let Some(method) = self.profile.tree().method(node) else { return String::new() };
        format!(
            "{}{}",
            self.profile.method_name(method),
            self.profile.str(self.profile.method(method).descriptor)
        )
    }

    /// The contexts, parents first.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.roots.iter().flat_map(|&root| self.profile.tree().subtree(root).skip(1))
    }

    fn is(&self, node: NodeId, class: &str, name: &str) -> bool {
        self.profile.tree().method(node).is_some_and(|method| {
            let method = self.profile.method(method);
            (self.profile.str(method.class), self.profile.str(method.name)) == (class, name)
        })
    }
}
