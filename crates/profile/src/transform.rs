//! The common form of all operations that make one profile from others.
//!
//! An operation decides, for every node of the source in preorder, which new node its values go to. Everything
//! else (methods, metrics, samples, events, canonical order) is the same for all of them and lives here.

use std::borrow::Cow;

use crate::names::Names;
use crate::{
    Builder, Event, LabelsId, Method, MethodId, MethodSpec, MetricId, NO_BCI, NO_LABELS, NO_METHOD, NO_NODE,
    NO_THREAD, NodeId, Profile, Sample, Thread, ThreadId, ThreadSpec,
};

/// A source profile being fed into a builder.
pub(crate) struct Import<'a> {
    pub(crate) from: &'a Profile,
    /// Builder ids of the source's methods.
    pub(crate) methods: Vec<MethodId>,
    /// Builder ids of the source's metrics.
    pub(crate) metrics: Vec<MetricId>,
    /// Builder ids of the source's threads, [`NO_THREAD`] for those left out.
    pub(crate) threads: Vec<ThreadId>,
    /// Where each node's values go, [`NO_NODE`] for nowhere. Filled by the operation.
    pub(crate) nodes: Vec<NodeId>,
}

impl<'a> Import<'a> {
    /// Registers methods and metrics, no threads yet.
    pub(crate) fn new(builder: &mut Builder, from: &'a Profile, names: Names) -> Import<'a> {
        let mut import = Import::without_metrics(builder, from, names);
        import.metrics = from.metrics.iter().map(|metric| builder.metric(metric.spec.clone())).collect();
        import
    }

    /// Registers methods only.
    pub(crate) fn without_metrics(builder: &mut Builder, from: &'a Profile, names: Names) -> Import<'a> {
        let str = |id| from.str(id);
        let methods = from.methods.iter().map(|m| {
            let id = builder.method(MethodSpec {
                class: &names.class(str(m.class)),
                name: names.method(str(m.name)),
                descriptor: &names.descriptor(str(m.descriptor)),
                loader: str(m.loader),
                source: str(m.source),
                module: str(m.module),
                flags: m.flags,
                lines: &m.lines,
            });
            m.blocks.iter().for_each(|&block| builder.block(id, block));
            id
        });
        let methods = methods.collect();
        Import {
            from,
            methods,
            metrics: Vec::new(),
            threads: vec![NO_THREAD; from.threads.len()],
            nodes: Vec::new(),
        }
    }

    /// Adds those of the source's threads that `keep` wants, under the identity they have.
    pub(crate) fn threads(&mut self, builder: &mut Builder, keep: impl Fn(&Thread) -> bool) {
        let from = self.from;
        for (slot, thread) in self.threads.iter_mut().zip(&from.threads).filter(|(_, thread)| keep(thread)) {
            let labels: Vec<_> = thread.labels.iter().map(|&(k, v)| (from.str(k), from.str(v))).collect();
            *slot = builder.thread(ThreadSpec {
                name: from.str(thread.name),
                group: from.str(thread.group),
                kind: thread.kind,
                threads: thread.threads,
                labels: &labels,
            });
        }
    }

    /// Maps every thread of the source to one of the builder's.
    pub(crate) fn threads_into(&mut self, thread: ThreadId) {
        self.threads.fill(thread);
    }

    /// Decides where each node goes. Roots of kept threads go to the new roots; `place` is asked about all other nodes
    /// of kept threads, parents first, with the builder, the places decided so far, the node and its builder method.
    pub(crate) fn place(
        &mut self,
        builder: &mut Builder,
        mut place: impl FnMut(&mut Builder, &[NodeId], NodeId, MethodId) -> NodeId,
    ) {
        let tree = &self.from.tree;
        self.nodes = vec![NO_NODE; tree.len()];
        for (thread, &into) in
            self.from.threads.iter().zip(&self.threads).filter(|(_, into)| **into != NO_THREAD)
        {
            self.nodes[thread.root as usize] = builder.root(into);
            for node in thread.root + 1..tree.end(thread.root) {
                let method = self.methods[tree.method[node as usize] as usize];
                self.nodes[node as usize] = place(builder, &self.nodes, node, method);
            }
        }
    }

    /// Places every node where it was.
    pub(crate) fn place_all(&mut self, builder: &mut Builder, sites: bool) {
        let tree = &self.from.tree;
        self.place(builder, |builder, placed, node, method| {
            let site = if sites { tree.site[node as usize] } else { crate::UNKNOWN_SITE };
            builder.push(placed[tree.parent[node as usize] as usize], method, site)
        });
    }

    /// Adds the source's values, samples and events at the places decided.
    pub(crate) fn carry(&self, builder: &mut Builder) {
        self.carry_values(builder);
        let str = |id| self.from.str(id);
        let sets = self.from.label_sets.iter().map(|set| {
            let pairs: Vec<_> = set.iter().map(|&(key, value)| (str(key), str(value))).collect();
            builder.labels(&pairs)
        });
        let labels: Vec<LabelsId> = std::iter::once(NO_LABELS).chain(sets).collect();
        for sample in &self.from.samples {
            let (node, thread) = (self.nodes[sample.node as usize], self.threads[sample.thread as usize]);
            if node != NO_NODE && thread != NO_THREAD {
                let metric = self.metrics[sample.metric as usize];
                let labels = labels[sample.labels as usize];
                // A place in a method that was folded into its caller means nothing there. That of a detail is its parent's.
                let method = self.from.method_with_code(sample.node);
                let goes_to = builder.method_with_code(node);
                let stays = method != NO_METHOD && goes_to == self.methods[method as usize];
                let bci = if stays { sample.bci } else { NO_BCI };
                builder.sample(Sample { node, thread, metric, labels, bci, ..*sample });
            }
        }
        for event in &self.from.events {
            let thread =
                if event.thread == NO_THREAD { NO_THREAD } else { self.threads[event.thread as usize] };
            if thread == NO_THREAD && event.thread != NO_THREAD {
                continue;
            }
            let mut string = |id| builder.string(self.from.str(id));
            let name = string(event.name);
            let details = event.details.iter().map(|&(key, value)| (string(key), string(value))).collect();
            let node = if event.node == NO_NODE { NO_NODE } else { self.nodes[event.node as usize] };
            builder.event(Event { thread, node, name, details, ..*event });
        }
    }

    /// Adds the source's values only.
    pub(crate) fn carry_values(&self, builder: &mut Builder) {
        for (metric, &into) in self.from.metrics.iter().zip(&self.metrics) {
            for (&value, &node) in metric.values.iter().zip(&self.nodes).filter(|(_, node)| **node != NO_NODE)
            {
                builder.add(node, into, value);
            }
        }
    }
}

impl Profile {
    /// A new profile with the same metadata, made by deciding each node's place.
    pub(crate) fn transform(
        &self,
        keep: impl Fn(&Thread) -> bool,
        place: impl FnMut(&mut Builder, &[NodeId], NodeId, MethodId) -> NodeId,
    ) -> Profile {
        let mut builder = Builder::with_capacity(self.tree.len());
        (builder.meta, builder.run) = (self.meta.clone(), self.run.clone());
        let mut import = Import::new(&mut builder, self, Names::Exact);
        import.threads(&mut builder, keep);
        import.place(&mut builder, place);
        import.carry(&mut builder);
        builder.finish()
    }

    /// What nodes that say what their parent's values are about have, is their parent's.
    pub fn fold_details(&self) -> Cow<'_, Profile> {
        if !self.methods.iter().any(Method::is_detail) {
            return Cow::Borrowed(self);
        }
        let details = self.mark(|profile, method| profile.method(method).is_detail());
        Cow::Owned(self.transform(
            |_| true,
            |builder, placed, node, method| {
                let parent = placed[self.tree.parent[node as usize] as usize];
                if self.is_marked(&details, node) {
                    return parent;
                }
                builder.push(parent, method, self.tree.site[node as usize])
            },
        ))
    }

    /// The method of a node, or of its parent if it is a detail.
    fn method_with_code(&self, node: NodeId) -> MethodId {
        let is_detail = |method: MethodId| method != NO_METHOD && self.method(method).is_detail();
        match (self.tree.method[node as usize], self.tree.parent[node as usize]) {
            (method, parent) if is_detail(method) && parent != NO_NODE => self.tree.method[parent as usize],
            (method, _) => method,
        }
    }

    /// For each method whether `wanted` holds of it.
    pub(crate) fn mark(&self, wanted: impl Fn(&Profile, MethodId) -> bool) -> Vec<bool> {
        (0..self.methods.len() as MethodId).map(|id| wanted(self, id)).collect()
    }

    /// True when a node's method is marked; never for roots.
    pub(crate) fn is_marked(&self, marks: &[bool], node: NodeId) -> bool {
        let method = self.tree.method[node as usize];
        method != NO_METHOD && marks[method as usize]
    }
}
