//! The only way to make a profile: feed in any order, get the canonical form.

use crate::canon;
use crate::strings::Interner;
use crate::{
    Block, Event, LabelsId, Line, Meta, Method, MethodFlags, MethodId, MethodSpec, MetricId, MetricSpec,
    NO_LABELS, NO_METHOD, NO_NODE, NO_THREAD, NodeId, Profile, Run, Sample, StrId, Thread, ThreadId,
    ThreadSpec,
};
use rustc_hash::FxHashMap;

/// Name, group, kind and labels.
type ThreadKey = (StrId, StrId, u8, Vec<(StrId, StrId)>);

/// Collects methods, threads, nodes and counts, and [finishes](Builder::finish) them into a [`Profile`].
///
/// Ids handed out here are the builder's own; the finished profile numbers everything anew. Nodes that turn out to
/// be the same context (parent, method, site) become one and their values are combined, so a feeder that cannot
/// tell may [`push`](Builder::push) the same context many times: merging happens once, in `finish`, by sorting.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    /// Goes into the profile as it is.
    pub meta: Meta,
    /// Goes into the profile as it is.
    pub run: Run,
    pub(crate) strings: Interner,
    pub(crate) methods: Vec<Method>,
    method_index: FxHashMap<(StrId, StrId, StrId, StrId), MethodId>,
    pub(crate) threads: Vec<Thread>,
    thread_index: FxHashMap<ThreadKey, ThreadId>,
    pub(crate) parent: Vec<NodeId>,
    pub(crate) method: Vec<MethodId>,
    pub(crate) site: Vec<i32>,
    pub(crate) metrics: Vec<(MetricSpec, Vec<u64>)>,
    child_index: FxHashMap<(NodeId, MethodId, i32), NodeId>,
    pub(crate) label_sets: Vec<Vec<(StrId, StrId)>>,
    labels_index: FxHashMap<Vec<(StrId, StrId)>, LabelsId>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) events: Vec<Event>,
}

impl Builder {
    /// An empty builder.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// An empty builder with room for this many nodes.
    pub fn with_capacity(nodes: usize) -> Builder {
        let mut builder = Builder::default();
        builder.parent.reserve(nodes);
        builder.method.reserve(nodes);
        builder.site.reserve(nodes);
        builder
    }

    /// Interns a string, for events and labels.
    pub fn string(&mut self, text: &str) -> StrId {
        self.strings.intern(text)
    }

    /// Adds a method, or finds it by (class, name, descriptor, loader); details not known before are filled in.
    pub fn method(&mut self, spec: MethodSpec<'_>) -> MethodId {
        let key = (
            self.strings.intern(spec.class),
            self.strings.intern(spec.name),
            self.strings.intern(spec.descriptor),
            self.strings.intern(spec.loader),
        );
        let (source, module) = (self.strings.intern(spec.source), self.strings.intern(spec.module));
        let id = *self.method_index.entry(key).or_insert_with(|| {
            let (class, name, descriptor, loader) = key;
            self.methods.push(Method { class, name, descriptor, loader, ..Method::default() });
            self.methods.len() as MethodId - 1
        });
        let method = &mut self.methods[id as usize];
        method.flags = method.flags | spec.flags;
        // Sources that disagree are settled by the text, not by who came first: content must not depend on order.
        method.source = self.strings.larger(method.source, source);
        method.module = self.strings.larger(method.module, module);
        if !spec.lines.is_empty() {
            let mut lines: Vec<Line> = spec.lines.to_vec();
            lines.sort_unstable();
            lines.dedup_by_key(|line| line.bci);
            if lines > method.lines {
                method.lines = lines;
            }
        }
        id
    }

    /// Marks a known method as native, intrinsic or foreign.
    pub fn set_flags(&mut self, method: MethodId, flags: MethodFlags) {
        let slot = &mut self.methods[method as usize].flags;
        *slot = *slot | flags;
    }

    /// Counts executions of one block of a method; the same (bci, instructions) again adds up.
    pub fn block(&mut self, method: MethodId, block: Block) {
        self.methods[method as usize].blocks.push(block);
    }

    /// Adds a thread, or finds it by (name, group, kind, labels) and adds to its thread count.
    pub fn thread(&mut self, spec: ThreadSpec<'_>) -> ThreadId {
        let (name, group) = (self.strings.intern(spec.name), self.strings.intern(spec.group));
        let key = (name, group, spec.kind as u8, self.pairs(spec.labels));
        if let Some(&id) = self.thread_index.get(&key) {
            let thread = &mut self.threads[id as usize];
            thread.threads = thread.threads.saturating_add(spec.threads);
            return id;
        }
        let root = self.append(NO_NODE, NO_METHOD, crate::UNKNOWN_SITE);
        let labels = key.3.clone();
        self.threads.push(Thread { name, group, kind: spec.kind, threads: spec.threads, labels, root });
        let id = self.threads.len() as ThreadId - 1;
        self.thread_index.insert(key, id);
        id
    }

    /// The root node of a thread, the parent of its outermost methods.
    pub fn root(&self, thread: ThreadId) -> NodeId {
        self.threads[thread as usize].root
    }

    /// Adds a metric, or finds it by name; unit, kind and aggregation are those given first.
    pub fn metric(&mut self, spec: MetricSpec) -> MetricId {
        if let Some(id) = self.metrics.iter().position(|(known, _)| known.name == spec.name) {
            return id as MetricId;
        }
        self.metrics.push((spec, Vec::new()));
        self.metrics.len() as MetricId - 1
    }

    /// Appends a node without looking whether the context is there already. `site` is the bci of the call in the
    /// parent's method or [`UNKNOWN_SITE`](crate::UNKNOWN_SITE).
    ///
    /// # Panics
    /// If the parent or method was not handed out by this builder.
    #[inline]
    pub fn push(&mut self, parent: NodeId, method: MethodId, site: i32) -> NodeId {
        assert!((parent as usize) < self.parent.len(), "unknown parent {parent}");
        assert!((method as usize) < self.methods.len(), "unknown method {method}");
        self.append(parent, method, site.max(crate::UNKNOWN_SITE))
    }

    /// Finds the node made by an earlier call of this function, or appends it. For feeders that have stacks instead
    /// of a tree; slower than [`push`](Builder::push).
    ///
    /// # Panics
    /// As [`push`](Builder::push).
    pub fn child(&mut self, parent: NodeId, method: MethodId, site: i32) -> NodeId {
        let key = (parent, method, site.max(crate::UNKNOWN_SITE));
        if let Some(&node) = self.child_index.get(&key) {
            return node;
        }
        let node = self.push(parent, method, site);
        self.child_index.insert(key, node);
        node
    }

    /// The node that another one is below; itself, for a root.
    ///
    /// # Panics
    /// If the node was not handed out by this builder.
    pub fn parent(&self, node: NodeId) -> NodeId {
        match self.parent[node as usize] {
            NO_NODE => node,
            parent => parent,
        }
    }

    /// Whether a node is below one of a method.
    ///
    /// # Panics
    /// If the node was not handed out by this builder.
    pub fn is_below(&self, node: NodeId, method: MethodId) -> bool {
        let above = |node: &NodeId| Some(self.parent[*node as usize]).filter(|&parent| parent != NO_NODE);
        std::iter::successors(above(&node), above).any(|node| self.method[node as usize] == method)
    }

    /// Adds to a node's own value of a metric (or raises it, for metrics that keep the largest).
    #[inline]
    pub fn add(&mut self, node: NodeId, metric: MetricId, value: u64) {
        let nodes = self.parent.len();
        let (spec, values) = &mut self.metrics[metric as usize];
        let at = node as usize;
        if at >= values.len() {
            assert!(at < nodes, "unknown node {node}");
            if value == 0 {
                return;
            }
            values.resize(at + 1, 0);
        }
        values[at] = spec.aggregation.combine(values[at], value);
    }

    /// The id of a set of labels, for samples; in any order.
    pub fn labels(&mut self, labels: &[(&str, &str)]) -> LabelsId {
        let set = self.pairs(labels);
        if set.is_empty() {
            return NO_LABELS;
        }
        *self.labels_index.entry(set).or_insert_with_key(|set| {
            self.label_sets.push(set.clone());
            self.label_sets.len() as LabelsId
        })
    }

    fn pairs(&mut self, labels: &[(&str, &str)]) -> Vec<(StrId, StrId)> {
        let mut pairs: Vec<_> = labels
            .iter()
            .map(|(key, value)| (self.strings.intern(key), self.strings.intern(value)))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// Records a sample with its time. It does not change the tree's metrics: call [`add`](Builder::add) as well.
    ///
    /// # Panics
    /// If thread, node, metric or labels are unknown.
    pub fn sample(&mut self, sample: Sample) {
        assert!((sample.thread as usize) < self.threads.len(), "unknown thread");
        assert!((sample.node as usize) < self.parent.len(), "unknown node");
        assert!((sample.metric as usize) < self.metrics.len(), "unknown metric");
        assert!((sample.labels as usize) <= self.label_sets.len(), "unknown labels");
        self.samples.push(sample);
    }

    /// The method of a node, or of its parent if it is a detail.
    pub(crate) fn method_with_code(&self, node: NodeId) -> MethodId {
        let is_detail = |method: MethodId| method != NO_METHOD && self.methods[method as usize].is_detail();
        match (self.method[node as usize], self.parent[node as usize]) {
            (method, parent) if is_detail(method) && parent != NO_NODE => self.method[parent as usize],
            (method, _) => method,
        }
    }

    /// Records a timeline event; its strings come from [`string`](Builder::string).
    ///
    /// # Panics
    /// If thread or strings are unknown.
    pub fn event(&mut self, event: Event) {
        assert!(event.thread == NO_THREAD || (event.thread as usize) < self.threads.len(), "unknown thread");
        assert!(event.node == NO_NODE || (event.node as usize) < self.parent.len(), "unknown node");
        let strings = self.strings.table.len() as u32;
        assert!(event.name < strings && event.details.iter().all(|&(k, v)| k < strings && v < strings));
        self.events.push(event);
    }

    /// How many nodes have been appended, roots included.
    pub fn node_count(&self) -> usize {
        self.parent.len()
    }

    /// The canonical profile: equal contexts merged, everything sorted, methods nothing refers to left out.
    pub fn finish(self) -> Profile {
        canon::finish(self)
    }

    fn append(&mut self, parent: NodeId, method: MethodId, site: i32) -> NodeId {
        let node = self.parent.len();
        assert!(node < NO_NODE as usize, "a profile has fewer than 2^32 - 1 nodes");
        self.parent.push(parent);
        self.method.push(method);
        self.site.push(site);
        node as NodeId
    }
}
