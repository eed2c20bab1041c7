//! The arena's nodes: what was counted, in its contexts.

use std::collections::HashMap;

use quipu_arena::layout::{self, root};
use quipu_arena::reader::{Contents, Node};
use quipu_profile::{
    Block, Builder, MethodId, MethodSpec, MetricId, MetricSpec, NodeId, ThreadId, UNKNOWN_SITE, Unit,
};

use super::columns::{self, Columns};
use super::measured::Measured;
use super::methods::Methods;
use super::samples::Taken;
use super::threads::Threads;
use super::times::{Clock, Times};

/// Suffix of the tree that has what a thread did to load and link classes.
pub const LOADING_SUFFIX: &str = " [class loading]";

/// Bytecodes by the application's context on whose behalf they were executed, where only the application's methods have
/// contexts: its own and those of the methods without.
pub const CHARGED_METRIC: &str = "bytecodes.charged";

/// Stands above the methods that have no contexts, where others have.
pub const WITHOUT_CONTEXTS: &str = "[methods without contexts]";

/// Samples taken every so many bytecodes.
pub const SAMPLES_METRIC: &str = "samples.bytecodes";

/// Where nodes of the arena are in the profile, for samples that were taken in their contexts.
#[derive(Default)]
pub struct Placed {
    /// How many nodes had a method without a record, or derived contexts or leaves without number.
    pub unnamed: u64,
    /// First and last byte of each node that can have published a slot, and its number; in order.
    ranges: Vec<(u64, u64, u32)>,
    /// The profile's node for each of the arena's; none for what is hidden.
    fed: Vec<Option<Fed>>,
    /// Contexts below a node, by method and call site. Trees of one group have the same contexts: here each is there once.
    callees: HashMap<(NodeId, MethodId), Vec<(i32, NodeId)>>,
    /// What counts of a method without contexts, in each thread: no call leads there, so nothing is below it.
    tallied: HashMap<(NodeId, MethodId), NodeId>,
}

/// A node in the profile.
#[derive(Clone, Copy)]
pub struct Fed {
    pub node: NodeId,
    /// The node that stands for it and all that are the same context.
    context: NodeId,
    method: Option<MethodId>,
    thread: ThreadId,
}

/// A context with counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    pub node: NodeId,
    pub thread: ThreadId,
}

impl Placed {
    /// Whether there are nodes that samples can be in.
    pub fn is_empty(&self) -> bool {
        self.callees.is_empty()
    }

    /// The context whose method has published the slot at this offset, with its method and the call site of the slot.
    pub fn publisher(
        &self,
        contents: &Contents<'_>,
        methods: &Methods,
        slot: u64,
    ) -> Option<(Counted, Option<MethodId>, i32)> {
        let at = self.ranges.partition_point(|&(first, ..)| first <= slot).checked_sub(1)?;
        let &(first, _, index) = self.ranges.get(at).filter(|&&(_, last, _)| slot <= last)?;
        let fed = self.fed.get(index as usize).copied().flatten()?;
        let number = slot.checked_sub(first + layout::node::SLOTS)? / layout::slot::SIZE;
        let node = contents.nodes.get(index as usize)?;
        let site = site_of_slot(methods, node.method, u16::try_from(number).unwrap_or(0));
        Some((Counted { node: fed.context, thread: fed.thread }, fed.method, site))
    }

    /// Where a thread has the counts of a method that has no contexts, below the thread's root.
    pub fn tallied(&self, root: NodeId, method: MethodId) -> Option<NodeId> {
        self.tallied.get(&(root, method)).copied()
    }

    /// The context of a method called from another one at a site; at any, if that is not known.
    pub fn callee(&self, caller: NodeId, method: MethodId, site: i32) -> Option<NodeId> {
        let callees = self.callees.get(&(caller, method))?;
        let there = callees.iter().find(|&&(at, _)| at == site);
        there.or(callees.first()).map(|&(_, node)| node)
    }

    /// A context below another; the first of those that are the same.
    fn context(&mut self, caller: NodeId, method: MethodId, site: i32, node: NodeId) -> NodeId {
        let callees = self.callees.entry((caller, method)).or_default();
        match callees.iter().find(|&&(at, _)| at == site) {
            Some(&(_, known)) => known,
            None => {
                callees.push((site, node));
                node
            }
        }
    }
}

/// The metrics of a profile.
#[derive(Default)]
struct Metrics {
    /// Calls and bytecodes.
    counts: Option<(MetricId, MetricId)>,
    samples: Option<MetricId>,
    allocations: Option<MetricId>,
    charged: Option<MetricId>,
    times: Option<Times>,
}

/// What nodes have counted that belongs to the profile.
pub struct Counts<'a> {
    /// Calls and bytecodes, or samples of them, or times.
    pub measured: Measured,
    /// What it took to take times.
    pub clock: Clock,
    pub columns: Columns,
    /// What columns had when the profile began.
    pub before: &'a columns::Before,
}

/// Puts all nodes into the builder that have counted something, or in which there are samples.
pub fn feed(
    contents: &Contents<'_>,
    mut counts: Counts<'_>,
    methods: &Methods,
    threads: &mut Threads,
    taken: &Taken<'_>,
    builder: &mut Builder,
) -> Placed {
    let mut placed = Placed::default();
    if !counts.measured.any() && counts.columns.is_empty() {
        return placed;
    }
    let mut live = live(contents, &counts);
    // Without samples there is no need for a way from them to nodes.
    let sampled = !taken.is_empty() || !contents.ledgers.is_empty();
    if sampled {
        placed.ranges = ranges(&contents.nodes);
        let in_ledgers = contents.ledgers.iter().map(|entry| entry.slot);
        for slot in taken.published().chain(in_ledgers) {
            revive(&contents.nodes, &placed.ranges, slot, &mut live);
        }
    }
    let metrics = if counts.measured.any() {
        Metrics::of(contents, methods, &live, &counts.clock, builder)
    } else {
        Metrics::default()
    };
    // One record could give a million callees to each of a million nodes; a real arena is larger than its profile.
    let mut derivable = usize::try_from(contents.size()).unwrap_or(usize::MAX);
    let charges = metrics.charged.is_some();
    placed.fed.reserve(contents.nodes.len());
    for (node, live) in contents.nodes.iter().zip(live) {
        let place =
            if live { place(contents, node, methods, threads, &placed, charges, builder) } else { Ok(None) };
        let mut place = place.unwrap_or_else(|Unnamed| {
            placed.unnamed += 1;
            None
        });
        if let (true, Some(Place { fed, caller: Some(caller), site })) = (sampled, &mut place)
            && let Some(method) = fed.method
        {
            if node.tallied {
                placed.tallied.entry((*caller, method)).or_insert(fed.node);
            } else {
                fed.context = placed.context(*caller, method, *site, fed.node);
            }
        }
        placed.fed.push(place.as_ref().map(|place| place.fed));
        let Some(Place { fed: here, .. }) = place else { continue };
        let Some(method) = methods.with_id(node.method).filter(|_| node.parent.is_some()) else {
            if let (Some(charged), true) = (metrics.charged, node.charged > 0) {
                let aside = without_contexts(builder, here.node);
                builder.add(aside, charged, node.charged);
            }
            continue;
        };
        counts.columns.feed(contents, counts.before, node, here.node, builder);
        if let (Some(clock), Some(times)) = (method.timed, &metrics.times) {
            let caller = node.parent.and_then(|parent| contents.nodes.get(parent as usize));
            let is_root = caller.is_none_or(|caller| caller.parent.is_none());
            times.add(builder, &counts.clock, (node.calls, node.bytecodes), clock, here.node, is_root);
            continue;
        }
        if let (true, Some(samples)) = (method.sampled, metrics.samples) {
            builder.add(here.node, samples, node.bytecodes);
        }
        let (false, Some((calls, bytecodes))) = (method.sampled, metrics.counts) else { continue };
        builder.add(here.node, calls, node.calls);
        let executed = method.counting.executed(node.calls, node.bytecodes);
        builder.add(here.node, bytecodes, executed);
        if let (Some(charged), false) = (metrics.charged, node.tallied) {
            builder.add(here.node, charged, executed.wrapping_add(node.charged));
        }
        let derived = &method.counting.derived;
        let all = derived.len();
        let derived = derived.get(..derivable.min(derived.len())).unwrap_or_default();
        derivable -= derived.len();
        placed.unnamed += (all - derived.len()) as u64;
        for derived in derived.iter().filter_map(|id| methods.with_id(*id)) {
            // What a method without a context calls has none, and stands beside it.
            let parent = if node.tallied { here.beside(builder) } else { here.node };
            let leaf = builder.push(parent, derived.id, UNKNOWN_SITE);
            builder.add(leaf, calls, node.calls);
            if sampled && !node.tallied {
                placed.context(here.context, derived.id, UNKNOWN_SITE, leaf);
            }
        }
        let Some(allocations) = metrics.allocations else { continue };
        for (block, count) in method.counting.blocks.iter().zip(contents.block_counts(node)) {
            builder.add(here.node, allocations, block.allocated(count));
            // Without all the others, a block that allocates says nothing about lines.
            if block.instructions > 0 {
                let (bci, instructions) = (block.bci.into(), block.instructions.into());
                builder.block(method.id, Block { bci, instructions, count });
            }
        }
    }
    placed.unnamed += counts.columns.refused();
    placed
}

/// A node has a method without a record.
struct Unnamed;

/// Where a node was put: below the context of its caller, unless it is a root.
struct Place {
    fed: Fed,
    caller: Option<NodeId>,
    site: i32,
}

/// Puts one node where it belongs; none for what is hidden.
fn place(
    contents: &Contents<'_>,
    node: &Node,
    methods: &Methods,
    threads: &mut Threads,
    placed: &Placed,
    charges: bool,
    builder: &mut Builder,
) -> Result<Option<Place>, Unnamed> {
    let Some(parent) = node.parent else {
        let suffix = match node.site {
            root::CALLS => "",
            root::LOADING => LOADING_SUFFIX,
            _ => return Ok(None),
        };
        let thread = threads.of_tree(builder, node.tree, suffix);
        let root = builder.root(thread);
        let fed = Fed { node: root, context: root, method: None, thread };
        return Ok(Some(Place { fed, caller: None, site: UNKNOWN_SITE }));
    };
    let Some(above) = placed.fed.get(parent as usize).copied().flatten() else { return Ok(None) };
    let method = methods.with_id(node.method).ok_or(Unnamed)?;
    let below = if node.tallied && charges { without_contexts(builder, above.node) } else { above.node };
    let caller = contents.nodes.get(parent as usize).map_or(layout::ROOT_METHOD, |caller| caller.method);
    let site = site_of_slot(methods, caller, node.site);
    let here = builder.push(below, method.id, site);
    let fed = Fed { node: here, context: here, method: Some(method.id), thread: above.thread };
    Ok(Some(Place { fed, caller: Some(above.context), site }))
}

impl Fed {
    /// The node that it is below.
    fn beside(&self, builder: &Builder) -> NodeId {
        builder.parent(self.node)
    }
}

/// What the methods without contexts stand below.
fn without_contexts(builder: &mut Builder, root: NodeId) -> NodeId {
    let method = builder.method(MethodSpec { name: WITHOUT_CONTEXTS, ..MethodSpec::default() });
    builder.child(root, method, UNKNOWN_SITE)
}

/// Bytecode index of a slot's call in its method, where sites are told apart. Slot 0 is for calls the VM makes.
fn site_of_slot(methods: &Methods, method: u32, slot: u16) -> i32 {
    let method = Some(method).filter(|&id| id != layout::ROOT_METHOD).and_then(|id| methods.with_id(id));
    let bci = method.zip(usize::from(slot).checked_sub(1)).and_then(|(method, slot)| method.sites.get(slot));
    bci.map_or(UNKNOWN_SITE, |&bci| bci.into())
}

impl Metrics {
    /// The metrics that the nodes which have counted something have; without any, those that the methods would have.
    fn of(
        contents: &Contents<'_>,
        methods: &Methods,
        live: &[bool],
        clock: &Clock,
        builder: &mut Builder,
    ) -> Metrics {
        let counted = contents.nodes.iter().zip(live).filter(|(_, live)| **live);
        if contents.facts(b"kind").any(|kind| kind == b"root") {
            return Metrics { times: Some(Times::declare(builder, clock)), ..Metrics::default() };
        }
        let methods_of_nodes = counted.filter_map(|(node, _)| methods.with_id(node.method));
        let untimed = methods_of_nodes.filter(|method| method.timed.is_none());
        let mut sampled: Vec<bool> = untimed.map(|method| method.sampled).collect();
        if sampled.is_empty() {
            sampled = vec![methods.rewritten().any(|method| method.sampled)];
        }
        let counts = sampled.contains(&false).then(|| {
            let calls = builder.metric(MetricSpec::calls());
            (calls, builder.metric(MetricSpec::bytecodes()))
        });
        let samples = sampled
            .contains(&true)
            .then(|| builder.metric(MetricSpec::sampled(SAMPLES_METRIC, Unit::Count, 1)));
        // Methods that only an earlier profile rewrote may still have theirs. Arenas that were written without an agent have one
        // profile.
        let of_this =
            contents.facts(b"counts.blocks").next().is_some() || contents.facts(b"kind").next().is_none();
        let has_blocks = of_this && methods.rewritten().any(|method| !method.counting.blocks.is_empty());
        let charges = contents.nodes.iter().any(|node| node.charged > 0);
        Metrics {
            counts,
            samples,
            allocations: has_blocks.then(|| builder.metric(MetricSpec::allocations())),
            charged: charges.then(|| builder.metric(MetricSpec::exact(CHARGED_METRIC, Unit::Bytecodes))),
            times: None,
        }
    }
}

/// Which nodes have counted something, they or some context below them. The others were opened before the profile
/// began, or are roots of which nothing grew.
fn live(contents: &Contents<'_>, counts: &Counts<'_>) -> Vec<bool> {
    let nodes = &contents.nodes;
    let mut live = vec![false; nodes.len()];
    // Children come after their parents.
    for (i, node) in nodes.iter().enumerate().rev() {
        let counted = live.get(i).copied().unwrap_or(false)
            || (counts.measured.any() && (node.calls | node.bytecodes | node.charged) != 0)
            || counts.columns.counted(contents, counts.before, node);
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

/// Where nodes with slots are.
fn ranges(nodes: &[Node]) -> Vec<(u64, u64, u32)> {
    let with_slots = (0..).zip(nodes).filter(|(_, node)| node.last_slot() > 0);
    let mut ranges: Vec<_> = with_slots.map(|(i, node)| (node.at, node.last_slot(), i)).collect();
    ranges.sort_unstable();
    ranges
}

/// There is a sample in the context that published this slot, though it may have been called before the profile began.
fn revive(nodes: &[Node], ranges: &[(u64, u64, u32)], slot: u64, live: &mut [bool]) {
    let Some(at) = ranges.partition_point(|&(first, ..)| first <= slot).checked_sub(1) else { return };
    let Some(&(_, last, index)) = ranges.get(at) else { return };
    let mut next = (slot <= last).then_some(index);
    while let Some(index) = next {
        match live.get_mut(index as usize) {
            Some(flag) if !*flag => *flag = true,
            // What is above is live already.
            _ => return,
        }
        next = nodes.get(index as usize).and_then(|node| node.parent);
    }
}
