//! Finding the agent library and telling it what to do.

use std::path::PathBuf;

use crate::exit::Failure;
use crate::kinds::{Contexts, Kinds, SamplingOptions};

const LIBRARY: &str = "libquipu_agent.so";

/// The agent library: beside this program, or in the `lib` directory next to its own.
pub fn library() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let here = program.parent().map(PathBuf::from).unwrap_or_default();
    let places = [here.join(LIBRARY), here.join("../lib").join(LIBRARY)];
    places.iter().find(|path| path.is_file()).map(|path| path.canonicalize()).transpose()?.ok_or_else(|| {
        Failure::target(format!(
            "{LIBRARY} is not beside {}: build it with `cargo build --release`, or run ./quipu, which does",
            program.display()
        ))
    })
}

/// The agent's option for measuring nothing until told to.
pub const IDLE: &str = "idle";

/// Behind other options: take everything out again when whoever attached is gone.
pub const HELD: &str = ",held";

/// The agent's options for what was asked, with the arena in `directory`.
pub fn run_options(kinds: &Kinds, directory: &std::path::Path) -> String {
    format!("dir={},{}", escape(&directory.display().to_string()), attach_options(kinds))
}

/// The agent's options for what was asked; the arena goes to the target's user's own directory.
pub fn attach_options(kinds: &Kinds) -> String {
    let mut options = Vec::new();
    options.extend(kinds.idle.then(|| IDLE.to_owned()));
    options.extend(kinds.cpu.map(|rate| format!("cpu={rate}")));
    options.extend(kinds.wall.map(|rate| format!("wall={rate}")));
    options.extend(kinds.exact_options.threads.iter().map(|name| format!("threads={}", escape(name))));
    if let Some(limit) = kinds.arena_limit {
        options.push(format!("limit={limit}"));
    }
    if kinds.exact() {
        add_exact(kinds, &mut options);
    }
    options.join(",")
}

fn add_exact(kinds: &Kinds, options: &mut Vec<String>) {
    options.push(match kinds.sampling.bytecodes {
        Some(every) => {
            let SamplingOptions { jitter, seed, .. } = kinds.sampling;
            format!("bytecodes={every},jitter={jitter},seed={seed}")
        }
        None => "exact".to_owned(),
    });
    let mut add = |key: &str, value: &str| options.push(format!("{key}={}", escape(value)));
    let exact = &kinds.exact_options;
    add("bba", &exact.bba.replace(',', "+"));
    if exact.contexts != Contexts::All {
        add("contexts", exact.contexts.as_str());
    }
    if let Some(depth) = exact.max_depth {
        add("max-depth", &depth.to_string());
    }
    if let Some(agent) = &kinds.agent {
        add("agent", &format!("{}={}", agent.jar.display(), agent.class));
    }
    if let Some(weights) = &exact.weights {
        add("weights", &weights.display().to_string());
    }
    add("merge-threads", exact.merge_threads.as_str());
    for pattern in &exact.include {
        add("include", pattern);
    }
    for pattern in &exact.exclude {
        add("exclude", pattern);
    }
    for (set, key) in [
        (exact.sites, "sites"),
        (exact.blocks, "blocks"),
        (exact.allocations, "allocations"),
        (exact.deterministic, "deterministic"),
    ] {
        if set {
            options.push(key.to_owned());
        }
    }
}

/// The same, for JVMs in which counting is to begin when listeners in `jar` say so.
pub fn with_tests(options: &str, jar: &std::path::Path) -> String {
    format!("{options},tests={}", escape(&jar.display().to_string()))
}

/// A comma separates options, so one in a value is written `%2C`.
pub fn escape(value: &str) -> String {
    value.replace('%', "%25").replace(',', "%2C")
}
