//! Contexts that differ only in the call site become one: a flame graph shows who called whom, not from which line.

use quipu_profile::{Builder, MethodId, MethodSpec, MetricId, NodeId, Profile, ThreadSpec, UNKNOWN_SITE};
use std::borrow::Cow;

/// The profile without call sites; itself when it has none.
pub(super) fn merged(profile: &Profile) -> Cow<'_, Profile> {
    let tree = profile.tree();
    if tree.sites().iter().all(|&site| site == UNKNOWN_SITE) {
        return Cow::Borrowed(profile);
    }
    let mut builder = Builder::with_capacity(tree.len());
    builder.meta = profile.meta.clone();
    builder.run = profile.run.clone();
    // Metrics keep their order, so that ids stay what they are.
    let metrics: Vec<MetricId> = profile.metrics().iter().map(|m| builder.metric(m.spec().clone())).collect();
    let methods: Vec<MethodId> = (profile.methods().iter())
        .map(|m| {
            builder.method(MethodSpec {
                class: profile.str(m.class),
                name: profile.str(m.name),
                descriptor: profile.str(m.descriptor),
                loader: profile.str(m.loader),
                source: profile.str(m.source),
                module: profile.str(m.module),
                flags: m.flags,
                lines: &m.lines,
            })
        })
        .collect();
    let mut nodes: Vec<NodeId> = Vec::with_capacity(tree.len());
    for node in 0..tree.len() as NodeId {
        let new = match tree.parent(node) {
            Some(parent) => {
                let method = methods[tree.methods()[node as usize] as usize];
                builder.push(nodes[parent as usize], method, UNKNOWN_SITE)
            }
            None => {
                let thread = &profile.threads()[profile.thread_of(node) as usize];
                let labels: Vec<(&str, &str)> = thread
                    .labels
                    .iter()
                    .map(|&(key, value)| (profile.str(key), profile.str(value)))
                    .collect();
                let id = builder.thread(ThreadSpec {
                    name: profile.str(thread.name),
                    group: profile.str(thread.group),
                    kind: thread.kind,
                    threads: thread.threads,
                    labels: &labels,
                });
                builder.root(id)
            }
        };
        nodes.push(new);
        for (&id, metric) in metrics.iter().zip(profile.metrics()) {
            builder.add(new, id, metric.values()[node as usize]);
        }
    }
    Cow::Owned(builder.finish())
}
