//! The Firefox Profiler's processed profile format, made by `fxprof-processed-profile`.
//!
//! That profiler shows samples on a time line. Metrics without times get one: each context is one sample whose weight
//! is its value, placed where the running sum of the metric is, so the stack chart is the tree drawn to scale. Events of the
//! timeline are markers.

mod marker;

use crate::{ExportError, Options, cut::Cut, names};
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameHandle, FrameInfo, ReferenceTimestamp,
    SamplingInterval, StackHandle, ThreadHandle, Timestamp, WeightType,
};
use marker::EventMarker;
use quipu_profile::{Event, Metric, MetricKind, NO_METHOD, NO_NODE, NO_THREAD, Profile, Unit};
use serde_json::Value;
use std::io::Write;
use std::time::Duration;

/// How long a metric that is not time is drawn, in nanoseconds.
const DRAWN_DURATION: f64 = 1e9;

/// Writes the chosen metric.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), ExportError> {
    let metric = options.metric(profile)?;
    let cut = Cut::new(profile, &[metric.values()], options.max_nodes, 0.0);
    let mut export = Export::new(profile, options, metric);
    export.samples(&cut);
    let mut document = serde_json::to_value(&export.result)?;
    restore_weights(&mut document, &export.weights, &metric.spec().unit);
    serde_json::to_writer(out, &document)?;
    Ok(())
}

struct Export<'p> {
    profile: &'p Profile,
    metric: &'p Metric,
    result: fxprof_processed_profile::Profile,
    /// The library takes weights of 32 bits. It is given an index into this list instead.
    weights: Vec<u64>,
}

impl<'p> Export<'p> {
    fn new(profile: &'p Profile, options: &Options, metric: &'p Metric) -> Export<'p> {
        let interval = match (&metric.spec().kind, &metric.spec().unit) {
            (MetricKind::Sampled { period }, Unit::Nanoseconds) if *period > 0 => *period,
            _ => 1_000_000,
        };
        let product = format!("{} · {}", options.title(profile), metric.name());
        let started = Duration::from_nanos(profile.run.started.unwrap_or(0));
        let mut result = fxprof_processed_profile::Profile::new(
            &product,
            ReferenceTimestamp::from_duration_since_unix_epoch(started),
            SamplingInterval::from_nanos(interval),
        );
        if !profile.run.host.os.is_empty() {
            result.set_os_name(&profile.run.host.os);
        }
        // All names are here already: the profiler need not ask anyone for symbols.
        result.set_symbolicated(true);
        Export { profile, metric, result, weights: Vec::new() }
    }

    fn samples(&mut self, cut: &Cut) {
        let profile = self.profile;
        let metric_id = profile.metric_id(self.metric.name());
        let timed = profile.samples().iter().any(|sample| Some(sample.metric) == metric_id);
        let start = Timestamp::from_nanos_since_reference(0);
        let name = if profile.meta.target.main.is_empty() { "java" } else { &profile.meta.target.main };
        let process = self.result.add_process(name, profile.run.pid.unwrap_or(1), start);
        let categories = Categories::new(&mut self.result);
        let texts = names::methods(profile);
        let folded = cut.folded_values(self.metric.values());
        let total = self.metric.values().iter().map(|&v| v as f64).sum::<f64>().max(1.0);
        let scale = if self.metric.spec().unit == Unit::Nanoseconds { 1.0 } else { DRAWN_DURATION / total };
        let mut timed_samples = by_thread(profile, profile.samples(), |sample| sample.thread as usize);
        // The first one has the events that are of none.
        let of_event = |event: &Event| if event.thread == NO_THREAD { 0 } else { event.thread as usize };
        let mut events = by_thread(profile, profile.events(), of_event);
        for (id, thread) in profile.threads().iter().enumerate() {
            // A main thread would be shown under the process's name instead of its own.
            let handle = self.result.add_thread(process, id as u32 + 1, start, false);
            self.result.set_thread_name(handle, &names::thread(profile, thread));
            self.result.set_thread_samples_weight_type(
                handle,
                match self.metric.spec().unit {
                    Unit::Bytes => WeightType::Bytes,
                    Unit::Nanoseconds => WeightType::TracingMs,
                    _ => WeightType::Samples,
                },
            );
            let stacks = self.stacks(handle, thread.root, cut, &texts, &categories);
            let first = thread.root as usize;
            let stack_of = |node| stacks[cut.nearest(node) as usize - first];
            self.events(handle, std::mem::take(&mut events[id]), stack_of);
            if timed {
                let samples = std::mem::take(&mut timed_samples[id]);
                for sample in samples.into_iter().filter(|sample| Some(sample.metric) == metric_id) {
                    self.sample(handle, sample.time, stack_of(sample.node), sample.value);
                }
                continue;
            }
            let mut at = 0f64;
            for (offset, &stack) in stacks.iter().enumerate() {
                let node = first + offset;
                let value = self.metric.values()[node].saturating_add(folded[node]);
                if cut.keeps(node as u32) && value > 0 {
                    self.sample(handle, at as u64, stack, value);
                    at += value as f64 * scale;
                }
            }
        }
    }

    /// Markers for events.
    fn events(
        &mut self,
        handle: ThreadHandle,
        events: Vec<&Event>,
        stack: impl Fn(u32) -> Option<StackHandle>,
    ) {
        for event in events {
            let marker = EventMarker::new(self.profile, event, &mut self.result);
            let marker = self.result.add_marker(handle, marker::timing(event), marker);
            if event.thread != NO_THREAD && event.node != NO_NODE {
                self.result.set_marker_stack(handle, marker, stack(event.node));
            }
        }
    }

    fn sample(&mut self, thread: ThreadHandle, time: u64, stack: Option<StackHandle>, weight: u64) {
        let index = i32::try_from(self.weights.len()).unwrap_or(i32::MAX);
        self.weights.push(weight);
        let time = Timestamp::from_nanos_since_reference(time);
        self.result.add_sample(thread, time, stack, CpuDelta::ZERO, index);
    }

    /// Stack handles for a thread's nodes, by offset from its root.
    fn stacks(
        &mut self,
        thread: ThreadHandle,
        root: u32,
        cut: &Cut,
        texts: &[String],
        categories: &Categories,
    ) -> Vec<Option<StackHandle>> {
        let tree = self.profile.tree();
        let mut frames: Vec<Option<FrameHandle>> = vec![None; texts.len()];
        let mut stacks: Vec<Option<StackHandle>> = Vec::with_capacity(tree.subtree(root).len());
        for node in tree.subtree(root) {
            let method = tree.methods()[node as usize];
            if method == NO_METHOD || !cut.keeps(node) {
                stacks.push(None);
                continue;
            }
            let frame = *frames[method as usize].get_or_insert_with(|| {
                let label = self.result.intern_string(&texts[method as usize]);
                let category_pair = categories.of(self.profile, method).into();
                let info =
                    FrameInfo { frame: Frame::Label(label), category_pair, flags: FrameFlags::empty() };
                self.result.intern_frame(thread, info)
            });
            let parent = stacks[(tree.parents()[node as usize] - root) as usize];
            stacks.push(Some(self.result.intern_stack(thread, parent, frame)));
        }
        stacks
    }
}

/// What there is of each thread, in its order: looked for thread by thread, a hundred threads would take a hundred times as long.
fn by_thread<'p, T>(profile: &Profile, all: &'p [T], thread: impl Fn(&T) -> usize) -> Vec<Vec<&'p T>> {
    let mut threads = vec![Vec::new(); profile.threads().len()];
    for one in all {
        threads.get_mut(thread(one)).into_iter().for_each(|its: &mut Vec<&T>| its.push(one));
    }
    threads
}

struct Categories {
    application: CategoryHandle,
    library: CategoryHandle,
    opaque: CategoryHandle,
}

impl Categories {
    fn new(result: &mut fxprof_processed_profile::Profile) -> Categories {
        Categories {
            application: result.add_category("Application", CategoryColor::Yellow),
            library: result.add_category("Java library", CategoryColor::Blue),
            opaque: result.add_category("Native and intrinsic", CategoryColor::Gray),
        }
    }

    fn of(&self, profile: &Profile, id: u32) -> CategoryHandle {
        let method = profile.method(id);
        let class = profile.str(method.class);
        match method {
            method if method.opaque() => self.opaque,
            _ if ["java.", "javax.", "jdk.", "sun.", "com.sun."].iter().any(|p| class.starts_with(p)) => {
                self.library
            }
            _ => self.application,
        }
    }
}

/// Puts the exact values where the indices are. Durations are in milliseconds.
fn restore_weights(document: &mut Value, weights: &[u64], unit: &Unit) {
    let threads = document.get_mut("threads").and_then(Value::as_array_mut);
    for thread in threads.into_iter().flatten() {
        let column = thread.pointer_mut("/samples/weight").and_then(Value::as_array_mut);
        for slot in column.into_iter().flatten() {
            let exact = slot.as_u64().and_then(|index| weights.get(index as usize)).copied().unwrap_or(0);
            *slot = match unit {
                Unit::Nanoseconds => Value::from(exact as f64 / 1e6),
                _ => Value::from(exact),
            };
        }
    }
}
