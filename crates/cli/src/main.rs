//! The `quipu` command. The only place for printing; everything it knows it has from the libraries.

mod agent;
mod agent_api;
mod annotate;
mod attach;
mod bisect;
mod calibrate;
mod clean;
mod collect;
mod ctl;
mod demo;
mod deterministic;
mod directives;
mod doctor;
mod exit;
mod export;
mod files;
mod gate;
mod generate;
mod heap;
mod instrument;
mod jdk;
mod jmh;
mod kinds;
mod launch;
mod narrow;
mod output;
mod parts;
mod perf_events;
mod perf_map;
mod progress;
mod ps;
mod report;
mod run;
mod screen;
mod signals;
mod status;
mod test;
mod test_api;
mod threads;
mod top;
mod typos;
mod variation;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Exact, reproducible profiles of Java programs.
#[derive(Parser, Debug)]
#[command(
    name = "quipu",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  quipu run -o app.quipu -- java -jar app.jar        count every call and bytecode, in context
  quipu run --cpu -o app.quipu -- java -jar app.jar  sample stacks by CPU time
  quipu report app.quipu --by method                 what was hot
  quipu export app.quipu --to html -o app.html       flame graph and tables in one page
  quipu attach 4711 -d 10                            the same for a JVM that runs
  quipu heap x.hprof                                 what fills a heap, and what holds it"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Run(run::Run),
    Attach(attach::Attach),
    Agent(agent::Agent),
    AgentApi(agent_api::AgentApi),
    Calibrate(calibrate::Calibrate),
    Ctl(ctl::Ctl),
    Top(top::Top),
    Ps(ps::Ps),
    Threads(threads::Threads),
    Deadlocks(threads::Deadlocks),
    PerfMap(perf_map::PerfMap),
    Clean(clean::Clean),
    Doctor(doctor::Doctor),
    Instrument(instrument::Instrument),
    Report(report::Report),
    Annotate(annotate::Annotate),
    Diff(report::Diff),
    Overlap(report::Overlap),
    Merge(report::Merge),
    Gate(gate::Gate),
    Heap(heap::Heap),
    Test(test::Test),
    Bisect(bisect::Bisect),
    TestApi(test_api::TestApi),
    Jmh(jmh::Jmh),
    Export(export::Export),
    Import(export::Import),
    Demo(demo::Demo),
    Completions(generate::Completions),
    Man(generate::Man),
}

fn dispatch(command: Command) -> anyhow::Result<u8> {
    match command {
        Command::Run(command) => command.run(),
        Command::Attach(command) => command.run(),
        Command::Agent(command) => command.run(),
        Command::AgentApi(command) => command.run(),
        Command::Calibrate(command) => command.run(),
        Command::Ctl(command) => command.run(),
        Command::Top(command) => command.run(),
        Command::Ps(command) => command.run(),
        Command::Threads(command) => command.run(),
        Command::Deadlocks(command) => command.run(),
        Command::PerfMap(command) => command.run(),
        Command::Clean(command) => command.run(),
        Command::Doctor(command) => command.run(),
        Command::Instrument(command) => command.run(),
        Command::Report(command) => command.run(),
        Command::Annotate(command) => command.run(),
        Command::Diff(command) => command.run(),
        Command::Overlap(command) => command.run(),
        Command::Merge(command) => command.run(),
        Command::Gate(command) => command.run(),
        Command::Heap(command) => command.run(),
        Command::Test(command) => command.run(),
        Command::Bisect(command) => command.run(),
        Command::TestApi(command) => command.run(),
        Command::Jmh(command) => command.run(),
        Command::Export(command) => command.run(),
        Command::Import(command) => command.run(),
        Command::Demo(command) => command.run(),
        Command::Completions(command) => command.run(),
        Command::Man(command) => command.run(),
    }
}

fn main() -> ExitCode {
    if perf_events::is_asked(std::env::args_os()) {
        print!("{}", perf_events::list());
        return ExitCode::from(exit::DONE);
    }
    match dispatch(Cli::parse().command) {
        Ok(status) => ExitCode::from(status),
        Err(error) if is_broken_pipe(&error) => ExitCode::from(exit::DONE),
        Err(error) => {
            eprintln!("quipu: {error:#}");
            ExitCode::from(exit::status_of(&error))
        }
    }
}

/// `quipu report … | head` is not an error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
            || cause.to_string().contains("Broken pipe")
    })
}
