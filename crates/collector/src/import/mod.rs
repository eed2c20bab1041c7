//! From an arena to a profile.
//!
//! The arena has one tree for each thread that ran at the same time as others, with a node for every slot it was reached
//! through, and beside it the stacks that samplers met; the profile has one tree for each group of threads, canonical, and
//! in it one node for each context, whatever measured it. Nothing here trusts the arena: what makes no sense is left out
//! and counted.
//!
//! - `methods` are named where they were rewritten, and where they were met on a stack;
//! - `threads` are in groups, the same for all kinds;
//! - `nodes` have what was counted, and what instruments add to it (`columns`), as far as this profile counts it (`measured`);
//! - `samples` are put where there are nodes already, or make their own; what they are of is declared (`metrics`), what they
//!   are about is a leaf below them (`details`);
//! - `chain` finds the callers of samples that have only their youngest frames, before anything else looks at them;
//! - `ledgers` have what instructions did that are told apart, in the same nodes;
//! - `executions` are how long those of roots took;
//! - `events` are the timeline, to which `states` adds what threads were seen doing over time;
//! - `probes` are what counting itself costs, which is taken off, and `times` what taking times costs.

mod budget;
mod chain;
mod columns;
mod details;
mod events;
mod executions;
mod kernel;
mod ledgers;
mod measured;
mod methods;
mod metrics;
mod nodes;
mod probes;
mod samples;
mod states;
mod symbols;
mod threads;
mod times;

use std::collections::HashMap;

use quipu_arena::reader::{Contents, Node, NotAnArena};
use quipu_arena::record::Record;
use quipu_classfile::mutf8;
use quipu_profile::{Builder, Profile};

use columns::Columns;
use measured::Measured;
use methods::Methods;
pub use nodes::{CHARGED_METRIC, LOADING_SUFFIX, SAMPLES_METRIC, WITHOUT_CONTEXTS};
use threads::Threads;

/// Reads the profile out of an arena's bytes.
pub fn profile(bytes: &[u8]) -> Result<Profile, NotAnArena> {
    profile_since(bytes, None)
}

/// Counts at one moment, to be taken off those at a later one.
#[derive(Debug, Default)]
pub struct Baseline {
    /// When the profile began: what another profile has counted is nothing to this one.
    began: u64,
    /// Calls, bytecodes and what was charged, by offset.
    nodes: HashMap<u64, [u64; 3]>,
    columns: columns::Before,
    samples: samples::Before,
    ledgers: ledgers::Before,
}

impl Baseline {
    /// What an arena has counted so far.
    pub fn read(bytes: &[u8]) -> Result<Baseline, NotAnArena> {
        let contents = Contents::read(bytes)?;
        let count = |node: &Node| (node.at, [node.calls, node.bytecodes, node.charged]);
        Ok(Baseline {
            began: contents.began(),
            nodes: contents.nodes.iter().map(count).collect(),
            columns: columns::Before::of(&contents),
            samples: samples::Before::of(&contents),
            ledgers: ledgers::Before::of(&contents),
        })
    }
}

/// Reads what an arena has counted since a baseline.
pub fn profile_since(bytes: &[u8], baseline: Option<&Baseline>) -> Result<Profile, NotAnArena> {
    let mut contents = Contents::read(bytes)?;
    let baseline = baseline.filter(|before| before.began == contents.began());
    if let Some(before) = baseline {
        before.ledgers.take_off(&mut contents);
        for node in &mut contents.nodes {
            if let Some([calls, bytecodes, charged]) = before.nodes.get(&node.at) {
                node.calls = node.calls.wrapping_sub(*calls);
                node.bytecodes = node.bytecodes.wrapping_sub(*bytecodes);
                node.charged = node.charged.wrapping_sub(*charged);
            }
        }
    }
    let chained = chain::rebuild(&mut contents);
    let mut builder = Builder::with_capacity(contents.nodes.len());
    let mut methods = Methods::read(&contents, &mut builder);
    let measured = Measured::of(&contents);
    measured.leave_out_others(&mut contents, &methods);
    let taken = samples::Taken::of(&contents, baseline.map(|before| &before.samples));
    let mut threads = Threads::read(&contents, taken.threads());
    describe(&contents, &mut builder);
    if let Some(chained) = chained {
        chained.tell(&mut builder);
    }
    // A profile that was only sampled has no counts, and does not say that they were zero.
    let columns = Columns::read(&contents, &mut builder);
    let none = columns::Before::default();
    let before = baseline.map_or(&none, |before| &before.columns);
    let clock = times::Clock::read(&contents);
    let counts = nodes::Counts { measured, clock, columns, before };
    let placed = nodes::feed(&contents, counts, &methods, &mut threads, &taken, &mut builder);
    let beyond = samples::feed(&contents, &taken, &mut methods, &mut threads, &placed, &mut builder);
    let beyond = beyond + ledgers::feed(&contents, &methods, &mut threads, &placed, &mut builder);
    let lost = &mut builder.meta.lost;
    let damage = &contents.damage;
    for (cause, n) in [
        ("contexts.refused", contents.header.refused),
        ("arena.damaged.chunks", damage.chunks),
        ("arena.damaged.records", damage.records),
        ("arena.damaged.nodes", damage.nodes + damage.slots + placed.unnamed),
        ("arena.damaged.samples", damage.samples + beyond),
        ("classes.left", contents.header.classes_left),
        ("methods.left", contents.header.methods_left),
    ] {
        if n > 0 {
            lost.insert(cause.to_owned(), n);
        }
    }
    let mut profile = builder.finish();
    times::correct(&mut profile, &clock);
    let picos = contents.facts(b"probe.picos").filter_map(|text| mutf8::decode(text).parse().ok()).last();
    if let Some(picos) = picos {
        probes::correct(&mut profile, picos);
    }
    Ok(profile)
}

fn describe(contents: &Contents<'_>, builder: &mut Builder) {
    for record in contents.of_this_profile() {
        match *record {
            Record::Info { key, value } => {
                let (key, value) = (mutf8::decode(key), mutf8::decode(value));
                match key.as_str() {
                    "java.vm.name" => builder.meta.jvm.name = value,
                    "java.vm.version" => builder.meta.jvm.version = value,
                    "java.vendor" => builder.meta.jvm.vendor = value,
                    "java.command" => builder.meta.target.main = value,
                    key if key.starts_with("pin.") => {
                        builder.meta.pins.insert(key.trim_start_matches("pin.").to_owned(), value);
                    }
                    // What was changed while it ran is told again.
                    key if key.starts_with("option.") => {
                        let name = key.trim_start_matches("option.");
                        let options = &mut builder.meta.options;
                        match options.iter_mut().find(|(known, _)| known == name) {
                            Some(known) => known.1 = value,
                            None => options.push((name.to_owned(), value)),
                        }
                    }
                    key if key == "kind"
                        || ["sampling.", "probe.", "counts.", "root.cost."]
                            .iter()
                            .any(|of| key.starts_with(of)) => {}
                    key if key.starts_with("start.") || key.starts_with("root.") => {
                        builder.run.extra.push((key.to_owned(), value));
                    }
                    _ => builder.meta.extra.push((key, value)),
                }
            }
            Record::Left { what, why } => {
                let what = mutf8::decode(what).replace('/', ".");
                builder.run.extra.push((format!("left alone: {what}"), mutf8::decode(why)));
            }
            _ => {}
        }
    }
    let header = &contents.header;
    builder.run.pid = Some(header.pid);
    builder.run.started = Some(header.created);
    builder.run.duration = header.ended_at.checked_sub(header.created);
    if header.classes > 0 {
        builder.run.cost.push(format!(
            "rewrote {} methods of {} classes in {} ms",
            header.methods,
            header.classes,
            header.rewrite_nanos / 1_000_000
        ));
    }
    builder.run.cost.push(format!("the arena took {} KB", header.used.saturating_add(header.tallied) / 1024));
}
