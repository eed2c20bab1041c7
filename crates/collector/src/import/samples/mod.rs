//! Samples: each is put into the node of its context ([`places`]), with what it is of and what it is about.

mod labels;
mod places;
mod taken;

use std::collections::{BTreeMap, HashMap};

use quipu_arena::layout::{frame, parts, run_state};
use quipu_arena::reader::Contents;
use quipu_arena::sampled::{Event, Sample};
use quipu_classfile::mutf8;
use quipu_profile::{
    Builder, Event as Told, MetricId, MetricSpec, NO_BCI, NO_NODE, NO_THREAD, NodeId, Sample as Timed,
    ThreadId,
};

use super::details::Details;
use super::events::EventKind;
use super::methods::Methods;
use super::metrics::{Declared, count_variance, variance};
use super::nodes::Placed;
use super::states;
use super::threads::Threads;
use labels::Labels;
use places::{Moment, Place, Places};
pub use taken::{Before, Taken};

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
    if taken.is_nothing() {
        return 0;
    }
    describe(contents, taken, builder);
    let mut feeder = Feeder {
        contents,
        places: Places::new(contents, placed, methods, threads, builder),
        base: taken.base(),
        labels: Labels::read(contents),
        declared: Declared::read(contents),
        metrics: HashMap::new(),
        counts: HashMap::new(),
        details: Details::read(contents),
        event_kinds: EventKind::read(contents),
        undeclared: 0,
        uncounted: 0,
        ages: HashMap::new(),
    };
    let all = taken.whole();
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
    feeder.feed_states(&all);
    let (damaged, uncounted) = (feeder.places.budget.refused() + feeder.undeclared, feeder.uncounted);
    if uncounted > 0 {
        builder.meta.lost.insert(UNCOUNTED.to_owned(), uncounted);
    }
    damaged
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

/// The group of an age: the least number of collections.
fn age_group(age: u32) -> &'static str {
    const NAMES: [&str; parts::AGES.len()] = ["age-1", "age-2", "age-4", "age-8", "age-16", "age-64"];
    let at = parts::AGES.iter().rposition(|&least| least <= age).unwrap_or(0);
    NAMES[at]
}

struct Feeder<'a> {
    contents: &'a Contents<'a>,
    places: Places<'a>,
    /// The moment that is time 0 of the profile.
    base: u64,
    labels: Labels,
    declared: HashMap<u32, Declared>,
    metrics: HashMap<(u32, Measured), MetricId>,
    /// How many occurrences samples stand for, by metric, and the variance of that.
    counts: HashMap<u32, (u64, u64)>,
    details: Details,
    event_kinds: HashMap<u32, EventKind>,
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
        let kind = self.places.context(sample.context).map_or(0, |context| context.kind);
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
        if moment == Moment::Entry && self.places.enters_glue(sample.context) {
            return None;
        }
        let Some(Place { thread, node, bci }) = self.places.place(sample.thread, sample.context, moment)
        else {
            self.uncounted += 1;
            return None;
        };
        let node = self.details.below(self.places.builder, node, sample.detail, &mut self.places.budget);
        let time = sample.time.saturating_sub(self.base);
        let labels = self.labels.number(self.places.builder, sample.labels, &mut self.places.budget);
        let measured = [
            Some((Measured::All, sample.value, true)),
            part.map(|part| (Measured::Part(part), sample.value, by_time)),
            counts.then_some((Measured::Count, sample.count.into(), true)),
            weighted.map(|[of_value, _]| (Measured::Variance, of_value, true)),
            weighted.map(|[_, of_count]| (Measured::CountVariance, of_count, true)),
        ];
        for (measured, value, timed) in measured.into_iter().flatten() {
            let Some(metric) = self.metric(sample.metric, measured) else { continue };
            self.places.builder.add(node, metric, value);
            if timed {
                let bci = bci.unwrap_or(NO_BCI);
                self.places.builder.sample(Timed { time, thread, node, metric, value, labels, bci });
            }
        }
        Some(node)
    }

    /// What objects took after one collection and another, by leaf: an event of each. Several threads may have the same.
    fn feed_growth(&mut self) {
        let sampled = &self.contents.sampled;
        let mut by_leaf: BTreeMap<NodeId, (ThreadId, Vec<u64>)> = BTreeMap::new();
        for growth in &sampled.growth {
            let place = self.places.place(growth.thread, growth.context, Moment::Within);
            let Some(Place { thread, node, .. }) = place else { continue };
            let node = self.details.below(self.places.builder, node, growth.detail, &mut self.places.budget);
            let (_, points) = by_leaf.entry(node).or_insert_with(|| (thread, Vec::new()));
            points.resize(points.len().max(growth.points.len()), 0);
            points.iter_mut().zip(&growth.points).for_each(|(sum, point)| *sum = sum.saturating_add(*point));
        }
        let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        let collections = list(&sampled.collections);
        for (node, (thread, points)) in by_leaf {
            let age = self.ages.get(&node).copied().unwrap_or(0).to_string();
            let details = [("age", &age), ("bytes", &list(&points)), ("collections", &collections)]
                .map(|(key, value)| (self.places.builder.string(key), self.places.builder.string(value)));
            let mut details = details.to_vec();
            details.sort_unstable();
            let name = self.places.builder.string(GROWTH_EVENT);
            self.places.builder.event(Told { time: 0, duration: 0, thread, node, name, details });
        }
    }

    fn feed_event(&mut self, event: &Event) {
        let Some(kind) = self.event_kinds.get(&event.kind).cloned() else {
            self.undeclared += 1;
            return;
        };
        let (thread, node) = match event.context {
            Some(context) => {
                let place = self.places.place(event.thread, context, Moment::Within);
                place.map_or((NO_THREAD, NO_NODE), |place| (place.thread, place.node))
            }
            None if event.thread == 0 => (NO_THREAD, NO_NODE),
            None => (self.places.threads.of_sample(self.places.builder, event.thread), NO_NODE),
        };
        let name = self.places.builder.string(&kind.name);
        let details = kind.details(event, &self.details).into_iter();
        let details = details
            .map(|(key, value)| (self.places.builder.string(&key), self.places.builder.string(&value)));
        let mut details: Vec<_> = details.collect();
        details.sort_unstable();
        let (time, duration) = (event.time.saturating_sub(self.base), event.duration);
        self.places.builder.event(Told { time, duration, thread, node, name, details });
    }

    /// What threads were seen doing over time, if the profile has a timeline.
    fn feed_states(&mut self, samples: &[Sample]) {
        if !self.event_kinds.values().any(|kind| kind.name == states::EVENT) {
            return;
        }
        let declared = &self.declared;
        let has_state = |sample: &&Sample| {
            declared.get(&sample.metric).is_some_and(|metric| metric.parts == parts::STATES)
        };
        let (intervals, beyond) = states::intervals(samples.iter().filter(has_state));
        if beyond > 0 {
            *self.places.builder.meta.lost.entry("events.no-room".to_owned()).or_default() += beyond;
        }
        for states::Interval { state, thread, context, began, ended } in intervals {
            let place = self.places.place(thread, context, Moment::Within);
            let Some(Place { thread, node, .. }) = place else { continue };
            let builder = &mut *self.places.builder;
            let state = run_state::NAMES.get(state as usize).copied().unwrap_or("unknown");
            let (name, key, state) =
                (builder.string(states::EVENT), builder.string("state"), builder.string(state));
            let (time, duration) = (began.saturating_sub(self.base), ended.saturating_sub(began));
            builder.event(Told { time, duration, thread, node, name, details: vec![(key, state)] });
        }
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
        let metric = self.places.builder.metric(spec);
        self.metrics.insert((id, measured), metric);
        Some(metric)
    }
}

/// What the engine said under `sampling.KEY`, in order.
fn facts(contents: &Contents<'_>, key: &str) -> Vec<String> {
    contents.facts(format!("sampling.{key}").as_bytes()).map(mutf8::decode).collect()
}
