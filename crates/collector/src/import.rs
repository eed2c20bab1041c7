//! From an arena to a profile.
//!
//! The arena has one tree for each thread that ran at the same time as others, with a node for every slot it was
//! reached through; the profile has one tree for each group of threads, canonical. Nothing here trusts the arena:
//! what makes no sense is left out and counted.

use std::collections::HashMap;

use quipu_arena::layout;
use quipu_arena::reader::{Contents, Node, NotAnArena};
use quipu_arena::record::{Record, flag};
use quipu_classfile::mutf8;
use quipu_profile::{
    Block, Builder, Line, MethodFlags, MethodId, MethodSpec, MetricId, MetricSpec, NodeId, Profile,
    ThreadKind, ThreadSpec, UNKNOWN_SITE, Unit,
};

use crate::sampled;

/// What the arena says of a method, beside its name.
struct Method {
    id: MethodId,
    sampled: bool,
    per_call: u64,
    sites: Vec<u16>,
    blocks: Vec<CountedBlock>,
    derived: Vec<u32>,
}

/// A block that has a counter.
struct CountedBlock {
    bci: u16,
    /// None if the other blocks of the method have no counters.
    instructions: u16,
    allocations: u16,
}

struct Group {
    name: String,
    kind: ThreadKind,
    threads: u64,
}

/// Kinds of roots, as the runtime's `Cursor` numbers them.
mod root {
    pub const CALLS: u16 = 0;
    pub const LOADING: u16 = 1;
}

/// Suffix of the tree that has what a thread did to load and link classes.
pub const LOADING_SUFFIX: &str = " [class loading]";

/// Bytecodes by the application's context on whose behalf they were executed, where only the application's methods have
/// contexts: its own and those of the methods without.
pub const CHARGED_METRIC: &str = "bytecodes.charged";

/// Stands above the methods that have no contexts, where others have.
pub const WITHOUT_CONTEXTS: &str = "[methods without contexts]";

/// Samples taken every so many bytecodes.
pub const SAMPLES_METRIC: &str = "samples.bytecodes";

/// Reads the profile out of an arena's bytes.
pub fn profile(bytes: &[u8]) -> Result<Profile, NotAnArena> {
    profile_since(bytes, None)
}

/// Counts at one moment, to be taken off those at a later one.
#[derive(Debug, Default)]
pub struct Baseline {
    /// Calls, bytecodes and what was charged, by offset.
    nodes: HashMap<u64, [u64; 3]>,
    sampled: sampled::Before,
}

impl Baseline {
    /// What an arena has counted so far.
    pub fn read(bytes: &[u8]) -> Result<Baseline, NotAnArena> {
        let contents = Contents::read(bytes)?;
        let count = |node: &Node| (node.at, [node.calls, node.bytecodes, node.charged]);
        Ok(Baseline {
            nodes: contents.nodes.iter().map(count).collect(),
            sampled: sampled::Before::of(&contents),
        })
    }
}

/// Reads what an arena has counted since a baseline.
pub fn profile_since(bytes: &[u8], baseline: Option<&Baseline>) -> Result<Profile, NotAnArena> {
    let mut contents = Contents::read(bytes)?;
    if let Some(before) = baseline {
        for node in &mut contents.nodes {
            if let Some([calls, bytecodes, charged]) = before.nodes.get(&node.at) {
                node.calls = node.calls.wrapping_sub(*calls);
                node.bytecodes = node.bytecodes.wrapping_sub(*bytecodes);
                node.charged = node.charged.wrapping_sub(*charged);
            }
        }
    }
    let mut builder = Builder::with_capacity(contents.nodes.len());
    let methods = read_methods(&contents, &mut builder);
    let groups = read_groups(&contents);
    describe(&contents, &mut builder);
    let mut unnamed = 0;
    // A profile that was only sampled has no counts, and does not say that they were zero. What code that an earlier profile
    // instrumented still counts is not part of it.
    if counts(&contents) {
        unnamed = Feeder::new(&contents, &methods, &groups, &mut builder).feed(bytes.len());
    }
    let beyond = sampled::feed(&contents, baseline.map(|before| &before.sampled), &mut builder);
    let lost = &mut builder.meta.lost;
    let damage = &contents.damage;
    for (cause, n) in [
        ("contexts.refused", contents.header.refused),
        ("arena.damaged.chunks", damage.chunks),
        ("arena.damaged.records", damage.records),
        ("arena.damaged.nodes", damage.nodes + damage.slots + unnamed),
        ("arena.damaged.samples", damage.samples + beyond),
        ("classes.left", contents.header.classes_left),
        ("methods.left", contents.header.methods_left),
    ] {
        if n > 0 {
            lost.insert(cause.to_owned(), n);
        }
    }
    Ok(builder.finish())
}

/// Whether anything was instrumented to be counted or sampled. Arenas that were written without an agent do not say so.
fn counts(contents: &Contents<'_>) -> bool {
    let mut kinds = contents.facts(b"kind").peekable();
    match kinds.peek() {
        None => contents.sampled.samples.is_empty(),
        Some(_) => kinds.any(|kind| kind == b"exact" || kind == b"bytecodes"),
    }
}

fn read_methods(contents: &Contents<'_>, builder: &mut Builder) -> HashMap<u32, Method> {
    let mut classes: HashMap<u32, (String, String)> = HashMap::new();
    let mut methods = HashMap::new();
    for record in &contents.records {
        match *record {
            Record::Class { id, name, source, .. } => {
                classes.insert(id, (mutf8::decode(name).replace('/', "."), mutf8::decode(source)));
            }
            Record::Method {
                id,
                class,
                flags,
                per_call,
                name,
                descriptor,
                lines,
                sites,
                blocks,
                derived,
                ..
            } => {
                let Some((class, source)) = classes.get(&class) else { continue };
                let lines: Vec<Line> =
                    pairs(lines).map(|(bci, line)| Line { bci: bci.into(), line: line.into() }).collect();
                let opaque = flags & flag::OPAQUE != 0;
                let spec = MethodSpec {
                    class,
                    name: &mutf8::decode(name),
                    descriptor: &mutf8::decode(descriptor),
                    source,
                    lines: &lines,
                    flags: if opaque { MethodFlags::NATIVE } else { MethodFlags::NONE },
                    ..MethodSpec::default()
                };
                methods.insert(
                    id,
                    Method {
                        id: builder.method(spec),
                        sampled: flags & flag::SAMPLED != 0,
                        per_call: per_call.into(),
                        sites: words(sites).collect(),
                        blocks: counted_blocks(blocks),
                        derived: derived
                            .chunks_exact(4)
                            .filter_map(|b| b.try_into().ok().map(u32::from_ne_bytes))
                            .collect(),
                    },
                );
            }
            _ => {}
        }
    }
    methods
}

fn read_groups(contents: &Contents<'_>) -> HashMap<u32, Group> {
    let mut groups = HashMap::new();
    for record in &contents.records {
        if let Record::Group { id, is_virtual, threads, first, pattern } = *record {
            // A group with one thread has that thread's name; otherwise what the names have in common.
            let name = mutf8::decode(if threads <= 1 { first } else { pattern });
            let kind = if is_virtual == 1 { ThreadKind::Virtual } else { ThreadKind::Platform };
            groups.insert(id, Group { name, kind, threads });
        }
    }
    groups
}

fn describe(contents: &Contents<'_>, builder: &mut Builder) {
    for record in contents.of_this_profile() {
        match *record {
            Record::Info { key, value } => {
                let (key, value) = (mutf8::decode(key), mutf8::decode(value));
                match key.as_str() {
                    "java.vm.name" => builder.meta.jvm.name = value,
                    "java.vm.version" => builder.meta.jvm.version = value,
                    "java.vendor" => builder.meta.jvm.vendor = value,
                    "java.command" => builder.meta.target.main = value,
                    key if key.starts_with("pin.") => {
                        builder.meta.pins.insert(key.trim_start_matches("pin.").to_owned(), value);
                    }
                    key if key.starts_with("option.") => {
                        builder.meta.options.push((key.trim_start_matches("option.").to_owned(), value));
                    }
                    key if key.starts_with("start.") => builder.run.extra.push((key.to_owned(), value)),
                    key if key == "kind" || key.starts_with("sampling.") => {}
                    _ => builder.meta.extra.push((key, value)),
                }
            }
            Record::Left { what, why } => {
                let what = mutf8::decode(what).replace('/', ".");
                builder.run.extra.push((format!("left alone: {what}"), mutf8::decode(why)));
            }
            _ => {}
        }
    }
    let header = &contents.header;
    builder.run.pid = Some(header.pid);
    builder.run.started = Some(header.created);
    builder.run.duration = header.ended_at.checked_sub(header.created);
    if header.classes > 0 {
        builder.run.cost.push(format!(
            "rewrote {} methods of {} classes in {} ms",
            header.methods,
            header.classes,
            header.rewrite_nanos / 1_000_000
        ));
    }
    builder.run.cost.push(format!("the arena took {} KB", header.used.saturating_add(header.tallied) / 1024));
}

/// The metrics of a profile.
struct Metrics {
    /// Calls and bytecodes.
    counts: Option<(MetricId, MetricId)>,
    samples: Option<MetricId>,
}

/// Puts the arena's nodes into the builder.
struct Feeder<'a> {
    contents: &'a Contents<'a>,
    methods: &'a HashMap<u32, Method>,
    groups: &'a HashMap<u32, Group>,
    /// Group of each tree.
    trees: HashMap<u32, u32>,
    /// Root in the profile of each group and kind of root.
    roots: HashMap<(Option<u32>, u16), NodeId>,
    builder: &'a mut Builder,
}

impl<'a> Feeder<'a> {
    fn new(
        contents: &'a Contents<'a>,
        methods: &'a HashMap<u32, Method>,
        groups: &'a HashMap<u32, Group>,
        builder: &'a mut Builder,
    ) -> Self {
        let trees = contents
            .records
            .iter()
            .filter_map(|record| match *record {
                Record::Tree { id, group } => Some((id, group)),
                _ => None,
            })
            .collect();
        Feeder { contents, methods, groups, trees, roots: HashMap::new(), builder }
    }

    /// Feeds all nodes; returns how many had a method nobody knows, or derived contexts without number.
    fn feed(mut self, size: usize) -> u64 {
        let live = live(&self.contents.nodes);
        let Metrics { counts, samples } = self.metrics(&live);
        let counted = self.methods.values().any(|method| !method.blocks.is_empty());
        let allocations = counted.then(|| self.builder.metric(MetricSpec::allocations()));
        let charges = self.contents.nodes.iter().any(|node| node.charged > 0);
        let charged =
            charges.then(|| self.builder.metric(MetricSpec::exact(CHARGED_METRIC, Unit::Bytecodes)));
        let mut unnamed = 0;
        // One record could give a million callees to each of a million nodes; a real arena is larger than its profile.
        let mut derivable = size;
        // The profile's node for each of the arena's; none for what is hidden.
        let mut fed: Vec<Option<NodeId>> = Vec::with_capacity(self.contents.nodes.len());
        for (node, live) in self.contents.nodes.iter().zip(live) {
            if !live {
                fed.push(None);
                continue;
            }
            let Some(parent) = node.parent else {
                let root = self.root(node);
                fed.push(root);
                if let (Some(root), Some(charged), true) = (root, charged, node.charged > 0) {
                    let aside = self.without_contexts(root);
                    self.builder.add(aside, charged, node.charged);
                }
                continue;
            };
            let Some(parent_node) = fed.get(parent as usize).copied().flatten() else {
                fed.push(None);
                continue;
            };
            let Some(method) = self.methods.get(&node.method) else {
                unnamed += 1;
                fed.push(None);
                continue;
            };
            let site = self.site(node, parent);
            let parent_node = if node.tallied && charged.is_some() {
                self.without_contexts(parent_node)
            } else {
                parent_node
            };
            let here = self.builder.push(parent_node, method.id, site);
            fed.push(Some(here));
            if let (true, Some(samples)) = (method.sampled, samples) {
                self.builder.add(here, samples, node.bytecodes);
            }
            let (false, Some((calls, bytecodes))) = (method.sampled, counts) else { continue };
            self.builder.add(here, calls, node.calls);
            // Some of what it executes follows from its calls.
            let executed = method.per_call.wrapping_mul(node.calls).wrapping_add(node.bytecodes);
            self.builder.add(here, bytecodes, executed);
            if let (Some(charged), false) = (charged, node.tallied) {
                self.builder.add(here, charged, executed.wrapping_add(node.charged));
            }
            let derived = method.derived.get(..derivable.min(method.derived.len())).unwrap_or_default();
            derivable -= derived.len();
            unnamed += (method.derived.len() - derived.len()) as u64;
            for derived in derived.iter().filter_map(|id| self.methods.get(id)) {
                let parent = if node.tallied { parent_node } else { here };
                let leaf = self.builder.push(parent, derived.id, UNKNOWN_SITE);
                self.builder.add(leaf, calls, node.calls);
            }
            for (block, count) in method.blocks.iter().zip(self.contents.block_counts(node)) {
                if let Some(allocations) = allocations {
                    self.builder.add(here, allocations, count.saturating_mul(block.allocations.into()));
                }
                // Without all the others, a block that allocates says nothing about lines.
                if block.instructions > 0 {
                    let (bci, instructions) = (block.bci.into(), block.instructions.into());
                    self.builder.block(method.id, Block { bci, instructions, count });
                }
            }
        }
        unnamed
    }

    /// The metrics that the nodes which have counted something have; without any, those that the methods would have.
    fn metrics(&mut self, live: &[bool]) -> Metrics {
        let counted = self.contents.nodes.iter().zip(live).filter(|(_, live)| **live);
        let mut sampled: Vec<bool> =
            counted.filter_map(|(node, _)| self.methods.get(&node.method)).map(|m| m.sampled).collect();
        if sampled.is_empty() {
            sampled = vec![self.methods.values().any(|method| method.sampled)];
        }
        let counts = sampled.contains(&false).then(|| {
            let calls = self.builder.metric(MetricSpec::calls());
            (calls, self.builder.metric(MetricSpec::bytecodes()))
        });
        let samples = sampled
            .contains(&true)
            .then(|| self.builder.metric(MetricSpec::sampled(SAMPLES_METRIC, Unit::Count, 1)));
        Metrics { counts, samples }
    }

    /// The profile's root for a tree's root; none for the root of what is hidden.
    fn root(&mut self, node: &Node) -> Option<NodeId> {
        let suffix = match node.site {
            root::CALLS => "",
            root::LOADING => LOADING_SUFFIX,
            _ => return None,
        };
        let group = self.trees.get(&node.tree).copied().filter(|id| self.groups.contains_key(id));
        if let Some(&known) = self.roots.get(&(group, node.site)) {
            return Some(known);
        }
        let spec = group.and_then(|id| self.groups.get(&id));
        let name = format!("{}{suffix}", spec.map_or("?", |group| &group.name));
        let thread = self.builder.thread(ThreadSpec {
            name: &name,
            kind: spec.map_or(ThreadKind::Platform, |group| group.kind),
            threads: spec.map_or(1, |group| group.threads),
            ..ThreadSpec::default()
        });
        let root = self.builder.root(thread);
        self.roots.insert((group, node.site), root);
        Some(root)
    }

    /// What the methods without contexts stand below.
    fn without_contexts(&mut self, root: NodeId) -> NodeId {
        let method = self.builder.method(MethodSpec { name: WITHOUT_CONTEXTS, ..MethodSpec::default() });
        self.builder.child(root, method, UNKNOWN_SITE)
    }

    /// Bytecode index of the call in the parent, where sites are told apart. Slot 0 is for calls the VM makes.
    fn site(&self, node: &Node, parent: u32) -> i32 {
        let parent = self.contents.nodes.get(parent as usize);
        let method =
            parent.filter(|p| p.method != layout::ROOT_METHOD).and_then(|p| self.methods.get(&p.method));
        let slot = usize::from(node.site).checked_sub(1);
        let bci = method.zip(slot).and_then(|(method, slot)| method.sites.get(slot));
        bci.map_or(UNKNOWN_SITE, |&bci| bci.into())
    }
}

/// Which nodes have counted something, they or some context below them. The others were opened before the profile
/// began, or are roots of which nothing grew.
fn live(nodes: &[Node]) -> Vec<bool> {
    let mut live = vec![false; nodes.len()];
    // Children come after their parents.
    for (i, node) in nodes.iter().enumerate().rev() {
        let counted = live.get(i).copied().unwrap_or(false)
            || node.calls != 0
            || node.bytecodes != 0
            || node.charged != 0;
        if counted {
            for at in [Some(i), node.parent.map(|parent| parent as usize)].into_iter().flatten() {
                if let Some(flag) = live.get_mut(at) {
                    *flag = true;
                }
            }
        }
    }
    live
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u16> + '_ {
    bytes.chunks_exact(2).filter_map(|b| b.try_into().ok().map(u16::from_ne_bytes))
}

fn counted_blocks(bytes: &[u8]) -> Vec<CountedBlock> {
    let words: Vec<u16> = words(bytes).collect();
    let blocks = words.chunks_exact(3).filter_map(|block| <[u16; 3]>::try_from(block).ok());
    blocks.map(|[bci, instructions, allocations]| CountedBlock { bci, instructions, allocations }).collect()
}

pub(crate) fn pairs(bytes: &[u8]) -> impl Iterator<Item = (u16, u16)> + '_ {
    bytes.chunks_exact(4).filter_map(|b| {
        let (first, second) = b.split_at(2);
        Some((u16::from_ne_bytes(first.try_into().ok()?), u16::from_ne_bytes(second.try_into().ok()?)))
    })
}
