//! speedscope's file format, one evented profile per thread.
//!
//! Of its two kinds of profile, *sampled* repeats whole stacks and *evented* opens and closes each frame once. The
//! tree is written as events whose positions are the metric's running sum, so the file is linear in the tree.

use crate::jsontext::{comma, string};
use crate::{ExportError, Options, names, walk};
use quipu_profile::{NodeId, Profile, Thread, Unit};
use std::io::{self, Write};

/// Identifies the format; the readers compare it.
const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// Writes the chosen metric.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), ExportError> {
    let metric = options.metric(profile)?;
    let sums = walk::sums(profile, metric.values());
    write!(out, r#"{{"$schema":"{SCHEMA}","exporter":"quipu {}","name":"#, env!("CARGO_PKG_VERSION"))?;
    string(out, &format!("{} · {}", options.title(profile), metric.name()))?;
    let heaviest = (0..profile.threads().len())
        .max_by_key(|&t| (sums[profile.threads()[t].root as usize], std::cmp::Reverse(t)))
        .unwrap_or(0);
    write!(out, r#","activeProfileIndex":{heaviest},"shared":{{"frames":["#)?;
    let mut first = true;
    for (id, name) in names::methods(profile).iter().enumerate() {
        comma(out, &mut first)?;
        out.write_all(br#"{"name":"#)?;
        string(out, name)?;
        if let Some(path) = names::source_path(profile, id as u32) {
            out.write_all(br#","file":"#)?;
            string(out, &path)?;
        }
        if let Some(line) = profile.methods()[id].lines.iter().map(|line| line.line).min() {
            write!(out, r#","line":{line}"#)?;
        }
        out.write_all(b"}")?;
    }
    out.write_all(br#"]},"profiles":["#)?;
    let unit = match metric.spec().unit {
        Unit::Bytes => "bytes",
        Unit::Nanoseconds => "nanoseconds",
        _ => "none",
    };
    let mut first = true;
    for thread in profile.threads() {
        comma(out, &mut first)?;
        out.write_all(br#"{"type":"evented","name":"#)?;
        string(out, &names::thread(profile, thread))?;
        let total = sums[thread.root as usize];
        write!(out, r#","unit":"{unit}","startValue":0,"endValue":{total},"events":["#)?;
        events(profile, thread, metric.values(), &sums, out)?;
        out.write_all(b"]}")?;
    }
    out.write_all(b"]}\n")?;
    Ok(())
}

fn events(
    profile: &Profile,
    thread: &Thread,
    values: &[u64],
    sums: &[u64],
    out: &mut dyn Write,
) -> io::Result<()> {
    let (methods, ends) = (profile.tree().methods(), profile.tree().ends());
    let end = ends[thread.root as usize];
    let mut open: Vec<NodeId> = Vec::new();
    let mut first = true;
    // What the root was charged itself passes before any frame opens.
    let mut at = values[thread.root as usize];
    let mut event = |out: &mut dyn Write, kind: char, node: NodeId, at: u64| {
        comma(out, &mut first)?;
        write!(out, r#"{{"type":"{kind}","frame":{},"at":{at}}}"#, methods[node as usize])
    };
    let mut node = thread.root + 1;
    while node < end {
        while let Some(&last) = open.last().filter(|&&last| ends[last as usize] <= node) {
            event(out, 'C', last, at)?;
            open.pop();
        }
        if sums[node as usize] == 0 {
            node = ends[node as usize];
            continue;
        }
        event(out, 'O', node, at)?;
        open.push(node);
        at = at.saturating_add(values[node as usize]);
        node += 1;
    }
    while let Some(last) = open.pop() {
        event(out, 'C', last, at)?;
    }
    Ok(())
}
