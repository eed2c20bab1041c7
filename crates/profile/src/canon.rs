//! From what was fed to the canonical form.
//!
//! Strings are sorted first, so that ids compare like text; then methods and threads by their ids. The tree is
//! walked top-down with an explicit stack. A frame of the walk stands for *all* fed nodes that are one context: their
//! children are gathered, sorted by (method, site), and each run of equal keys is the next context. Nodes come out in
//! preorder, duplicates merged at any depth, with no hashing and no allocation per node.

use crate::builder::Builder;
use crate::{
    Block, LabelsId, Method, MethodId, Metric, NO_LABELS, NO_METHOD, NO_NODE, NO_THREAD, NodeId, Profile,
    Sample, StrId, Strings, Thread, ThreadId, Tree,
};

pub(crate) fn finish(builder: Builder) -> Profile {
    let Builder { meta, run, strings, mut methods, threads, parent, method, site, metrics, .. } = builder;
    let (mut samples, mut events, label_sets) = (builder.samples, builder.events, builder.label_sets);

    let used_methods = used_methods(&methods, &method);
    let used_labels = used_labels(label_sets.len(), &samples);
    let mut used_strings = used_strings(&strings.table, &methods, &used_methods, &threads, &events);
    let labels = label_sets.iter().zip(&used_labels).filter(|(_, used)| **used).flat_map(|(set, _)| set);
    labels.for_each(|&(key, value)| [key, value].iter().for_each(|&id| used_strings[id as usize] = true));
    let (strings, string_map) = strings.table.sorted(&used_strings);
    let method_map = sort_methods(&mut methods, &used_methods, &string_map);
    let (mut threads, thread_map) = sort_threads(threads, &string_map);

    let method: Vec<MethodId> =
        method.into_iter().map(|m| if m == NO_METHOD { m } else { method_map[m as usize] }).collect();
    let (tree, node_map) = canonical_tree(&mut threads, &parent, &method, &site);
    drop((parent, method, site));

    let mut metric_order: Vec<usize> = (0..metrics.len()).collect();
    metric_order.sort_by(|&a, &b| metrics[a].0.rank().cmp(&metrics[b].0.rank()));
    let mut metric_map = vec![0; metrics.len()];
    for (new, &old) in metric_order.iter().enumerate() {
        metric_map[old] = new as u32;
    }
    let mut columns: Vec<Metric> =
        metrics.into_iter().map(|(spec, values)| scatter(spec, &values, &node_map, tree.len())).collect();
    columns.sort_by(|a, b| a.spec.rank().cmp(&b.spec.rank()));

    let (label_sets, labels_map) = sort_labels(label_sets, &used_labels, &string_map);
    for sample in &mut samples {
        sample.labels = labels_map[sample.labels as usize];
        sample.thread = thread_map[sample.thread as usize];
        sample.node = node_map[sample.node as usize];
        sample.metric = metric_map[sample.metric as usize];
    }
    samples.sort_unstable();
    for event in &mut events {
        if event.thread != NO_THREAD {
            event.thread = thread_map[event.thread as usize];
        }
        if event.node != NO_NODE {
            event.node = node_map[event.node as usize];
        }
        event.name = string_map[event.name as usize];
        remap_pairs(&mut event.details, &string_map);
    }
    events.sort_unstable();

    Profile { meta, run, strings, methods, threads, tree, metrics: columns, label_sets, samples, events }
}

fn used_methods(methods: &[Method], nodes: &[MethodId]) -> Vec<bool> {
    let mut used: Vec<bool> = methods.iter().map(|method| !method.blocks.is_empty()).collect();
    for &method in nodes {
        if method != NO_METHOD {
            used[method as usize] = true;
        }
    }
    used
}

fn used_strings(
    strings: &Strings,
    methods: &[Method],
    used_methods: &[bool],
    threads: &[Thread],
    events: &[crate::Event],
) -> Vec<bool> {
    let mut used = vec![false; strings.len()];
    let mut mark = |id: StrId| used[id as usize] = true;
    for (method, _) in methods.iter().zip(used_methods).filter(|(_, used)| **used) {
        let m = method;
        [m.class, m.name, m.descriptor, m.loader, m.source, m.module].into_iter().for_each(&mut mark);
    }
    for thread in threads {
        mark(thread.name);
        mark(thread.group);
        thread.labels.iter().for_each(|&(key, value)| [key, value].iter().for_each(|&id| mark(id)));
    }
    for event in events {
        mark(event.name);
        event.details.iter().for_each(|&(key, value)| [key, value].iter().for_each(|&id| mark(id)));
    }
    used
}

/// Which sets some sample carries, by their place.
fn used_labels(sets: usize, samples: &[Sample]) -> Vec<bool> {
    let mut used = vec![false; sets];
    samples.iter().filter_map(|sample| sample.labels.checked_sub(1)).for_each(|at| used[at as usize] = true);
    used
}

/// Sets in order, without those nobody carries; the second result maps fed ids to canonical ones.
fn sort_labels(
    mut sets: Vec<Vec<(StrId, StrId)>>,
    used: &[bool],
    strings: &[StrId],
) -> (Vec<Vec<(StrId, StrId)>>, Vec<LabelsId>) {
    let mut order: Vec<usize> = (0..sets.len()).filter(|&at| used[at]).collect();
    order.iter().for_each(|&at| remap_pairs(&mut sets[at], strings));
    order.sort_by(|&a, &b| sets[a].cmp(&sets[b]));
    let mut map = vec![NO_LABELS; sets.len() + 1];
    for (new, &old) in order.iter().enumerate() {
        map[old + 1] = new as LabelsId + 1;
    }
    (order.into_iter().map(|at| std::mem::take(&mut sets[at])).collect(), map)
}

fn sort_methods(methods: &mut Vec<Method>, used: &[bool], strings: &[StrId]) -> Vec<MethodId> {
    for method in methods.iter_mut() {
        let Method { class, name, descriptor, loader, source, module, .. } = method;
        for id in [class, name, descriptor, loader, source, module] {
            *id = strings[*id as usize];
        }
        merge_blocks(&mut method.blocks);
    }
    let mut order: Vec<usize> = (0..methods.len()).filter(|&id| used[id]).collect();
    order.sort_unstable_by_key(|&id| methods[id].key());
    let mut map = vec![NO_METHOD; methods.len()];
    let mut sorted = Vec::with_capacity(order.len());
    for old in order {
        map[old] = sorted.len() as MethodId;
        sorted.push(std::mem::take(&mut methods[old]));
    }
    *methods = sorted;
    map
}

fn merge_blocks(blocks: &mut Vec<Block>) {
    blocks.sort_unstable();
    blocks.dedup_by(|later, kept| {
        let same = (later.bci, later.instructions) == (kept.bci, kept.instructions);
        if same {
            kept.count = kept.count.saturating_add(later.count);
        }
        same
    });
}

fn remap_pairs(pairs: &mut [(StrId, StrId)], strings: &[StrId]) {
    for (key, value) in pairs.iter_mut() {
        (*key, *value) = (strings[*key as usize], strings[*value as usize]);
    }
    pairs.sort_unstable();
}

fn sort_threads(mut threads: Vec<Thread>, strings: &[StrId]) -> (Vec<Thread>, Vec<ThreadId>) {
    for thread in &mut threads {
        thread.name = strings[thread.name as usize];
        thread.group = strings[thread.group as usize];
        remap_pairs(&mut thread.labels, strings);
    }
    let mut order: Vec<usize> = (0..threads.len()).collect();
    order.sort_by(|&a, &b| threads[a].key().cmp(&threads[b].key()));
    let mut map = vec![0; threads.len()];
    for (new, &old) in order.iter().enumerate() {
        map[old] = new as ThreadId;
    }
    let sorted = order.into_iter().map(|old| threads[old].clone()).collect();
    (sorted, map)
}

fn scatter(spec: crate::MetricSpec, values: &[u64], node_map: &[NodeId], nodes: usize) -> Metric {
    let mut out = vec![0u64; nodes];
    for (&value, &node) in values.iter().zip(node_map) {
        if value != 0 {
            let slot = &mut out[node as usize];
            *slot = spec.aggregation.combine(*slot, value);
        }
    }
    Metric { spec, values: out }
}

/// A fed node and what it is sorted by among its siblings.
#[derive(Clone, Copy)]
struct Fed {
    method: MethodId,
    site: i32,
    node: NodeId,
}

/// Walks the fed nodes into preorder; the second result maps fed ids to canonical ones. Sets the threads' roots.
fn canonical_tree(
    threads: &mut [Thread],
    parent: &[NodeId],
    method: &[MethodId],
    site: &[i32],
) -> (Tree, Vec<NodeId>) {
    let n = parent.len();
    let (first, by_parent) = children_by_parent(parent);
    let mut tree = Tree {
        parent: Vec::with_capacity(n),
        method: Vec::with_capacity(n),
        site: Vec::with_capacity(n),
        end: Vec::new(),
    };
    let mut map = vec![NO_NODE; n];
    // Children still to visit, of all contexts on the current path; each frame owns the buffer from `from` on.
    let mut pending: Vec<Fed> = Vec::new();
    let mut frames: Vec<(usize, usize, NodeId)> = Vec::new();
    let mut group: Vec<NodeId> = Vec::new();

    for thread in threads {
        group.clear();
        group.push(thread.root);
        thread.root = emit(&mut tree, &mut map, NO_NODE, NO_METHOD, crate::UNKNOWN_SITE, &group);
        let mut current = thread.root;
        loop {
            let from = pending.len();
            for &node in &group {
                let children = first[node as usize] as usize..first[node as usize + 1] as usize;
                pending.extend(by_parent[children].iter().map(|&node| Fed {
                    method: method[node as usize],
                    site: site[node as usize],
                    node,
                }));
            }
            if pending.len() - from > 1 {
                // The node id only decides between equals, which are merged: it does not show in the result.
                pending[from..].sort_unstable_by_key(|fed| (fed.method, fed.site, fed.node));
            }
            frames.push((from, from, current));
            while frames.last().is_some_and(|&(_, next, _)| next == pending.len()) {
                let (from, ..) = frames.pop().expect("just seen");
                pending.truncate(from);
            }
            let Some((_, next, above)) = frames.last_mut() else { break };
            let head = pending[*next];
            group.clear();
            while let Some(fed) =
                pending.get(*next).filter(|fed| (fed.method, fed.site) == (head.method, head.site))
            {
                group.push(fed.node);
                *next += 1;
            }
            current = emit(&mut tree, &mut map, *above, head.method, head.site, &group);
        }
    }
    tree.compute_ends();
    (tree, map)
}

fn emit(
    tree: &mut Tree,
    map: &mut [NodeId],
    parent: NodeId,
    method: MethodId,
    site: i32,
    group: &[NodeId],
) -> NodeId {
    let id = tree.parent.len() as NodeId;
    tree.parent.push(parent);
    tree.method.push(method);
    tree.site.push(site);
    for &node in group {
        map[node as usize] = id;
    }
    id
}

/// Counting sort of nodes by parent: children of `p` are `list[first[p]..first[p + 1]]`.
fn children_by_parent(parent: &[NodeId]) -> (Vec<u32>, Vec<NodeId>) {
    let mut first = vec![0u32; parent.len() + 1];
    for &p in parent.iter().filter(|&&p| p != NO_NODE) {
        first[p as usize + 1] += 1;
    }
    for i in 1..first.len() {
        first[i] += first[i - 1];
    }
    let mut list = vec![0; first.last().copied().unwrap_or(0) as usize];
    let mut next = first.clone();
    for (node, &p) in parent.iter().enumerate().filter(|(_, p)| **p != NO_NODE) {
        list[next[p as usize] as usize] = node as NodeId;
        next[p as usize] += 1;
    }
    (first, list)
}
