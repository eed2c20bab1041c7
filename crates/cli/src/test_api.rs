//! `quipu test-api`: the jar with `@Budget`.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use crate::exit::DONE;

/// Write the jar that tests with a `@Budget` are compiled against.
///
/// It does nothing by itself: budgets hold, and tests are counted, under `quipu test`, which brings its own copy along.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  quipu test-api -o lib/quipu-junit.jar
  mvn install:install-file -Dfile=lib/quipu-junit.jar -DgroupId=quipu -DartifactId=quipu-junit -Dversion=1 -Dpackaging=jar")]
pub struct TestApi {
    /// Where to write it
    #[arg(short, long, value_name = "FILE", default_value = "quipu-junit.jar")]
    output: PathBuf,
}

impl TestApi {
    /// Writes the jar.
    pub fn run(self) -> anyhow::Result<u8> {
        std::fs::write(&self.output, quipu_api::listeners())
            .with_context(|| format!("cannot write {}", self.output.display()))?;
        eprintln!("quipu: wrote {}", self.output.display());
        Ok(DONE)
    }
}
