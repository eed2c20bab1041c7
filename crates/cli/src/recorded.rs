//! The options that decide what is counted, as a profile records them. Counts made with different ones do not compare.

use crate::kinds::{Contexts, Kinds, SamplingOptions};

/// Name and value of each option; those that are off are left out.
pub fn options(kinds: &Kinds) -> Vec<(String, String)> {
    let mut options: Vec<(&str, String)> = Vec::new();
    options.extend(kinds.cpu.map(|rate| ("cpu", rate.to_string())));
    options.extend(kinds.wall.map(|rate| ("wall", rate.to_string())));
    options.extend(kinds.exact_options.threads.iter().map(|name| ("threads", name.clone())));
    if kinds.exact() {
        add_exact(kinds, &mut options);
    }
    options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn add_exact(kinds: &Kinds, options: &mut Vec<(&str, String)>) {
    let exact = &kinds.exact_options;
    match kinds.sampling.bytecodes {
        Some(every) => {
            let SamplingOptions { jitter, seed, .. } = kinds.sampling;
            options.extend([
                ("bytecodes", every.to_string()),
                ("jitter", jitter.to_string()),
                ("seed", seed.to_string()),
            ]);
        }
        None => options.push(("exact", String::new())),
    }
    options.push(("bba", exact.bba.clone()));
    if exact.contexts != Contexts::All {
        options.push(("contexts", exact.contexts.as_str().to_owned()));
    }
    options.extend(exact.max_depth.map(|depth| ("max-depth", depth.to_string())));
    options.push(("merge-threads", exact.merge_threads.as_str().to_owned()));
    options.extend(exact.include.iter().map(|pattern| ("include", pattern.clone())));
    options.extend(exact.exclude.iter().map(|pattern| ("exclude", pattern.clone())));
    let switches = [
        ("sites", exact.sites),
        ("blocks", exact.blocks),
        ("allocations", exact.allocations),
        ("deterministic", exact.deterministic),
    ];
    options.extend(switches.into_iter().filter(|(_, on)| *on).map(|(name, _)| (name, String::new())));
}
