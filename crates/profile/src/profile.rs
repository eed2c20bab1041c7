//! The profile itself.

use crate::{
    Aggregation, Event, Meta, Method, MethodId, Metric, MetricId, MetricSpec, NO_NODE, NodeId, Run, Sample,
    StrId, Strings, Thread, ThreadId, Tree,
};

/// A finished, canonical profile. Made by a [`Builder`](crate::Builder) or read from a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// What was measured: part of the content.
    pub meta: Meta,
    /// The run it was measured in: not part of the content.
    pub run: Run,
    pub(crate) strings: Strings,
    pub(crate) methods: Vec<Method>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) tree: Tree,
    pub(crate) metrics: Vec<Metric>,
    /// Sets of labels that samples refer to by their place here, plus one.
    pub(crate) label_sets: Vec<Vec<(StrId, StrId)>>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) events: Vec<Event>,
}

impl Profile {
    /// The string table, sorted.
    pub fn strings(&self) -> &Strings {
        &self.strings
    }

    /// The string with this id.
    pub fn str(&self, id: StrId) -> &str {
        self.strings.get(id)
    }

    /// Methods, sorted by class, name, descriptor, loader; each is used somewhere in the profile.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// One method.
    pub fn method(&self, id: MethodId) -> &Method {
        &self.methods[id as usize]
    }

    /// `class.name` of a method, the way people write it.
    pub fn method_name(&self, id: MethodId) -> String {
        let method = self.method(id);
        match (self.str(method.class), self.str(method.name)) {
            ("", name) => name.to_owned(),
            (class, name) if method.is_detail() => format!("{class} {name}"),
            (class, name) => format!("{class}.{name}"),
        }
    }

    /// Threads, sorted by name, group, kind and labels; their trees follow each other in this order.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// The contexts.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The thread whose tree holds `node`.
    pub fn thread_of(&self, node: NodeId) -> ThreadId {
        self.threads.partition_point(|thread| thread.root <= node) as ThreadId - 1
    }

    /// Metrics: calls, bytecodes and time first, the rest by name.
    pub fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// The metric with this name.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name() == name)
    }

    /// The id of the metric with this name.
    pub fn metric_id(&self, name: &str) -> Option<MetricId> {
        self.metrics.iter().position(|metric| metric.name() == name).map(|id| id as MetricId)
    }

    /// The metric reports rank by unless told otherwise: the first one with totals, else the first.
    pub fn main_metric(&self) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.has_totals()).or(self.metrics.first())
    }

    /// Adds a metric that follows from others, with a value for each node.
    ///
    /// # Panics
    /// If there are more or fewer values than nodes, or the profile has a metric of this name.
    pub fn add_metric(&mut self, spec: MetricSpec, values: Vec<u64>) {
        assert_eq!(values.len(), self.tree.len(), "a value for each node");
        assert!(self.metric(&spec.name).is_none(), "there is a metric {}", spec.name);
        let at = self.metrics.partition_point(|metric| metric.spec.rank() < spec.rank());
        self.metrics.insert(at, Metric { spec, values });
        // The others keep their order, so samples do, too.
        self.samples.iter_mut().filter(|sample| sample.metric >= at as MetricId).for_each(|s| s.metric += 1);
    }

    /// Samples with their time, sorted; empty unless they were kept.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Timeline events, sorted by time.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Inclusive values of a metric by node: its own and everything below, combined as the metric says.
    pub fn inclusive(&self, metric: &Metric) -> Vec<u64> {
        let mut totals = metric.values.clone();
        let max = metric.spec.aggregation == Aggregation::Max;
        // Preorder: children stand behind their parent, so a backward scan has finished a node when it gets there.
        for node in (0..totals.len()).rev() {
            let parent = self.tree.parent[node];
            if parent != NO_NODE {
                let value = totals[node];
                let slot = &mut totals[parent as usize];
                *slot = if max { value.max(*slot) } else { slot.saturating_add(value) };
            }
        }
        totals
    }
}
