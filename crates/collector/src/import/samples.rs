//! Samples: each is put into the node of its context. While everything is counted, that is a node which has counts; other
//! contexts are stacks that were walked.

use std::collections::{BTreeMap, HashMap, HashSet};

use quipu_arena::layout::{CAUSES, frame, parts, run_state};
use quipu_arena::reader::Contents;
use quipu_arena::record::Record;
use quipu_arena::sampled::{Context, Event, Sample, Watched};
use quipu_classfile::mutf8;
use quipu_profile::{
    Builder, Event as Told, LabelsId, MetricId, MetricSpec, NO_BCI, NO_LABELS, NO_NODE, NO_THREAD, NodeId,
    Sample as Timed, ThreadId, UNKNOWN_SITE,
};

use super::budget::Budget;
use super::details::Details;
use super::events::EventKind;
use super::methods::{Methods, foreign};
use super::metrics::{Declared, count_variance, variance};
use super::nodes::{Counted, Placed};
use super::threads::Threads;

/// What samplers had seen at one moment.
#[derive(Debug, Default)]
pub struct Before {
    /// Where the last sample and the last event are.
    at: u64,
    event_at: u64,
    /// The latest time that was told, by a sample or by the engine.
    time: u64,
    walks: u64,
    lost: [u64; CAUSES.len()],
}

impl Before {
    /// What an arena has so far.
    pub fn of(contents: &Contents<'_>) -> Before {
        let samples = contents.sampled.samples.iter().map(|sample| sample.time);
        Before {
            at: contents.sampled.samples.iter().map(|sample| sample.at).max().unwrap_or(0),
            event_at: contents.sampled.events.iter().map(|event| event.at).max().unwrap_or(0),
            time: samples.chain(beginnings(contents)).max().unwrap_or(0),
            walks: contents.header.walks,
            lost: contents.header.lost,
        }
    }
}

/// The samples of this profile.
pub struct Taken<'c> {
    contents: &'c Contents<'c>,
    samples: Vec<&'c Sample>,
    events: Vec<&'c Event>,
    /// Objects that have survived and are there: other than samples, not since a moment, but now.
    objects: Vec<&'c Watched>,
    /// When sampling began, if it began in this profile.
    began: Option<u64>,
    walks: u64,
    lost: Vec<(&'static str, u64)>,
}

impl<'c> Taken<'c> {
    /// Those after `before`, if given.
    pub fn of(contents: &'c Contents<'c>, before: Option<&Before>) -> Taken<'c> {
        let none = Before::default();
        let before = before.unwrap_or(&none);
        let lost = CAUSES.iter().zip(contents.header.lost).zip(before.lost);
        // One that was on its way when the profile began belongs to the one before.
        let of_this = |sample: &&Sample| sample.at > before.at && sample.time >= contents.began();
        let event_of_this = |event: &&Event| event.at > before.event_at && event.time >= contents.began();
        Taken {
            contents,
            samples: contents.sampled.samples.iter().filter(of_this).collect(),
            events: contents.sampled.events.iter().filter(event_of_this).collect(),
            objects: contents.sampled.objects.iter().filter(|object| object.age > 0).collect(),
            began: beginnings(contents).filter(|&time| time > before.time).min(),
            walks: contents.header.walks.saturating_sub(before.walks),
            lost: lost
                .filter(|((_, now), then)| now > then)
                .map(|((c, now), then)| (*c, now - then))
                .collect(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty() && self.objects.is_empty()
    }

    fn all_samples(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter().copied().chain(self.objects.iter().map(|object| &object.made))
    }

    /// Ids of the threads that have samples of their own, apart from those in contexts that were published.
    pub fn threads(&self) -> HashSet<u32> {
        let of_events = self.events.iter().map(|event| event.thread).filter(|&thread| thread != 0);
        self.all_samples().map(|sample| sample.thread).chain(of_events).collect()
    }

    /// Slots that threads had published when they were sampled; some of them many times.
    pub fn published(&self) -> impl Iterator<Item = u64> + '_ {
        let contexts = self.all_samples().map(|sample| sample.context);
        let of_events = self.events.iter().filter_map(|event| event.context);
        contexts.chain(of_events).filter_map(|context| Some(published(self.contents, context)?.slot))
    }
}

/// A context in the tree of exact counts: the slot that was published, and the method that ran, if that is known.
struct Published {
    slot: u64,
    running: Option<Context>,
}

fn published(contents: &Contents<'_>, context: u32) -> Option<Published> {
    let context = contents.sampled.contexts.get(context as usize).copied()?;
    if context.kind == frame::PUBLISHED {
        return Some(Published { slot: context.code, running: None });
    }
    let above = contents.sampled.contexts.get(context.parent? as usize)?;
    (above.kind == frame::PUBLISHED).then_some(Published { slot: above.code, running: Some(context) })
}

/// Puts samples into the builder; returns how many contexts were left out because there were too many.
pub fn feed(
    contents: &Contents<'_>,
    taken: &Taken<'_>,
    methods: &mut Methods,
    threads: &mut Threads,
    placed: &Placed,
    builder: &mut Builder,
) -> u64 {
    builder.meta.lost.extend(taken.lost.iter().map(|&(cause, n)| (cause.to_owned(), n)));
    if taken.began.is_none() && taken.samples.is_empty() && taken.events.is_empty() {
        return 0;
    }
    describe(contents, taken, builder);
    let times = taken.samples.iter().map(|sample| sample.time);
    let first = times.chain(taken.events.iter().map(|event| event.time)).min();
    let mut feeder = Feeder {
        contents,
        methods,
        threads,
        placed,
        builder,
        base: taken.began.into_iter().chain(first).min().unwrap_or(0),
        sites: contents.facts(b"sampling.sites").next().is_some(),
        told_labels: told_labels(contents),
        labels: HashMap::new(),
        counted: HashMap::new(),
        nodes: HashMap::new(),
        declared: Declared::read(contents),
        metrics: HashMap::new(),
        counts: HashMap::new(),
        details: Details::read(contents),
        event_kinds: EventKind::read(contents),
        budget: Budget::of(contents.size()),
        undeclared: 0,
        uncounted: 0,
        ages: HashMap::new(),
    };
    let all = whole(&taken.samples);
    for sample in all.iter().chain(taken.objects.iter().map(|object| &object.made)) {
        let Some(declared) = feeder.declared.get(&sample.metric) else { continue };
        let [_, of_count] = variances(sample, declared.weighted().unwrap_or(0));
        let (sum, variance) = feeder.counts.entry(sample.metric).or_default();
        *sum = sum.saturating_add(sample.count.into());
        *variance = variance.saturating_add(of_count);
    }
    feeder.declare();
    for sample in &all {
        feeder.feed(sample);
    }
    for object in &taken.objects {
        // Of what is seen of it now, the age is what tells it apart.
        let node = feeder.feed(&Sample { state: object.age, ..object.made });
        feeder
            .ages
            .entry(node.unwrap_or(NO_NODE))
            .and_modify(|age| *age = object.age.max(*age))
            .or_insert(object.age);
    }
    feeder.feed_growth();
    for event in &taken.events {
        feeder.feed_event(event);
    }
    let (damaged, uncounted) = (feeder.budget.refused() + feeder.undeclared, feeder.uncounted);
    if uncounted > 0 {
        builder.meta.lost.insert(UNCOUNTED.to_owned(), uncounted);
    }
    damaged
}

/// Samples, with those that stand for nothing by themselves added to what they go on with: a thread that was woken in vain goes on
/// to wait for the same.
fn whole(samples: &[&Sample]) -> Vec<Sample> {
    let mut whole: Vec<Sample> = Vec::with_capacity(samples.len());
    // Only what has such parts is kept in mind.
    let goes_on: HashSet<u32> =
        samples.iter().filter(|sample| sample.count == 0).map(|sample| sample.metric).collect();
    let mut last: HashMap<(u32, u32, u32), usize> = HashMap::new();
    for &&sample in samples {
        let key = (sample.thread, sample.metric, sample.detail);
        let before = last.get(&key).filter(|_| sample.count == 0).and_then(|&at| whole.get_mut(at));
        if let Some(before) = before {
            before.value = before.value.saturating_add(sample.value);
            continue;
        }
        if goes_on.contains(&sample.metric) {
            last.insert(key, whole.len());
        }
        whole.push(sample);
    }
    whole
}

fn describe(contents: &Contents<'_>, taken: &Taken<'_>, builder: &mut Builder) {
    for key in ["cpu.clock", "cpu.clock.why", "walker"] {
        if let Some(value) = facts(contents, key).pop() {
            builder.run.extra.push((key.to_owned(), value));
        }
    }
    // A process that may have that clock may know what the kernel does, too.
    if facts(contents, "cpu.clock").pop().is_some() {
        let told = match facts(contents, "cpu.clock.why").pop() {
            None => "told".to_owned(),
            Some(why) => format!("not told: {why}"),
        };
        builder.run.extra.push(("cpu.kernel".to_owned(), told));
    }
    builder.run.extra.push(("stack walks".to_owned(), taken.walks.to_string()));
    let header = &contents.header;
    if header.samples > 0 {
        builder.run.cost.push(format!(
            "took {} samples of {:.1} us each",
            header.samples,
            header.sampling_nanos as f64 / header.samples as f64 / 1e3
        ));
    }
}

/// What the engine said under `sampling.KEY`, in order.
fn facts(contents: &Contents<'_>, key: &str) -> Vec<String> {
    contents.facts(format!("sampling.{key}").as_bytes()).map(mutf8::decode).collect()
}

/// When sampling was begun, each time, on the target's clock.
fn beginnings(contents: &Contents<'_>) -> impl Iterator<Item = u64> {
    facts(contents, "began").into_iter().filter_map(|time| time.parse().ok())
}

/// Sets of labels by number: what each adds to which.
fn told_labels(contents: &Contents<'_>) -> HashMap<u32, (u32, String, String)> {
    let told = contents.records.iter().filter_map(|record| match *record {
        Record::SampledLabel { set, before, key, value } => {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            Some((set, (before, text(key), text(value))))
        }
        _ => None,
    });
    told.collect()
}

/// What of a declared metric goes to a metric of the profile.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Measured {
    All,
    /// A part of it: what the thread was doing, or what kind of code was running.
    Part(&'static str),
    /// Numbers of occurrences.
    Count,
    /// The variances of both.
    Variance,
    CountVariance,
}

/// What kind of code ran, by the youngest frame.
fn tier(kind: u32) -> &'static str {
    match kind {
        frame::INTERPRETED => "interpreted",
        frame::C1 => "c1",
        frame::C2 => "c2",
        frame::NATIVE | frame::FOREIGN => "native",
        _ => "unknown",
    }
}

/// The variances of what a sample stands for, of its value and of its count.
fn variances(sample: &Sample, period: u64) -> [u64; 2] {
    [variance(sample.value, period), count_variance(sample.count)]
}

/// The event that says what objects of a class took after one collection and another, in its leaf.
const GROWTH_EVENT: &str = "live.growth";

/// Calls of which there is no edge: of methods that are not counted, while others are.
const UNCOUNTED: &str = "calls.uncounted";

/// Samples of calls: of what was entered, by the edge that leads to it.
const CALLS: &str = "samples.calls";
/// Methods that a lambda or a method handle leads through, one after the other; more than there ever are.
const MOST_GLUE: usize = 64;

/// The group of an age: the least number of collections.
fn age_group(age: u32) -> &'static str {
    const NAMES: [&str; parts::AGES.len()] = ["age-1", "age-2", "age-4", "age-8", "age-16", "age-64"];
    let at = parts::AGES.iter().rposition(|&least| least <= age).unwrap_or(0);
    NAMES[at]
}

/// When a sample was taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Moment {
    /// While the youngest frame ran.
    Within,
    /// At the entry of the youngest frame, which has not published anything yet: the sample is of the call that led there. What
    /// lambdas and method handles are made of is passed through, as where calls are counted by inserted code.
    Entry,
}

/// Where a sample belongs.
#[derive(Clone, Copy)]
struct Place {
    thread: ThreadId,
    node: NodeId,
    /// Where the node's method was.
    bci: Option<u32>,
}

/// Where counts are that a walked stack leads to.
#[derive(Clone, Copy)]
struct Counts {
    place: Place,
    /// Whether the youngest frame's method has counts of its own there.
    own: bool,
}

struct Feeder<'a> {
    contents: &'a Contents<'a>,
    methods: &'a mut Methods,
    threads: &'a mut Threads,
    placed: &'a Placed,
    builder: &'a mut Builder,
    /// The moment that is time 0 of the profile.
    base: u64,
    /// Whether two calls of a method from different places are two contexts.
    sites: bool,
    /// Sets of labels: what the target told, and the profile's numbers.
    told_labels: HashMap<u32, (u32, String, String)>,
    labels: HashMap<u32, LabelsId>,
    /// Where a context is that leads through nodes with counts; none if it does not.
    counted: HashMap<(ThreadId, u32), Option<Counts>>,
    /// Node of a context in a thread's tree.
    nodes: HashMap<(ThreadId, u32, Moment), NodeId>,
    declared: HashMap<u32, Declared>,
    metrics: HashMap<(u32, Measured), MetricId>,
    /// How many occurrences samples stand for, by metric, and the variance of that.
    counts: HashMap<u32, (u64, u64)>,
    details: Details,
    event_kinds: HashMap<u32, EventKind>,
    /// Nodes and labels that may still come.
    budget: Budget,
    /// Samples and events of something that was never declared.
    undeclared: u64,
    /// Samples of calls that lead to methods which are not counted, while others are.
    uncounted: u64,
    /// How many collections the oldest object has survived, by leaf.
    ages: HashMap<NodeId, u32>,
}

impl Feeder<'_> {
    /// What is measured is in the profile, also if it is 0 everywhere.
    fn declare(&mut self) {
        let mut ids: Vec<u32> = self.declared.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            self.metric(id, Measured::All);
            if self.declared.get(&id).is_some_and(|declared| !declared.count.is_empty()) {
                self.metric(id, Measured::Count);
            }
            if self.declared.get(&id).is_some_and(|declared| declared.weighted().is_some()) {
                self.metric(id, Measured::Variance);
                self.metric(id, Measured::CountVariance);
            }
        }
    }

    /// Adds a sample to its leaf, which is returned.
    fn feed(&mut self, sample: &Sample) -> Option<NodeId> {
        let Some(declared) = self.declared.get(&sample.metric) else {
            self.undeclared += 1;
            return None;
        };
        let kind = self.context(sample.context).map_or(0, |context| context.kind);
        // A part is told by itself and in the sum of all.
        let part = match declared.parts {
            parts::TIERS => Some(tier(kind)),
            parts::AGE => Some(age_group(sample.state)),
            parts::STATES => Some(run_state::NAMES.get(sample.state as usize).copied().unwrap_or("unknown")),
            _ => None,
        };
        let moment = if declared.name == CALLS { Moment::Entry } else { Moment::Within };
        let weighted = declared.weighted().map(|period| variances(sample, period));
        let (by_time, counts) = (declared.parts != parts::TIERS, !declared.count.is_empty());
        if moment == Moment::Entry && self.enters_glue(sample.context) {
            return None;
        }
        let Some(Place { thread, node, bci }) = self.place(sample.thread, sample.context, moment) else {
            self.uncounted += 1;
            return None;
        };
        let node = self.details.below(self.builder, node, sample.detail, &mut self.budget);
        let time = sample.time.saturating_sub(self.base);
        let labels = self.labels(sample.labels);
        let measured = [
            Some((Measured::All, sample.value, true)),
            part.map(|part| (Measured::Part(part), sample.value, by_time)),
            counts.then_some((Measured::Count, sample.count.into(), true)),
            weighted.map(|[of_value, _]| (Measured::Variance, of_value, true)),
            weighted.map(|[_, of_count]| (Measured::CountVariance, of_count, true)),
        ];
        for (measured, value, timed) in measured.into_iter().flatten() {
            let Some(metric) = self.metric(sample.metric, measured) else { continue };
            self.builder.add(node, metric, value);
            if timed {
                let bci = bci.unwrap_or(NO_BCI);
                self.builder.sample(Timed { time, thread, node, metric, value, labels, bci });
            }
        }
        Some(node)
    }

    /// What objects took after one collection and another, by leaf: an event of each. Several threads may have the same.
    fn feed_growth(&mut self) {
        let sampled = &self.contents.sampled;
        let mut by_leaf: BTreeMap<NodeId, (ThreadId, Vec<u64>)> = BTreeMap::new();
        for growth in &sampled.growth {
            let place = self.place(growth.thread, growth.context, Moment::Within);
            let Some(Place { thread, node, .. }) = place else { continue };
            let node = self.details.below(self.builder, node, growth.detail, &mut self.budget);
            let (_, points) = by_leaf.entry(node).or_insert_with(|| (thread, Vec::new()));
            points.resize(points.len().max(growth.points.len()), 0);
            points.iter_mut().zip(&growth.points).for_each(|(sum, point)| *sum = sum.saturating_add(*point));
        }
        let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        let collections = list(&sampled.collections);
        for (node, (thread, points)) in by_leaf {
            let age = self.ages.get(&node).copied().unwrap_or(0).to_string();
            let details = [("age", &age), ("bytes", &list(&points)), ("collections", &collections)]
                .map(|(key, value)| (self.builder.string(key), self.builder.string(value)));
            let mut details = details.to_vec();
            details.sort_unstable();
            let name = self.builder.string(GROWTH_EVENT);
            self.builder.event(Told { time: 0, duration: 0, thread, node, name, details });
        }
    }

    fn feed_event(&mut self, event: &Event) {
        let Some(kind) = self.event_kinds.get(&event.kind).cloned() else {
            self.undeclared += 1;
            return;
        };
        let (thread, node) = match event.context {
            Some(context) => {
                let place = self.place(event.thread, context, Moment::Within);
                place.map_or((NO_THREAD, NO_NODE), |place| (place.thread, place.node))
            }
            None if event.thread == 0 => (NO_THREAD, NO_NODE),
            None => (self.threads.of_sample(self.builder, event.thread), NO_NODE),
        };
        let name = self.builder.string(&kind.name);
        let details = kind.details(event, &self.details).into_iter();
        let details = details.map(|(key, value)| (self.builder.string(&key), self.builder.string(&value)));
        let mut details: Vec<_> = details.collect();
        details.sort_unstable();
        let (time, duration) = (event.time.saturating_sub(self.base), event.duration);
        self.builder.event(Told { time, duration, thread, node, name, details });
    }

    /// Whether what runs is nothing that is called by the program.
    fn enters_glue(&mut self, context: u32) -> bool {
        self.context(context).is_some_and(|frame| self.is_glue(frame))
    }

    fn is_glue(&mut self, frame: Context) -> bool {
        let method = self.methods.of_frame(self.builder, frame);
        self.methods.is_glue(method)
    }

    /// Where a sample belongs; `None` for that of a call to a method that is not counted, while others are.
    fn place(&mut self, thread: u32, context: u32, moment: Moment) -> Option<Place> {
        let of = |counts: Counts| (counts.own || moment == Moment::Within).then_some(counts.place);
        if let Some(found) = published(self.contents, context)
            && let Some(counts) = self.place_published(&found, moment)
        {
            return of(counts);
        }
        let thread = self.threads.of_sample(self.builder, thread);
        if let Some(counts) = self.counted(thread, context) {
            return of(counts);
        }
        let node = self.node(thread, context, moment);
        let youngest = self.context(context).filter(|youngest| is_java(youngest.kind));
        Some(Place { thread, node, bci: youngest.and_then(|youngest| youngest.bci) })
    }

    /// The method that ran may be one that publishes nothing, because it calls nothing: then it is a callee of the one that
    /// did. One that is not counted works for the one that is; below no method at all, one without contexts has its counts
    /// below the thread's root. One that is being entered has published nothing, even if the slot is one of its own: that is of
    /// the call before.
    fn place_published(&mut self, found: &Published, moment: Moment) -> Option<Counts> {
        let (Counted { node, thread }, method, site) =
            self.placed.publisher(self.contents, self.methods, found.slot)?;
        let running = found.running.map(|frame| (self.methods.of_frame(self.builder, frame), frame.bci));
        let (node, bci, own) = match running {
            Some((running, bci)) if Some(running) == method && moment == Moment::Within => (node, bci, true),
            Some((running, bci)) => {
                let callee = self.placed.callee(node, running, site);
                match callee.or_else(|| self.placed.tallied(node, running)) {
                    Some(callee) => (callee, bci, true),
                    None => (node, None, false),
                }
            }
            None => (node, None, false),
        };
        Some(Counts { place: Place { thread, node, bci }, own })
    }

    fn counted(&mut self, thread: ThreadId, context: u32) -> Option<Counts> {
        if let Some(&known) = self.counted.get(&(thread, context)) {
            return known;
        }
        let counts = self.place_counted(thread, context);
        self.counted.insert((thread, context), counts);
        counts
    }

    /// A stack that was walked while everything is counted: the methods that are counted lead to the context. The others
    /// have none of their own, nor has what is called by a method that is not looked into; where no method has any, the whole
    /// stack is the context.
    fn place_counted(&mut self, thread: ThreadId, context: u32) -> Option<Counts> {
        if self.placed.is_empty() {
            return None;
        }
        let root = self.builder.root(thread);
        let mut frames = Vec::new();
        let mut at = Some(context);
        while let Some(index) = at {
            // Each is looked at anew for each context: a budget, as for nodes.
            if !self.budget.take() {
                return None;
            }
            let frame = self.context(index)?;
            frames.push(frame);
            at = frame.parent;
        }
        let (mut node, mut bci, mut site, mut own) = (root, None, UNKNOWN_SITE, false);
        for frame in frames.into_iter().rev().filter(|frame| frame.kind <= frame::NATIVE) {
            let method = self.methods.of_frame(self.builder, frame);
            if let Some(callee) = self.placed.callee(node, method, site) {
                (node, bci, own) = (callee, frame.bci, true);
            } else {
                (bci, own) = (None, false);
            }
            site = frame.bci.and_then(|bci| i32::try_from(bci).ok()).unwrap_or(UNKNOWN_SITE);
        }
        (node != root).then_some(Counts { place: Place { thread, node, bci }, own })
    }

    /// The profile's number of a set of labels.
    fn labels(&mut self, set: u32) -> LabelsId {
        if set == 0 {
            return NO_LABELS;
        }
        if let Some(&labels) = self.labels.get(&set) {
            return labels;
        }
        let mut pairs = BTreeMap::new();
        let mut at = set;
        // Each is made of one with a smaller number; the label added last counts.
        while let Some((before, key, value)) = self.told_labels.get(&at) {
            if !self.budget.take() {
                self.budget.refuse();
                break;
            }
            pairs.entry(key.as_str()).or_insert(value.as_str());
            if *before >= at {
                break;
            }
            at = *before;
        }
        let pairs: Vec<(&str, &str)> = pairs.into_iter().collect();
        let labels = self.builder.labels(&pairs);
        self.labels.insert(set, labels);
        labels
    }

    fn metric(&mut self, id: u32, measured: Measured) -> Option<MetricId> {
        if let Some(&metric) = self.metrics.get(&(id, measured)) {
            return Some(metric);
        }
        let declared = self.declared.get(&id)?;
        let spec = match measured {
            Measured::All => declared.spec(),
            Measured::Part(part) => {
                MetricSpec { name: format!("{}.{part}", declared.name), ..declared.spec() }
            }
            Measured::Count => {
                // So that the error of the whole is right.
                declared.count_spec(self.counts.get(&id).map_or(1, |(sum, variance)| variance / sum.max(&1)))
            }
            Measured::Variance => declared.spec().variance(),
            Measured::CountVariance => declared.count_spec(1).variance(),
        };
        let metric = self.builder.metric(spec);
        self.metrics.insert((id, measured), metric);
        Some(metric)
    }

    /// The node of a context. Stacks can be thousands deep, so this does not recurse.
    fn node(&mut self, thread: ThreadId, context: u32, moment: Moment) -> NodeId {
        let mut missing = Vec::new();
        let mut at = Some(context);
        let mut node = self.builder.root(thread);
        while let Some(context) = at {
            if let Some(&known) = self.nodes.get(&(thread, context, moment)) {
                node = known;
                break;
            }
            if !self.budget.take() {
                self.budget.refuse();
                return self.beyond(thread);
            }
            missing.push(context);
            at = self.context(context).and_then(|context| context.parent);
        }
        for context in missing.into_iter().rev() {
            let Some(frame) = self.context(context) else { continue };
            let mut caller = frame.parent.and_then(|parent| self.context(parent));
            if moment == Moment::Entry {
                if self.is_glue(frame) {
                    self.nodes.insert((thread, context, moment), node);
                    continue;
                }
                for _ in 0..MOST_GLUE {
                    let Some(glue) = caller.filter(|&caller| self.is_glue(caller)) else { break };
                    caller = glue.parent.and_then(|parent| self.context(parent));
                }
            }
            let method = self.methods.of_frame(self.builder, frame);
            // Code of a library without names is one place, however deep.
            let above = caller.filter(|caller| caller.kind == frame::FOREIGN);
            let above = above.map(|above| self.methods.of_frame(self.builder, above));
            if !(self.methods.is_nameless(method) && above == Some(method)) {
                // Two contexts that differ in the place of a frame are one, unless the user wants to tell them apart.
                let site = caller.filter(|_| self.sites).and_then(|caller| i32::try_from(caller.bci?).ok());
                node = self.builder.child(node, method, site.unwrap_or(UNKNOWN_SITE));
            }
            self.nodes.insert((thread, context, moment), node);
        }
        node
    }

    /// Stands for all contexts of a thread that are beyond what the arena can have.
    fn beyond(&mut self, thread: ThreadId) -> NodeId {
        let method = foreign(self.builder, "[contexts beyond number]");
        let root = self.builder.root(thread);
        self.builder.child(root, method, UNKNOWN_SITE)
    }

    fn context(&self, index: u32) -> Option<Context> {
        self.contents.sampled.contexts.get(index as usize).copied()
    }
}

/// Whether a frame is of a Java method with a known place.
fn is_java(kind: u32) -> bool {
    (frame::JAVA..=frame::C2).contains(&kind)
}
