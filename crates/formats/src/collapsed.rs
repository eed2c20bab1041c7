//! Collapsed stacks: `[main];Foo.main;Foo.sum 42`, one line per context with a value of its own.

use crate::{ExportError, Options, names, walk};
use quipu_profile::{NO_METHOD, Profile, ThreadKind};
use std::io::Write;

/// Streams the chosen metric. Memory is one line, whatever the size of the tree.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), ExportError> {
    let metric = options.metric(profile)?;
    let frames = frames(profile);
    let aggregation = metric.spec().aggregation;
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
            if !stack.deeper
                && let Some(&node) = stack.path.last()
            {
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
