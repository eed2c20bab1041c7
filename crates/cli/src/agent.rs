//! Finding the agent library and telling it what to do.

use std::path::PathBuf;

use quipu_kinds::{Chosen, escape};

use crate::exit::Failure;

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
pub fn run_options(chosen: &Chosen, directory: &std::path::Path) -> String {
    format!("dir={},{}", escape(&directory.display().to_string()), chosen.text())
}

/// The same, for JVMs in which counting is to begin when listeners in `jar` say so.
pub fn with_tests(options: &str, jar: &std::path::Path) -> String {
    format!("{options},tests={}", escape(&jar.display().to_string()))
}
