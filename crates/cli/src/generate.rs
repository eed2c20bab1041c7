//! `quipu completions` and `quipu man`: made from the same definitions as the parser.

use std::io;
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::Cli;
use crate::exit::DONE;

/// Print shell completions.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  quipu completions bash > /etc/bash_completion.d/quipu")]
pub struct Completions {
    /// For which shell
    shell: Shell,
}

impl Completions {
    /// Prints them.
    pub fn run(self) -> anyhow::Result<u8> {
        clap_complete::generate(self.shell, &mut Cli::command(), "quipu", &mut io::stdout());
        Ok(DONE)
    }
}

/// Write manual pages into a directory.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  quipu man /usr/local/share/man/man1")]
pub struct Man {
    /// Where to
    directory: PathBuf,
}

impl Man {
    /// Writes them.
    pub fn run(self) -> anyhow::Result<u8> {
        std::fs::create_dir_all(&self.directory)?;
        clap_mangen::generate_to(Cli::command(), &self.directory)?;
        Ok(DONE)
    }
}
