//! The `quipu` command.

mod agent;
mod collect;
mod exit;
mod kinds;
mod run;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Exact, reproducible profiles of Java programs; sampled ones that state their accuracy.
#[derive(Parser, Debug)]
#[command(name = "quipu", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Run(run::Run),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(run) => run.run(),
    };
    match result {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("quipu: {error:#}");
            ExitCode::from(exit::status_of(&error))
        }
    }
}
