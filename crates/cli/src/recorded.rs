//! The options that decide what is counted, as a profile records them. Counts made with different ones do not compare.

use crate::kinds::{Kinds, SamplingOptions};

/// Name and value of each option; those that are off are left out.
pub fn options(kinds: &Kinds) -> Vec<(String, String)> {
    let exact = &kinds.exact_options;
    let mut options = match kinds.sampling.bytecodes {
        Some(every) => {
            let SamplingOptions { jitter, seed, .. } = kinds.sampling;
            vec![("bytecodes", every.to_string()), ("jitter", jitter.to_string()), ("seed", seed.to_string())]
        }
        None => vec![("exact", String::new())],
    };
    options.push(("bba", exact.bba.clone()));
    options.extend(exact.max_depth.map(|depth| ("max-depth", depth.to_string())));
    options.push(("merge-threads", exact.merge_threads.as_str().to_owned()));
    options.extend(exact.threads.iter().map(|name| ("threads", name.clone())));
    options.extend(exact.include.iter().map(|pattern| ("include", pattern.clone())));
    options.extend(exact.exclude.iter().map(|pattern| ("exclude", pattern.clone())));
    let switches = [
        ("sites", exact.sites),
        ("blocks", exact.blocks),
        ("allocations", exact.allocations),
        ("deterministic", exact.deterministic),
    ];
    options.extend(switches.into_iter().filter(|(_, on)| *on).map(|(name, _)| (name, String::new())));
    options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
