//! Collapsed stacks: `[main];Foo.main;Foo.sum 42`, one line per context with a value of its own.
//!
//! A line repeats all callers of its context, so a deep tree makes a file many times its size. Above
//! [`Options::max_bytes`] the lightest contexts are folded into their callers, under a frame that says so.

use crate::cut::Cut;
use crate::{ExportError, Options, names, walk};
use quipu_profile::{Metric, NO_METHOD, NodeId, Profile, ThreadKind};
use std::io::{self, Write};

/// What is left out of collapsed stacks that would be too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// Contexts that are part of their callers.
    pub folded: usize,
    /// Contexts there are.
    pub contexts: usize,
    /// Bytes that all of them would have taken.
    pub bytes: u64,
}

/// Streams the chosen metric. Memory is one line, and a few columns where something is folded.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), ExportError> {
    let metric = options.metric(profile)?;
    let cut = fitting(profile, options, metric)?.map(|(cut, _)| cut);
    Ok(lines(profile, options, metric, cut.as_ref(), out)?)
}

/// What [`write()`] will fold, if anything.
pub fn pruned(profile: &Profile, options: &Options) -> Result<Option<Pruned>, ExportError> {
    Ok(fitting(profile, options, options.metric(profile)?)?.map(|(_, pruned)| pruned))
}

/// The cut that makes the lines fit; `None` if all of them do.
fn fitting(
    profile: &Profile,
    options: &Options,
    metric: &Metric,
) -> Result<Option<(Cut, Pruned)>, ExportError> {
    let Some(most) = options.max_bytes else { return Ok(None) };
    let bytes = size(profile, options, metric, None)?;
    let contexts = profile.tree().len();
    let (mut now, mut nodes) = (bytes, contexts);
    let mut found = None;
    while now > most && nodes > 0 {
        // The heaviest stand together high up in the tree, where lines are short: so many are likely to fit.
        nodes = ((nodes as f64 * most as f64 / now as f64) as usize).min(nodes - 1);
        let cut = Cut::new(profile, &[metric.values()], nodes, 0.0);
        now = size(profile, options, metric, Some(&cut))?;
        let pruned = Pruned { folded: cut.folded, contexts: contexts - profile.threads().len(), bytes };
        found = Some((cut, pruned));
    }
    Ok(found)
}

/// How many bytes the lines would have.
fn size(profile: &Profile, options: &Options, metric: &Metric, cut: Option<&Cut>) -> io::Result<u64> {
    struct Counted(u64);
    impl Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counted = Counted(0);
    lines(profile, options, metric, cut, &mut counted)?;
    Ok(counted.0)
}

fn lines(
    profile: &Profile,
    options: &Options,
    metric: &Metric,
    cut: Option<&Cut>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let frames = frames(profile);
    let aggregation = metric.spec().aggregation;
    let folded = cut.map(|cut| cut.folded_values(metric.values()));
    // The line so far, and where each frame of it ends: siblings share everything up to their parent.
    let mut line = String::new();
    let mut ends: Vec<usize> = Vec::new();
    for thread in profile.threads() {
        line.clear();
        ends.clear();
        if options.threads && thread.kind != ThreadKind::Root {
            line.push('[');
            line.push_str(&frame(&names::thread(profile, thread)));
            line.push(']');
        }
        let head = line.len();
        walk::stacks(profile, thread, options.max_depth, |stack| {
            let node: NodeId = stack.path.last().copied().unwrap_or(thread.root);
            if cut.is_some_and(|cut| !cut.keeps(node)) {
                return Ok(());
            }
            if !stack.deeper && !stack.path.is_empty() {
                ends.truncate(stack.path.len() - 1);
                line.truncate(ends.last().copied().unwrap_or(head));
                if !line.is_empty() {
                    line.push(';');
                }
                let method = profile.tree().methods()[node as usize];
                debug_assert_ne!(method, NO_METHOD);
                line.push_str(&frames[method as usize]);
                ends.push(line.len());
            }
            if let Some(folded) = &folded {
                let small = folded[node as usize];
                if small > 0 && !stack.deeper {
                    let gap = if line.is_empty() { "" } else { ";" };
                    writeln!(out, "{line}{gap}{} {small}", names::SMALL)?;
                }
                if stack.deeper {
                    // Those that stay; the others are among the small ones.
                    let stay = stack.nodes.filter(|&below| cut.is_some_and(|cut| cut.keeps(below)));
                    let value = stay.fold(0, |sum, below| {
                        let value = metric.values()[below as usize].saturating_add(folded[below as usize]);
                        aggregation.combine(sum, value)
                    });
                    return if value > 0 {
                        writeln!(out, "{line};{} {value}", names::DEEPER)
                    } else {
                        Ok(())
                    };
                }
            }
            match stack.value(metric.values(), aggregation) {
                0 => Ok(()),
                value if stack.deeper => writeln!(out, "{line};{} {value}", names::DEEPER),
                value if line.is_empty() => writeln!(out, "[no frames] {value}"),
                value => writeln!(out, "{line} {value}"),
            }
        })?;
    }
    Ok(())
}

/// Frame texts by method id.
pub(crate) fn frames(profile: &Profile) -> Vec<String> {
    names::methods(profile).iter().map(|name| frame(name)).collect()
}

/// A semicolon ends a frame and the format has no escape; readers skip empty frames and lines that look like comments.
fn frame(name: &str) -> String {
    match name.replace(';', ":").trim() {
        "" => "[unnamed]".to_owned(),
        text if text.starts_with('#') => format!("_{text}"),
        text => text.to_owned(),
    }
}
