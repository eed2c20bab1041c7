//! From samples in an arena to metrics, samples and losses in a profile.

use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

use quipu_arena::layout::{CAUSES, VIRTUAL, event, frame, mark, run_state};
use quipu_arena::reader::Contents;
use quipu_arena::record::Record;
use quipu_arena::sampled::{Context, Sample};
use quipu_classfile::mutf8;
use quipu_profile::{
    Aggregation, Builder, LabelsId, Line, MethodFlags, MethodId, MethodSpec, MetricId, MetricSpec, NO_LABELS,
    NodeId, Sample as Timed, ThreadId, ThreadKind, ThreadSpec, UNKNOWN_SITE, Unit,
};

use crate::budget::Budget;
use crate::import::pairs;
use crate::symbols::Symbols;

/// What samplers had seen at one moment.
#[derive(Debug, Default)]
pub struct Before {
    /// Where the last sample is.
    at: u64,
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
            time: samples.chain(beginnings(contents)).max().unwrap_or(0),
            walks: contents.header.walks,
            lost: contents.header.lost,
        }
    }
}

/// Puts samples into the builder: those after `before`, if given. Returns how many have not their whole context, or not
/// their labels, since the arena is too small to have that many.
pub fn feed(contents: &Contents<'_>, before: Option<&Before>, builder: &mut Builder) -> u64 {
    let none = Before::default();
    let before = before.unwrap_or(&none);
    for ((cause, now), then) in CAUSES.iter().zip(contents.header.lost).zip(before.lost) {
        if now > then {
            builder.meta.lost.insert((*cause).to_owned(), now - then);
        }
    }
    let began = beginnings(contents).filter(|&time| time > before.time).min();
    // One that was on its way when the profile began belongs to the one before.
    let of_this = |sample: &&Sample| sample.at > before.at && sample.time >= contents.began();
    let samples: Vec<&Sample> = contents.sampled.samples.iter().filter(of_this).collect();
    if began.is_none() && samples.is_empty() {
        return 0;
    }
    for key in ["cpu.clock", "cpu.clock.why", "walker"] {
        if let Some(value) = facts(contents, key).pop() {
            builder.run.extra.push((key.to_owned(), value));
        }
    }
    // Whoever may have that clock may know what the kernel does, too.
    if facts(contents, "cpu.clock").pop().is_some() {
        let told = match facts(contents, "cpu.clock.why").pop() {
            None => "told".to_owned(),
            Some(why) => format!("not told: {why}"),
        };
        builder.run.extra.push(("cpu.kernel".to_owned(), told));
    }
    let walks = contents.header.walks.saturating_sub(before.walks);
    builder.run.extra.push(("stack walks".to_owned(), walks.to_string()));
    let header = &contents.header;
    if header.samples > 0 {
        builder.run.cost.push(format!(
            "took {} samples of {:.1} us each",
            header.samples,
            header.sampling_nanos as f64 / header.samples as f64 / 1e3
        ));
    }
    let first = samples.iter().map(|sample| sample.time).min();
    let base = began.into_iter().chain(first).min().unwrap_or(0);
    Feeder::new(contents, base, builder).feed(&samples)
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

struct Feeder<'a> {
    contents: &'a Contents<'a>,
    builder: &'a mut Builder,
    /// The moment that is time 0 of the profile.
    base: u64,
    /// The profile's methods by what the VM calls them.
    methods: HashMap<u64, MethodId>,
    /// Machine code, by address.
    symbols: Symbols,
    functions: HashMap<u64, MethodId>,
    nameless: HashSet<MethodId>,
    marks: HashMap<u64, MethodId>,
    threads: HashMap<u32, ThreadId>,
    /// Sets of labels: what the target told, and the profile's numbers.
    told_labels: HashMap<u32, (u32, String, String)>,
    labels: HashMap<u32, LabelsId>,
    /// Node of a context in a thread's tree.
    nodes: HashMap<(ThreadId, u32), NodeId>,
    metrics: HashMap<(u32, Option<u32>), MetricId>,
    /// Time of samples of CPU time, by thread and context.
    used: HashMap<ThreadId, HashMap<u32, u64>>,
    /// Nodes and labels that may still come.
    budget: Budget,
}

/// Virtual threads that have a tree each; if there are more, names that differ in numbers only share one.
const MOST_VIRTUAL: usize = 64;

/// A name with `#` in place of each number.
fn without_numbers(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        match letter {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            _ => out.push(letter),
        }
    }
    out
}

/// Metrics of CPU time by the tier that a frame was in.
const TIERS: [(u32, &str); 4] = [
    (frame::INTERPRETED, "cpu.interpreted"),
    (frame::C1, "cpu.c1"),
    (frame::C2, "cpu.c2"),
    (frame::NATIVE, "cpu.native"),
];

impl<'a> Feeder<'a> {
    fn new(contents: &'a Contents<'a>, base: u64, builder: &'a mut Builder) -> Self {
        let mut feeder = Feeder {
            contents,
            builder,
            base,
            methods: HashMap::new(),
            symbols: Symbols::of(contents),
            functions: HashMap::new(),
            nameless: HashSet::new(),
            marks: HashMap::new(),
            threads: HashMap::new(),
            told_labels: told_labels(contents),
            labels: HashMap::new(),
            nodes: HashMap::new(),
            metrics: HashMap::new(),
            used: HashMap::new(),
            budget: Budget::of(contents.size()),
        };
        feeder.read_methods();
        feeder
    }

    fn read_methods(&mut self) {
        for record in &self.contents.records {
            let Record::SampledMethod { code, native, class, name, descriptor, source, lines } = *record
            else {
                continue;
            };
            let lines: Vec<Line> =
                pairs(lines).map(|(bci, line)| Line { bci: bci.into(), line: line.into() }).collect();
            let spec = MethodSpec {
                class: &mutf8::decode(class).replace('/', "."),
                name: &mutf8::decode(name),
                descriptor: &mutf8::decode(descriptor),
                source: &mutf8::decode(source),
                lines: &lines,
                flags: if native == 1 { MethodFlags::NATIVE } else { MethodFlags::NONE },
                ..MethodSpec::default()
            };
            let method = self.builder.method(spec);
            self.methods.insert(code, method);
        }
    }

    fn feed(mut self, samples: &[&Sample]) -> u64 {
        self.name_threads(samples);
        for &sample in samples {
            let Some(&thread) = self.threads.get(&sample.thread) else { continue };
            let node = self.node(thread, sample.context);
            let time = sample.time.saturating_sub(self.base);
            let labels = self.labels(sample.labels);
            if sample.event == event::CPU && self.nodes.contains_key(&(thread, sample.context)) {
                let used = self.used.entry(thread).or_default().entry(sample.context).or_default();
                *used = used.saturating_add(sample.value);
            }
            // The time of a state is told by itself and as part of all time.
            let state = (sample.event == event::WALL).then_some(sample.state);
            for key in [Some((sample.event, None)), state.map(|state| (sample.event, Some(state)))] {
                let Some(metric) = key.and_then(|(event, state)| self.metric(event, state)) else { continue };
                self.builder.add(node, metric, sample.value);
                self.builder.sample(Timed { time, thread, node, metric, value: sample.value, labels });
            }
        }
        self.feed_tiers();
        self.budget.refused()
    }

    /// Tells of each frame how much CPU time was used while it was on the stack in which tier. A frame of one method, on
    /// one path, may have been in several.
    fn feed_tiers(&mut self) {
        let period = self.period("cpu");
        for (thread, mut used) in std::mem::take(&mut self.used) {
            // Callers have smaller numbers, so the largest is done when it is its turn.
            let mut waiting: BinaryHeap<u32> = used.keys().copied().collect();
            while let Some(context) = waiting.pop() {
                let (Some(frame), Some(&value)) = (self.context(context), used.get(&context)) else {
                    continue;
                };
                if let Some(parent) = frame.parent {
                    let above = used.entry(parent).or_insert_with(|| {
                        waiting.push(parent);
                        0
                    });
                    *above = above.saturating_add(value);
                }
                if let Some((_, name)) = TIERS.iter().find(|(kind, _)| *kind == frame.kind) {
                    let spec = MetricSpec {
                        aggregation: Aggregation::Count,
                        ..MetricSpec::sampled(name, Unit::Nanoseconds, period)
                    };
                    let (node, metric) = (self.node(thread, context), self.builder.metric(spec));
                    self.builder.add(node, metric, value);
                }
            }
        }
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

    /// Trees of the threads that were sampled; threads of the same name share one.
    fn name_threads(&mut self, samples: &[&Sample]) {
        let mut told = HashMap::new();
        for record in &self.contents.records {
            if let Record::SampledThread { id, name, .. } = *record {
                told.insert(id, mutf8::decode(name));
            }
        }
        let many = told.keys().filter(|&id| id & VIRTUAL != 0).count() > MOST_VIRTUAL;
        for sample in samples {
            if self.threads.contains_key(&sample.thread) {
                continue;
            }
            let is_virtual = sample.thread & VIRTUAL != 0;
            let name = match told.get(&sample.thread).map(String::as_str) {
                // A tree for each of thousands would be of no use to anybody.
                Some(name) if is_virtual && many => &without_numbers(name),
                Some(name) if !(is_virtual && name.is_empty()) => name,
                _ if is_virtual => "[virtual]",
                // A target that was killed may not have told all names.
                _ => "?",
            };
            let kind = if is_virtual { ThreadKind::Virtual } else { ThreadKind::Platform };
            let thread = self.builder.thread(ThreadSpec { name, kind, ..ThreadSpec::default() });
            self.threads.insert(sample.thread, thread);
        }
    }

    fn metric(&mut self, event: u32, state: Option<u32>) -> Option<MetricId> {
        if let Some(&metric) = self.metrics.get(&(event, state)) {
            return Some(metric);
        }
        let kind = match event {
            event::CPU => "cpu",
            event::WALL => "wall",
            _ => return None,
        };
        let name = match state {
            None => kind.to_owned(),
            Some(state) => {
                let state = run_state::NAMES.get(state as usize).copied().unwrap_or("unknown");
                format!("{kind}.{state}")
            }
        };
        let period = self.period(kind);
        let metric = self.builder.metric(MetricSpec::sampled(&name, Unit::Nanoseconds, period));
        self.metrics.insert((event, state), metric);
        Some(metric)
    }

    /// Nanoseconds between samples. If the rate was changed, the longest: estimates of errors stay on the safe side.
    fn period(&self, kind: &str) -> u64 {
        let key = format!("{kind}.period");
        facts(self.contents, &key).iter().filter_map(|text| text.parse().ok()).max().unwrap_or(0)
    }

    /// The node of a context. Stacks can be thousands deep, so this does not recurse.
    fn node(&mut self, thread: ThreadId, context: u32) -> NodeId {
        let mut missing = Vec::new();
        let mut at = Some(context);
        let mut node = self.builder.root(thread);
        while let Some(context) = at {
            if let Some(&known) = self.nodes.get(&(thread, context)) {
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
            let caller = frame.parent.and_then(|parent| self.context(parent));
            let site = caller.and_then(|caller| caller.bci).and_then(|bci| i32::try_from(bci).ok());
            let method = self.method(frame);
            // Code of a library without names is one place, however deep.
            let above = caller.filter(|caller| caller.kind == frame::FOREIGN);
            if self.nameless.contains(&method) && above.map(|above| self.method(above)) == Some(method) {
                self.nodes.insert((thread, context), node);
                continue;
            }
            // Two contexts that differ in the place of the youngest frame are one in the profile.
            node = self.builder.child(node, method, site.unwrap_or(UNKNOWN_SITE));
            self.nodes.insert((thread, context), node);
        }
        node
    }

    /// Stands for all contexts of a thread that are beyond what the arena can have.
    fn beyond(&mut self, thread: ThreadId) -> NodeId {
        let method = self.foreign("[contexts beyond number]");
        let root = self.builder.root(thread);
        self.builder.child(root, method, UNKNOWN_SITE)
    }

    fn context(&self, index: u32) -> Option<Context> {
        self.contents.sampled.contexts.get(index as usize).copied()
    }

    fn method(&mut self, context: Context) -> MethodId {
        if context.kind == frame::FOREIGN {
            return self.function(context.code);
        }
        if context.kind != frame::MARK {
            if let Some(&method) = self.methods.get(&context.code) {
                return method;
            }
            let method = self.foreign("[method of an unloaded class]");
            self.methods.insert(context.code, method);
            return method;
        }
        if let Some(&method) = self.marks.get(&context.code) {
            return method;
        }
        let cause = context.code.checked_sub(mark::FAILED).and_then(|cause| CAUSES.get(cause as usize));
        let name = match (context.code, cause) {
            (_, Some(cause)) => format!("[{}]", cause.trim_start_matches("walks.")),
            (mark::NOT_JAVA, _) => "[not Java]".to_owned(),
            (mark::NO_FRAMES, _) => "[no Java frames]".to_owned(),
            _ => "[unknown method]".to_owned(),
        };
        let method = self.foreign(&name);
        self.marks.insert(context.code, method);
        method
    }

    fn function(&mut self, address: u64) -> MethodId {
        if let Some(&function) = self.functions.get(&address) {
            return function;
        }
        let place = self.symbols.find(address);
        let function = self.builder.method(MethodSpec {
            name: &place.function,
            module: &place.module,
            flags: MethodFlags::FOREIGN,
            ..MethodSpec::default()
        });
        self.functions.insert(address, function);
        if !place.named {
            self.nameless.insert(function);
        }
        function
    }

    fn foreign(&mut self, name: &str) -> MethodId {
        self.builder.method(MethodSpec { name, flags: MethodFlags::FOREIGN, ..MethodSpec::default() })
    }
}
