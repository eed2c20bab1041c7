//! Strings, methods, threads, metric columns, samples and events.

use super::bytes::{Reader, put, put_str};
use super::error::ReadError;
use crate::{
    Aggregation, Block, Event, Line, Method, MethodFlags, Metric, MetricKind, MetricSpec, NO_BCI, NO_LABELS,
    NO_NODE, NO_THREAD, NodeId, Profile, Sample, StrId, Strings, Thread, ThreadKind, Unit,
};

/// Each string as the length it shares with the one before, and the rest: sorted names share long prefixes.
pub(super) fn put_strings(out: &mut Vec<u8>, strings: &Strings) {
    put(out, strings.len() as u64 - 1);
    let mut before = "";
    for text in strings.iter().skip(1) {
        let mut shared = before.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
        while !text.is_char_boundary(shared) {
            shared -= 1;
        }
        put(out, shared as u64);
        put_str(out, &text[shared..]);
        before = text;
    }
}

/// Expanding shared prefixes could blow up: `limit` is the most text that may come of it.
pub(super) fn strings(reader: &mut Reader<'_>, limit: u64) -> Result<Strings, ReadError> {
    let count = reader.count()?;
    let mut strings = Strings::default();
    let (mut before, mut total) = (String::new(), 0);
    for id in 1..=count {
        let shared = reader.varint()? as usize;
        let rest = reader.text()?;
        if !before.is_char_boundary(shared) || shared > before.len() {
            return Err(reader.malformed(format!("string {id} shares more than there is")));
        }
        if rest <= &before[shared..] {
            return Err(reader.malformed(format!("string {id} is out of order")));
        }
        total += shared + rest.len();
        if total as u64 > limit || total > u32::MAX as usize {
            return Err(reader.malformed("too much text"));
        }
        before.truncate(shared);
        before.push_str(rest);
        strings.push(&before);
    }
    Ok(strings)
}

pub(super) fn put_methods(out: &mut Vec<u8>, methods: &[Method]) {
    put(out, methods.len() as u64);
    for m in methods {
        for id in [m.class, m.name, m.descriptor, m.loader, m.source, m.module] {
            put(out, u64::from(id));
        }
        out.push(m.flags.0);
        put(out, m.lines.len() as u64);
        let mut before = (0, 0);
        for line in &m.lines {
            put(out, u64::from(line.bci - before.0));
            put(out, zigzag(i64::from(line.line) - i64::from(before.1)));
            before = (line.bci, line.line);
        }
    }
}

pub(super) fn methods(reader: &mut Reader<'_>, strings: usize) -> Result<Vec<Method>, ReadError> {
    let count = reader.count()?;
    // An entry is at least six names, flags and an empty line table.
    reader.at_least(count.saturating_mul(8))?;
    let mut methods: Vec<Method> = Vec::with_capacity(count);
    for id in 0..count {
        let mut names = [0; 6];
        for name in &mut names {
            *name = reader.index(strings)?;
        }
        let [class, name, descriptor, loader, source, module] = names;
        let flags = MethodFlags(reader.byte()?);
        let mut lines = Vec::with_capacity(reader.count()?);
        let (mut bci, mut line) = (0u32, 0i64);
        for entry in 0..lines.capacity() {
            let step = reader.u32()?;
            bci = bci
                .checked_add(step)
                .filter(|_| entry == 0 || step > 0)
                .ok_or_else(|| reader.malformed(format!("the line table of method {id} is out of order")))?;
            line = line.saturating_add(unzigzag(reader.varint()?));
            let line = u32::try_from(line)
                .map_err(|_| reader.malformed(format!("method {id} has a line {line}")))?;
            lines.push(Line { bci, line });
        }
        let method =
            Method { class, name, descriptor, loader, source, module, flags, lines, blocks: Vec::new() };
        if methods.last().is_some_and(|before| before.key() >= method.key()) {
            return Err(reader.malformed(format!("method {id} is out of order")));
        }
        methods.push(method);
    }
    Ok(methods)
}

/// Block counts of the methods that have them.
pub(super) fn put_blocks(out: &mut Vec<u8>, methods: &[Method]) {
    let counted = methods.iter().enumerate().filter(|(_, method)| !method.blocks.is_empty());
    put(out, counted.clone().count() as u64);
    for (id, method) in counted {
        put(out, id as u64);
        put(out, method.blocks.len() as u64);
        for block in &method.blocks {
            put(out, u64::from(block.bci));
            put(out, u64::from(block.instructions));
            put(out, block.count);
        }
    }
}

pub(super) fn blocks(reader: &mut Reader<'_>, methods: &mut [Method]) -> Result<(), ReadError> {
    for _ in 0..reader.count()? {
        let id = reader.index(methods.len())?;
        let count = reader.count()?;
        let mut blocks: Vec<Block> = Vec::with_capacity(count);
        for _ in 0..count {
            let block = Block { bci: reader.u32()?, instructions: reader.u32()?, count: reader.varint()? };
            let key = |block: &Block| (block.bci, block.instructions);
            if blocks.last().is_some_and(|before| key(before) >= key(&block)) {
                return Err(reader.malformed(format!("the blocks of method {id} are out of order")));
            }
            blocks.push(block);
        }
        methods[id as usize].blocks = blocks;
    }
    Ok(())
}

fn put_pairs(out: &mut Vec<u8>, pairs: &[(StrId, StrId)]) {
    put(out, pairs.len() as u64);
    for &(key, value) in pairs {
        put(out, u64::from(key));
        put(out, u64::from(value));
    }
}

fn pairs(reader: &mut Reader<'_>, strings: usize) -> Result<Vec<(StrId, StrId)>, ReadError> {
    (0..reader.count()?).map(|_| Ok((reader.index(strings)?, reader.index(strings)?))).collect()
}

pub(super) fn put_threads(out: &mut Vec<u8>, threads: &[Thread]) {
    put(out, threads.len() as u64);
    for thread in threads {
        put(out, u64::from(thread.name));
        put(out, u64::from(thread.group));
        out.push(thread.kind as u8);
        put(out, thread.threads);
        put_pairs(out, &thread.labels);
    }
}

pub(super) fn threads(
    reader: &mut Reader<'_>,
    strings: usize,
    roots: &[NodeId],
) -> Result<Vec<Thread>, ReadError> {
    let count = reader.count()?;
    if count != roots.len() {
        return Err(reader.malformed(format!("{count} threads for {} trees", roots.len())));
    }
    reader.at_least(count.saturating_mul(5))?;
    let mut threads: Vec<Thread> = Vec::with_capacity(count);
    for (id, &root) in roots.iter().enumerate() {
        let (name, group) = (reader.index(strings)?, reader.index(strings)?);
        let kind = reader.byte()?;
        let kind =
            ThreadKind::from_byte(kind).ok_or_else(|| reader.malformed(format!("thread kind {kind}")))?;
        let folded = reader.varint()?;
        let thread = Thread { name, group, kind, threads: folded, labels: pairs(reader, strings)?, root };
        if threads.last().is_some_and(|before| before.key() >= thread.key()) {
            return Err(reader.malformed(format!("thread {id} is out of order")));
        }
        threads.push(thread);
    }
    Ok(threads)
}

pub(super) fn put_metric(out: &mut Vec<u8>, metric: &Metric) {
    put_str(out, &metric.spec.name);
    put_str(out, metric.spec.unit.as_str());
    match metric.spec.kind {
        MetricKind::Exact => out.push(0),
        MetricKind::Sampled { period } => {
            out.push(1);
            put(out, period);
        }
    }
    out.push(metric.spec.aggregation as u8);
    for &value in &metric.values {
        put(out, value);
    }
}

pub(super) fn metric(reader: &mut Reader<'_>, nodes: usize) -> Result<Metric, ReadError> {
    let name = reader.text()?.to_owned();
    let unit = Unit::from_name(reader.text()?);
    let kind = match reader.byte()? {
        0 => MetricKind::Exact,
        1 => MetricKind::Sampled { period: reader.varint()? },
        other => return Err(reader.malformed(format!("metric kind {other}"))),
    };
    let byte = reader.byte()?;
    let aggregation =
        Aggregation::from_byte(byte).ok_or_else(|| reader.malformed(format!("aggregation {byte}")))?;
    reader.at_least(nodes)?;
    let mut values = Vec::with_capacity(nodes);
    for _ in 0..nodes {
        values.push(reader.varint()?);
    }
    Ok(Metric { spec: MetricSpec { name, unit, kind, aggregation }, values })
}

pub(super) fn put_samples(out: &mut Vec<u8>, samples: &[Sample]) {
    put(out, samples.len() as u64);
    let mut before = 0;
    for sample in samples {
        put(out, sample.time - before);
        before = sample.time;
        put(out, u64::from(sample.thread));
        put(out, u64::from(sample.node));
        put(out, u64::from(sample.metric));
        put(out, sample.value);
    }
}

/// How long the tables are that samples and events point into.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) strings: usize,
    pub(super) threads: usize,
    pub(super) nodes: usize,
    pub(super) metrics: usize,
}

pub(super) fn samples(reader: &mut Reader<'_>, sizes: Sizes) -> Result<Vec<Sample>, ReadError> {
    let count = reader.count()?;
    reader.at_least(count.saturating_mul(5))?;
    let mut samples = Vec::with_capacity(count);
    let mut time = 0u64;
    for _ in 0..count {
        time = later(reader, time)?;
        samples.push(Sample {
            time,
            thread: reader.index(sizes.threads)?,
            node: reader.index(sizes.nodes)?,
            metric: reader.index(sizes.metrics)?,
            value: reader.varint()?,
            labels: NO_LABELS,
            bci: NO_BCI,
        });
    }
    if samples.is_sorted() { Ok(samples) } else { Err(reader.malformed("samples are out of order")) }
}

/// Where each sample's method was; 0 if that is not known.
pub(super) fn put_places(out: &mut Vec<u8>, samples: &[Sample]) {
    samples.iter().for_each(|sample| put(out, u64::from(sample.bci.wrapping_add(1))));
}

/// Fills in where each sample's method was.
pub(super) fn places(reader: &mut Reader<'_>, samples: &mut [Sample]) -> Result<(), ReadError> {
    for sample in samples.iter_mut() {
        let place =
            u32::try_from(reader.varint()?).map_err(|_| reader.malformed("a bytecode index is too large"))?;
        sample.bci = place.wrapping_sub(1);
    }
    if samples.is_sorted() { Ok(()) } else { Err(reader.malformed("samples are out of order")) }
}

pub(super) fn put_labels(out: &mut Vec<u8>, profile: &Profile) {
    put(out, profile.label_sets.len() as u64);
    profile.label_sets.iter().for_each(|set| put_pairs(out, set));
    profile.samples.iter().for_each(|sample| put(out, u64::from(sample.labels)));
}

/// Sets of labels, and which of them each sample carries.
pub(super) fn labels(
    reader: &mut Reader<'_>,
    strings: usize,
    samples: &mut [Sample],
) -> Result<Vec<Vec<(StrId, StrId)>>, ReadError> {
    let count = reader.count()?;
    reader.at_least(count.saturating_mul(3))?;
    let sets = (0..count).map(|_| pairs(reader, strings)).collect::<Result<Vec<_>, _>>()?;
    let ordered = |set: &Vec<_>| !set.is_empty() && set.is_sorted_by(|a, b| a < b);
    if !sets.iter().all(ordered) || !sets.is_sorted_by(|a, b| a < b) {
        return Err(reader.malformed("sets of labels are out of order"));
    }
    for sample in samples.iter_mut() {
        sample.labels = reader.index(count + 1)?;
    }
    if samples.is_sorted() { Ok(sets) } else { Err(reader.malformed("samples are out of order")) }
}

pub(super) fn put_events(out: &mut Vec<u8>, events: &[Event]) {
    put(out, events.len() as u64);
    let mut before = 0;
    for event in events {
        put(out, event.time - before);
        before = event.time;
        put(out, event.duration);
        put(out, if event.thread == NO_THREAD { 0 } else { u64::from(event.thread) + 1 });
        put(out, u64::from(event.name));
        put_pairs(out, &event.details);
    }
}

pub(super) fn events(reader: &mut Reader<'_>, sizes: Sizes) -> Result<Vec<Event>, ReadError> {
    let count = reader.count()?;
    reader.at_least(count.saturating_mul(5))?;
    let mut events = Vec::with_capacity(count);
    let mut time = 0u64;
    for _ in 0..count {
        time = later(reader, time)?;
        let duration = reader.varint()?;
        let thread = reader.index(sizes.threads + 1)?.checked_sub(1).unwrap_or(NO_THREAD);
        let name = reader.index(sizes.strings)?;
        let details = pairs(reader, sizes.strings)?;
        events.push(Event { time, duration, thread, name, details, node: NO_NODE });
    }
    if events.is_sorted() { Ok(events) } else { Err(reader.malformed("events are out of order")) }
}

pub(super) fn put_event_contexts(out: &mut Vec<u8>, events: &[Event]) {
    events
        .iter()
        .for_each(|event| put(out, if event.node == NO_NODE { 0 } else { u64::from(event.node) + 1 }));
}

/// Fills in the context of each event.
pub(super) fn event_contexts(
    reader: &mut Reader<'_>,
    nodes: usize,
    events: &mut [Event],
) -> Result<(), ReadError> {
    for event in events.iter_mut() {
        event.node = reader.index(nodes + 1)?.checked_sub(1).unwrap_or(NO_NODE);
    }
    if events.is_sorted() { Ok(()) } else { Err(reader.malformed("events are out of order")) }
}

fn later(reader: &mut Reader<'_>, time: u64) -> Result<u64, ReadError> {
    let step = reader.varint()?;
    time.checked_add(step).ok_or_else(|| reader.malformed("a time is out of range"))
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
