//! `quipu agent-api`: the jar to compile agents against.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use crate::exit::DONE;

/// Write the jar that profiling agents in Java are compiled against.
///
/// The target needs no such jar: `quipu run --agent` brings the API along.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  quipu agent-api -o quipu-api.jar
  javac -cp quipu-api.jar -d classes MyAgent.java && jar cf agent.jar -C classes .
  quipu run --agent agent.jar=MyAgent -- java -jar app.jar")]
pub struct AgentApi {
    /// Where to write it
    #[arg(short, long, value_name = "FILE", default_value = "quipu-api.jar")]
    output: PathBuf,
}

impl AgentApi {
    /// Writes the jar.
    pub fn run(self) -> anyhow::Result<u8> {
        std::fs::write(&self.output, quipu_api::jar())
            .with_context(|| format!("cannot write {}", self.output.display()))?;
        eprintln!("quipu: wrote {}", self.output.display());
        Ok(DONE)
    }
}
