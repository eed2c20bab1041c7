//! All of a profile as JSON, for programs. `schema/profile.schema.json` in this crate describes it.
//!
//! Tables of objects for what is small, columns of numbers for the tree: readers in any language get arrays they can
//! load as they are. Counts are written as exact integers; a reader that parses numbers as doubles rounds those
//! above 2^53.

use crate::jsontext::{comma, numbers, string};
use crate::{ExportError, Options};
use quipu_profile::{
    Aggregation, MethodFlags, MetricKind, NO_LABELS, NO_METHOD, NO_NODE, NO_THREAD, Profile, StrId,
    UNKNOWN_SITE,
};
use std::io::{self, Write};

/// Version of the layout; a reader refuses a larger one.
pub const VERSION: u32 = 1;

/// Writes everything; the chosen metric is named as `metric`.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), ExportError> {
    // A profile without metrics has structure still, so only a wrong name is an error here.
    let main = match options.metric(profile) {
        Ok(metric) => Some(metric.name()),
        Err(ExportError::NoMetrics) => None,
        Err(error) => return Err(error),
    };
    write!(out, r#"{{"format":"quipu-profile","version":{VERSION},"metric":"#)?;
    serde_json::to_writer(&mut *out, &main)?;
    out.write_all(b",\n\"meta\":")?;
    serde_json::to_writer(&mut *out, &profile.meta)?;
    out.write_all(b",\n\"run\":")?;
    serde_json::to_writer(&mut *out, &profile.run)?;
    metrics(profile, out)?;
    methods(profile, out)?;
    threads(profile, out)?;
    nodes(profile, out)?;
    timeline(profile, out)?;
    out.write_all(b"}\n")?;
    Ok(())
}

fn metrics(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b",\n\"metrics\":[")?;
    let mut first = true;
    for metric in profile.metrics() {
        comma(out, &mut first)?;
        out.write_all(br#"{"name":"#)?;
        string(out, metric.name())?;
        out.write_all(br#","unit":"#)?;
        string(out, metric.spec().unit.as_str())?;
        match metric.spec().kind {
            MetricKind::Exact => out.write_all(br#","kind":"exact""#)?,
            MetricKind::Sampled { period } => write!(out, r#","kind":"sampled","period":{period}"#)?,
        }
        let aggregation = match metric.spec().aggregation {
            Aggregation::Sum => "sum",
            Aggregation::Count => "count",
            Aggregation::Max => "max",
        };
        write!(out, r#","aggregation":"{aggregation}","total":{}}}"#, metric.total())?;
    }
    out.write_all(b"]")
}

fn methods(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b",\n\"methods\":[")?;
    let mut first = true;
    for method in profile.methods() {
        comma(out, &mut first)?;
        out.write_all(b"\n{\"class\":")?;
        string(out, profile.str(method.class))?;
        out.write_all(br#","method":"#)?;
        string(out, profile.str(method.name))?;
        out.write_all(br#","descriptor":"#)?;
        string(out, profile.str(method.descriptor))?;
        write!(out, r#","opaque":{}"#, method.opaque())?;
        for (key, id) in [("loader", method.loader), ("source", method.source), ("module", method.module)] {
            if id != 0 {
                write!(out, r#","{key}":"#)?;
                string(out, profile.str(id))?;
            }
        }
        let flags = [
            ("native", MethodFlags::NATIVE),
            ("intrinsic", MethodFlags::INTRINSIC),
            ("foreign", MethodFlags::FOREIGN),
        ];
        for (key, _) in flags.iter().filter(|(_, flag)| method.flags.contains(*flag)) {
            write!(out, r#","{key}":true"#)?;
        }
        if !method.lines.is_empty() {
            out.write_all(br#","lines":"#)?;
            numbers(out, method.lines.iter().flat_map(|line| [line.bci, line.line]))?;
        }
        if !method.blocks.is_empty() {
            out.write_all(br#","blocks":"#)?;
            let blocks = method.blocks.iter();
            numbers(out, blocks.flat_map(|b| [u64::from(b.bci), u64::from(b.instructions), b.count]))?;
        }
        out.write_all(b"}")?;
    }
    out.write_all(b"]")
}

fn pairs(profile: &Profile, pairs: &[(StrId, StrId)], out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"[")?;
    let mut first = true;
    for &(key, value) in pairs {
        comma(out, &mut first)?;
        crate::jsontext::strings(out, [profile.str(key), profile.str(value)])?;
    }
    out.write_all(b"]")
}

fn threads(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b",\n\"threads\":[")?;
    let mut first = true;
    for thread in profile.threads() {
        comma(out, &mut first)?;
        out.write_all(br#"{"name":"#)?;
        string(out, profile.str(thread.name))?;
        out.write_all(br#","group":"#)?;
        string(out, profile.str(thread.group))?;
        let kind = thread.kind.as_str();
        write!(out, r#","kind":"{kind}","threads":{},"root":{},"labels":"#, thread.threads, thread.root)?;
        pairs(profile, &thread.labels, out)?;
        out.write_all(b"}")?;
    }
    out.write_all(b"]")
}

fn nodes(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let tree = profile.tree();
    // Absent values are -1 in every column.
    let or_none = |id: u32, none: u32| if id == none { -1 } else { i64::from(id) };
    write!(out, ",\n\"nodes\":{{\"count\":{},\n\"parent\":", tree.len())?;
    numbers(out, tree.parents().iter().map(|&id| or_none(id, NO_NODE)))?;
    out.write_all(b",\n\"method\":")?;
    numbers(out, tree.methods().iter().map(|&id| or_none(id, NO_METHOD)))?;
    if tree.sites().iter().any(|&site| site != UNKNOWN_SITE) {
        out.write_all(b",\n\"bci\":")?;
        numbers(out, tree.sites())?;
    }
    out.write_all(b",\n\"self\":{")?;
    let mut first = true;
    for metric in profile.metrics() {
        comma(out, &mut first)?;
        out.write_all(b"\n")?;
        string(out, metric.name())?;
        out.write_all(b":")?;
        numbers(out, metric.values())?;
    }
    out.write_all(b"}}")
}

fn timeline(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let thread = |id: u32| if id == NO_THREAD { -1 } else { i64::from(id) };
    if !profile.samples().is_empty() {
        let samples = profile.samples();
        out.write_all(b",\n\"samples\":{\"time\":")?;
        numbers(out, samples.iter().map(|s| s.time))?;
        out.write_all(br#","thread":"#)?;
        numbers(out, samples.iter().map(|s| s.thread))?;
        out.write_all(br#","node":"#)?;
        numbers(out, samples.iter().map(|s| s.node))?;
        out.write_all(br#","metric":"#)?;
        numbers(out, samples.iter().map(|s| s.metric))?;
        out.write_all(br#","value":"#)?;
        numbers(out, samples.iter().map(|s| s.value))?;
        let sets = samples.iter().map(|s| s.labels).max().unwrap_or(NO_LABELS);
        if sets != NO_LABELS {
            out.write_all(br#","labels":"#)?;
            numbers(out, samples.iter().map(|s| s.labels))?;
            out.write_all(br#","label_sets":["#)?;
            let mut first = true;
            for set in NO_LABELS..=sets {
                comma(out, &mut first)?;
                pairs(profile, profile.labels(set), out)?;
            }
            out.write_all(b"]")?;
        }
        out.write_all(b"}")?;
    }
    if profile.events().is_empty() {
        return Ok(());
    }
    out.write_all(b",\n\"events\":[")?;
    let mut first = true;
    for event in profile.events() {
        comma(out, &mut first)?;
        out.write_all(br#"{"name":"#)?;
        string(out, profile.str(event.name))?;
        let (time, duration, thread) = (event.time, event.duration, thread(event.thread));
        let node = if event.node == NO_NODE { -1 } else { i64::from(event.node) };
        write!(out, r#","time":{time},"duration":{duration},"thread":{thread},"node":{node},"details":"#)?;
        pairs(profile, &event.details, out)?;
        out.write_all(b"}")?;
    }
    out.write_all(b"]")
}
