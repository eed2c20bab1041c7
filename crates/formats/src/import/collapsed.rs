//! Collapsed stacks, as perf's, async-profiler's and most other tools' scripts write them.

use super::{Bounded, frame};
use crate::{ImportError, Limits};
use quipu_profile::{
    MethodId, MethodSpec, MetricSpec, NodeId, Profile, ThreadKind, ThreadSpec, UNKNOWN_SITE, Unit,
};
use std::collections::HashMap;
use std::io::BufRead;

/// Reads `frame;frame count` lines into a metric of the given name.
///
/// When every stack starts with a frame in brackets (`[main]`, `[main tid=17]`), those are threads. Empty lines and
/// lines that start with `#` and a blank are skipped. Bytes that are not UTF-8 become replacement characters.
pub fn collapsed(input: impl BufRead, metric: &str, limits: &Limits) -> Result<Profile, ImportError> {
    // One byte more than allowed, to tell a full input from one that is too long.
    let mut input = input.take(limits.bytes.saturating_add(1));
    let mut tree = Bounded::new(limits);
    let metric = tree.builder.metric(MetricSpec::sampled(metric, Unit::Count, 0));
    let mut methods: HashMap<String, MethodId> = HashMap::new();
    let mut roots: HashMap<String, NodeId> = HashMap::new();
    let mut bytes = Vec::new();
    let mut taken = 0u64;
    let mut stacks = 0u64;
    let mut unthreaded = false;
    for line in 1u64.. {
        bytes.clear();
        let read = input.read_until(b'\n', &mut bytes)?;
        if read == 0 {
            break;
        }
        taken += read as u64;
        if taken > limits.bytes {
            return Err(ImportError::TooLarge { what: "bytes", limit: limits.bytes });
        }
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        if text.is_empty() || text.starts_with("# ") {
            continue;
        }
        let problem = |problem| ImportError::Line { line, problem };
        let (stack, count) = text
            .rsplit_once([' ', '\t'])
            .ok_or_else(|| problem("a stack, a blank and a count are expected"))?;
        let count = count_of(count).ok_or_else(|| problem("the count is not a whole number"))?;
        let mut frames = stack.trim_end().split(';').filter(|frame| !frame.is_empty()).peekable();
        let Some(&first) = frames.peek() else { return Err(problem("the stack is empty")) };
        let thread = thread_name(first);
        unthreaded |= thread.is_none();
        if thread.is_some() {
            frames.next();
        }
        // Until it is known whether brackets mean threads, a bracketed first frame is kept as a thread.
        let root = match roots.get(thread.unwrap_or_default()) {
            Some(&root) => root,
            None => {
                let name = thread.unwrap_or_default();
                let kind = if thread.is_some() { ThreadKind::Platform } else { ThreadKind::Root };
                let id = tree.builder.thread(ThreadSpec { name, kind, ..ThreadSpec::default() });
                let root = tree.builder.root(id);
                roots.insert(name.to_owned(), root);
                root
            }
        };
        let mut node = root;
        for (depth, frame) in frames.enumerate() {
            let method = match methods.get(frame) {
                Some(&method) => method,
                None => {
                    let (class, name) = frame::split(frame);
                    let method =
                        tree.builder.method(MethodSpec { class: &class, name, ..MethodSpec::default() });
                    methods.insert(frame.to_owned(), method);
                    method
                }
            };
            node = tree.child(node, method, UNKNOWN_SITE, depth as u64 + 1)?;
        }
        tree.builder.add(node, metric, count);
        stacks += 1;
    }
    if stacks == 0 {
        return Err(ImportError::Empty);
    }
    let profile = tree.builder.finish();
    if unthreaded && profile.threads().len() > 1 { Ok(without_threads(&profile)) } else { Ok(profile) }
}

/// Some tools write fractions that are whole, as `12.0`.
fn count_of(text: &str) -> Option<u64> {
    match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|b| b == b'0') => whole.parse().ok(),
        _ => text.parse().ok(),
    }
}

fn thread_name(frame: &str) -> Option<&str> {
    let name = frame.strip_prefix('[')?.strip_suffix(']')?;
    Some(match name.rsplit_once(" tid=") {
        Some((name, tid)) if tid.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => name,
    })
    .filter(|name| !name.is_empty())
}

/// Brackets were frames after all (`[unknown]`): all trees go under one root, each bracket as a frame.
fn without_threads(profile: &Profile) -> Profile {
    let mut builder = quipu_profile::Builder::with_capacity(profile.tree().len() + 1);
    let spec = profile.metrics()[0].spec().clone();
    let metric = builder.metric(spec);
    let all = builder.thread(ThreadSpec { kind: ThreadKind::Root, ..ThreadSpec::default() });
    let root = builder.root(all);
    let methods: Vec<MethodId> = (profile.methods().iter())
        .map(|m| {
            let (class, name) = (profile.str(m.class), profile.str(m.name));
            builder.method(MethodSpec { class, name, ..MethodSpec::default() })
        })
        .collect();
    let mut nodes: Vec<NodeId> = Vec::with_capacity(profile.tree().len());
    for node in 0..profile.tree().len() {
        let new = match profile.tree().parent(node as u32) {
            Some(parent) => {
                let method = methods[profile.tree().methods()[node] as usize];
                builder.push(nodes[parent as usize], method, UNKNOWN_SITE)
            }
            None => match profile.str(profile.threads()[profile.thread_of(node as u32) as usize].name) {
                "" => root,
                name => {
                    let name = format!("[{name}]");
                    let method = builder.method(MethodSpec { name: &name, ..MethodSpec::default() });
                    builder.push(root, method, UNKNOWN_SITE)
                }
            },
        };
        nodes.push(new);
        builder.add(new, metric, profile.metrics()[0].values()[node]);
    }
    builder.finish()
}
