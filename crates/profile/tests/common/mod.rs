//! Profiles from recipes: lists of stacks, which are easy to generate, shuffle and compute with naively.
#![allow(dead_code, unused_imports)]

#[path = "../support/exercise.rs"]
pub mod exercise;

pub use exercise::check;
use proptest::prelude::*;
use quipu_profile::{
    Builder, Event, Line, MethodFlags, MethodSpec, MetricSpec, NO_BCI, NO_NODE, NO_THREAD, Profile, Sample,
    ThreadKind, ThreadSpec, Unit,
};
use std::collections::BTreeMap;

/// One stack with what was counted at its end. Frames are (method, site).
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    pub thread: u8,
    pub frames: Vec<(u8, i8)>,
    pub calls: u64,
    pub bytecodes: u64,
}

pub const CLASSES: [&str; 4] = ["app.Foo", "app.Foo$$Lambda/0x01", "app.util.Bar", "Baz"];

pub fn class(method: u8) -> &'static str {
    CLASSES[method as usize % 4]
}

pub fn name(method: u8) -> String {
    format!("m{}", method / 4)
}

pub fn stacks() -> impl Strategy<Value = Vec<Stack>> {
    let frames = prop::collection::vec((0u8..10, -1i8..3), 0..7);
    let stack = (0u8..3, frames, 0u64..20, 0u64..2000).prop_map(|(thread, frames, calls, bytecodes)| Stack {
        thread,
        frames,
        calls,
        bytecodes,
    });
    prop::collection::vec(stack, 0..25)
}

/// Feeds the stacks in order; methods get their ids in order of appearance, after `first`.
pub fn build(stacks: &[Stack], first: &[u8], push: bool) -> Profile {
    feed(stacks, first, push).finish()
}

pub fn feed(stacks: &[Stack], first: &[u8], push: bool) -> Builder {
    let mut b = Builder::new();
    let method = |b: &mut Builder, id: u8| {
        let flags = if id == 9 { MethodFlags::NATIVE } else { MethodFlags::NONE };
        let lines = [Line { bci: 0, line: 10 + u32::from(id) }, Line { bci: 2, line: 5 }];
        let (class, name) = (class(id), name(id));
        b.method(MethodSpec {
            class,
            name: &name,
            descriptor: "()V",
            source: "S.java",
            lines: &lines,
            flags,
            ..Default::default()
        })
    };
    for &id in first {
        method(&mut b, id);
    }
    let metrics = if push {
        [MetricSpec::calls(), MetricSpec::bytecodes()]
    } else {
        [MetricSpec::bytecodes(), MetricSpec::calls()]
    };
    metrics.into_iter().for_each(|metric| {
        b.metric(metric);
    });
    let (calls, bytecodes) = (b.metric(MetricSpec::calls()), b.metric(MetricSpec::bytecodes()));
    for stack in stacks {
        let thread =
            b.thread(ThreadSpec { name: &format!("t{}", stack.thread), threads: 0, ..Default::default() });
        let mut node = b.root(thread);
        for &(id, site) in &stack.frames {
            let id = method(&mut b, id);
            node = if push { b.push(node, id, site.into()) } else { b.child(node, id, site.into()) };
        }
        b.add(node, calls, stack.calls);
        b.add(node, bytecodes, stack.bytecodes);
    }
    b
}

/// A profile that has something in every section of the file.
pub fn everything() -> Profile {
    filled(true)
}

/// The same as it was when samples had no labels and no places, and events no contexts yet.
pub fn everything_at_first() -> Profile {
    filled(false)
}

fn filled(labels: bool) -> Profile {
    let stacks: Vec<Stack> = (0..40u8)
        .map(|i| Stack {
            thread: i % 3,
            frames: (0..=i % 6).map(|d| ((i % 10 * 7 + d * 3) % 10, (d as i8) - 1)).collect(),
            calls: u64::from(i) * 3,
            bytecodes: u64::from(i).pow(4),
        })
        .collect();
    let mut b = feed(&stacks, &[], false);
    let time = b.metric(MetricSpec::sampled("samples.cpu", Unit::Nanoseconds, 1_000_000));
    let (name, key, value) = (b.string("gc.pause"), b.string("cause"), b.string("allocation"));
    for i in 0..10u32 {
        b.add(i, time, 1_000_000);
        let request = i.to_string();
        let pairs = [("request", request.as_str()), ("a", "b")];
        let set = b.labels(if !labels || i % 3 == 0 { &[] } else { &pairs });
        b.sample(Sample {
            time: u64::from(i) * 1000,
            thread: i % 2,
            node: i,
            metric: time,
            value: 1_000_000,
            labels: set,
            bci: if labels && i % 2 == 0 { i } else { NO_BCI },
        });
        b.event(Event {
            time: 77 * u64::from(i),
            duration: 9,
            thread: if i == 3 { 1 } else { NO_THREAD },
            name,
            details: vec![(key, value)],
            node: if labels && i % 2 == 0 { i } else { NO_NODE },
        });
        b.block(0, quipu_profile::Block { bci: i * 4, instructions: 3, count: u64::from(i) });
    }
    b.thread(ThreadSpec {
        name: "vt",
        group: "g",
        kind: ThreadKind::Virtual,
        threads: 1000,
        labels: &[("user", "7"), ("path", "/x")],
    });
    b.meta.target.command = vec!["java".into(), "App".into()];
    b.meta.lost.insert("arena.full".into(), 12);
    b.meta.options.push(("exact".into(), "".into()));
    b.run.pid = Some(4242);
    b.run.calibration.insert("probe.ns".into(), 1.25);
    b.finish()
}

/// A profile as a map: (thread, path of `class.name@site`) to (calls, bytecodes); zero entries left out.
pub type Naive = BTreeMap<(String, Vec<String>), (u64, u64)>;

pub fn naive(profile: &Profile) -> Naive {
    let mut map = Naive::new();
    let (calls, bytecodes) = (profile.metric("calls").unwrap(), profile.metric("bytecodes").unwrap());
    for node in 0..profile.tree().len() as u32 {
        let value = (calls.values()[node as usize], bytecodes.values()[node as usize]);
        if value != (0, 0) {
            let thread = &profile.threads()[profile.thread_of(node) as usize];
            let frame = |&n: &u32| {
                let method = profile.tree().method(n).unwrap();
                format!("{}@{}", profile.method_name(method), profile.tree().sites()[n as usize])
            };
            let path = profile.tree().path(node).iter().map(frame).collect();
            let old = map.insert((profile.str(thread.name).to_owned(), path), value);
            assert!(old.is_none(), "contexts are distinct");
        }
    }
    map
}

/// The map of a recipe, each path rewritten by `rewrite` (`None` drops it).
pub fn expected(stacks: &[Stack], rewrite: impl Fn(&[(u8, i8)]) -> Option<Vec<(u8, i8)>>) -> Naive {
    let mut map = Naive::new();
    for stack in stacks {
        let Some(path) = rewrite(&stack.frames) else { continue };
        let path = path.iter().map(|&(id, site)| format!("{}.{}@{site}", class(id), name(id))).collect();
        let slot = map.entry((format!("t{}", stack.thread), path)).or_default();
        *slot = (slot.0 + stack.calls, slot.1 + stack.bytecodes);
    }
    map.retain(|_, value| *value != (0, 0));
    map
}
