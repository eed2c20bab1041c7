//! Profiles: building and writing one, reading it and summing it up.

use std::error::Error;
use std::path::Path;

use quipu_profile::{Builder, MethodSpec, MetricSpec, Profile, ThreadSpec, UNKNOWN_SITE};

const METHODS: u32 = 3_000;
const NODES: usize = 100_000;

/// Builds a profile and writes it.
pub fn write(to: &Path) -> Result<(), Box<dyn Error>> {
    let profile = made();
    profile.save(to)?;
    println!("nodes {}", profile.tree().len());
    println!("file-bytes {}", std::fs::metadata(to)?.len());
    Ok(())
}

/// Reads a profile and sums it up by method.
pub fn read(from: &Path) -> Result<(), Box<dyn Error>> {
    let profile = Profile::load(from)?;
    let bytecodes = profile.metric("bytecodes").ok_or("no bytecodes in it")?;
    std::hint::black_box(profile.totals_by_method(bytecodes));
    println!("nodes {}", profile.tree().len());
    Ok(())
}

/// A tree in which every method calls a few others, made breadth first from a fixed sequence of numbers.
fn made() -> Profile {
    let mut builder = Builder::with_capacity(NODES);
    let (calls, bytecodes) = (builder.metric(MetricSpec::calls()), builder.metric(MetricSpec::bytecodes()));
    for id in 0..METHODS {
        builder.method(MethodSpec {
            class: &format!("com.example.part{}.Service{}", id % 41, id % 701),
            name: &format!("operation{}", id / 701),
            descriptor: "(Ljava/lang/String;I)I",
            ..MethodSpec::default()
        });
    }
    let thread = builder.thread(ThreadSpec { name: "main", ..ThreadSpec::default() });
    let mut open = std::collections::VecDeque::from([(builder.root(thread), 0u32)]);
    let mut random = 0x5eed_u64;
    while builder.node_count() < NODES {
        let Some((parent, caller)) = open.pop_front() else { break };
        for k in 0..5u32 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let method = (caller * 7 + k * 613 + 1) % METHODS;
            let node = builder.push(parent, method, UNKNOWN_SITE);
            let times = 1 + (random >> 50);
            builder.add(node, calls, times);
            builder.add(node, bytecodes, times * u64::from(method % 60 + 1));
            open.push_back((node, method));
        }
    }
    builder.finish()
}
