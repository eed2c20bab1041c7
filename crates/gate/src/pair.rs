//! Two profiles in one tree, ready to be explained.

use std::collections::{BTreeMap, BTreeSet};

use quipu_profile::{
    Aligned, Builder, Matching, MethodId, MethodSpec, Names, NoSuchMetric, NodeId, Profile, ThreadSpec,
    UNKNOWN_SITE, thread_pattern,
};

use crate::renames::{self, Key, Renamed};

/// Both profiles in one tree. Recursion is collapsed: how deep it goes says nothing about who is to blame.
pub(crate) struct Pair {
    /// Both, lined up, recursion as it was. What subjects are judged by.
    pub(crate) aligned: Aligned,
    /// The tree that the columns below are over.
    pub(crate) tree: Profile,
    /// Own values before and after, by node.
    pub(crate) own: [Vec<u64>; 2],
    /// Values with all that was called.
    pub(crate) total: [Vec<u64>; 2],
    /// Calls; all zero when they were not counted.
    pub(crate) calls: [Vec<u64>; 2],
    /// Methods that have another name now.
    pub(crate) renamed: Vec<Renamed>,
    /// The same, by key: from the baseline's to the new profile's.
    pub(crate) names: BTreeMap<Key, Key>,
    /// By node, whether its method's code is known to be another.
    edited: Vec<bool>,
    /// By node, whether that holds for it or for any below.
    has_edited: Vec<bool>,
}

impl Pair {
    /// Lines up the threads of two profiles that `wanted` accepts.
    pub(crate) fn new(
        a: &Profile,
        b: &Profile,
        metric: &str,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Pair, NoSuchMetric> {
        let folded = folded_patterns(a, b);
        let thread = |name: &str| {
            let pattern = thread_pattern(name);
            let name = if folded.contains(&pattern) { pattern } else { name.to_owned() };
            wanted(&name).then_some(name)
        };
        let select = |profile: &Profile| profile.select_threads(|p, t| thread(p.str(t.name)).is_some());
        let (names, renamed) = renames::find(&select(a), &select(b), metric);
        let edits = edits(a, b, &names);
        let a = reshape(a, metric, &thread, &names);
        let b = reshape(b, metric, &thread, &BTreeMap::new());
        let matching = Matching { names: Names::ByOrigin, threads: true };
        let aligned = Aligned::new(&a, &b, metric, matching)?;
        let tree = aligned.both.collapse_recursion();
        let column = |tree: &Profile, side: usize| tree.metrics()[side].values().to_vec();
        let total = [0, 1].map(|side| tree.inclusive(&tree.metrics()[side]));
        // The same profiles make the same tree, whatever the metric, so nodes have the same ids in both.
        let calls = match Aligned::new(&a, &b, "calls", matching) {
            Ok(calls) => {
                let calls = calls.both.collapse_recursion();
                [0, 1].map(|side| column(&calls, side))
            }
            Err(_) => [vec![0; tree.tree().len()], vec![0; tree.tree().len()]],
        };
        let own = [0, 1].map(|side| column(&tree, side));
        let methods = 0..tree.methods().len() as MethodId;
        let by_method: Vec<bool> = methods.map(|id| edits.contains(&renames::key_of(&tree, id))).collect();
        let nodes = tree.tree().methods().iter();
        let edited: Vec<bool> = nodes.map(|&id| by_method.get(id as usize) == Some(&true)).collect();
        let mut has_edited = edited.clone();
        for node in (0..has_edited.len()).rev().filter(|&node| edited[node]) {
            // Upwards until somebody was here before.
            let mut at = node as NodeId;
            while let Some(parent) = tree.tree().parent(at).filter(|&parent| !has_edited[parent as usize]) {
                has_edited[parent as usize] = true;
                at = parent;
            }
        }
        Ok(Pair { aligned, tree, own, total, calls, renamed, names, edited, has_edited })
    }

    /// The method of a node by the names both profiles go by; nothing for a thread's root.
    pub(crate) fn key(&self, node: NodeId) -> Option<Key> {
        self.tree.tree().method(node).map(|method| renames::key_of(&self.tree, method))
    }

    /// Whether the code of a context's method is known to be another than before.
    pub(crate) fn is_edited(&self, node: NodeId) -> bool {
        self.edited[node as usize]
    }

    /// Whether that holds for any context of the subtree.
    pub(crate) fn has_edited(&self, node: NodeId) -> bool {
        self.has_edited[node as usize]
    }

    /// Whether a side has the context.
    pub(crate) fn present(&self, side: usize, node: NodeId) -> bool {
        self.total[side][node as usize] != 0 || self.calls[side][node as usize] != 0
    }
}

/// Methods whose line tables show that their code was edited: other distances between lines, in the source or in bytecodes. An
/// edit of the last line alone does not show.
fn edits(a: &Profile, b: &Profile, names: &BTreeMap<Key, Key>) -> BTreeSet<Key> {
    let shape = |profile: &Profile, id: MethodId| {
        let lines = &profile.method(id).lines;
        let first = lines.iter().map(|line| line.line).min().unwrap_or(0);
        lines.iter().map(|line| (line.bci, line.line - first)).collect::<Vec<_>>()
    };
    let ids = |profile: &Profile| 0..profile.methods().len() as MethodId;
    let before: BTreeMap<Key, MethodId> = ids(a).map(|id| (renames::key_of(a, id), id)).collect();
    let before: BTreeMap<&Key, MethodId> =
        before.iter().map(|(key, &id)| (names.get(key).unwrap_or(key), id)).collect();
    ids(b)
        .map(|id| (renames::key_of(b, id), id))
        .filter(|(key, id)| before.get(key).is_some_and(|&old| shape(a, old) != shape(b, *id)))
        .map(|(key, _)| key)
        .collect()
}

/// Patterns of thread names whose threads must be taken together, because the two runs do not have the same ones.
fn folded_patterns(a: &Profile, b: &Profile) -> BTreeSet<String> {
    let names = |profile: &Profile| -> BTreeMap<String, BTreeSet<String>> {
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for thread in profile.threads() {
            let name = profile.str(thread.name);
            found.entry(thread_pattern(name)).or_default().insert(name.to_owned());
        }
        found
    };
    let (a, b) = (names(a), names(b));
    let differ = a.iter().filter(|(pattern, names)| b.get(*pattern).is_some_and(|other| other != *names));
    differ.map(|(pattern, _)| pattern.clone()).collect()
}

/// The profile with other names for threads and methods, and without call sites: a bytecode index means nothing in a
/// method that was edited.
fn reshape(
    profile: &Profile,
    metric: &str,
    thread_name: &dyn Fn(&str) -> Option<String>,
    names: &BTreeMap<Key, Key>,
) -> Profile {
    let mut builder = Builder::with_capacity(profile.tree().len());
    let methods: Vec<MethodId> = (0..profile.methods().len() as MethodId)
        .map(|id| {
            let method = profile.method(id);
            let str = |id| profile.str(id);
            let renamed = if names.is_empty() { None } else { names.get(&renames::key_of(profile, id)) };
            let (class, name, descriptor) = match renamed {
                Some((class, name, descriptor)) => (class.as_str(), name.as_str(), descriptor.as_str()),
                None => (str(method.class), str(method.name), str(method.descriptor)),
            };
            let flags = method.flags;
            builder.method(MethodSpec { class, name, descriptor, flags, ..MethodSpec::default() })
        })
        .collect();
    let columns: Vec<_> = profile
        .metrics()
        .iter()
        .filter(|column| column.name() == metric || column.name() == "calls")
        .map(|column| (builder.metric(column.spec().clone()), column.values()))
        .collect();
    let tree = profile.tree();
    let mut places: Vec<NodeId> = vec![0; tree.len()];
    for thread in profile.threads() {
        let Some(name) = thread_name(profile.str(thread.name)) else { continue };
        let labels: Vec<_> = thread.labels.iter().map(|&(k, v)| (profile.str(k), profile.str(v))).collect();
        let spec = ThreadSpec {
            name: &name,
            group: "",
            kind: thread.kind,
            threads: thread.threads,
            labels: &labels,
        };
        let into = builder.thread(spec);
        for node in tree.subtree(thread.root) {
            let place = match (tree.parent(node), tree.method(node)) {
                (Some(parent), Some(method)) => {
                    builder.push(places[parent as usize], methods[method as usize], UNKNOWN_SITE)
                }
                _ => builder.root(into),
            };
            places[node as usize] = place;
            for &(column, values) in &columns {
                builder.add(place, column, values[node as usize]);
            }
        }
    }
    builder.finish()
}
