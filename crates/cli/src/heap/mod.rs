//! `quipu heap`: heap dumps, and what fills the heap of a JVM that runs.

mod diff;
mod free_memory;
mod live;
mod made;
mod mapped;
mod open;
mod sites;
mod summary;
mod table;
mod views;
mod walk;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use quipu_heap::GroupBy;

use crate::exit::Failure;
use open::Reading;

/// What fills a heap and what holds it: of a dump (HPROF, also compressed) or of a JVM that runs.
///
/// With a dump and nothing else: totals, leak suspects with the path that holds them, classes by what they hold, duplicate
/// strings, wasted room in collections.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  quipu heap x.hprof                                 what a person wants to know first
  quipu heap x.hprof --profile app.quipu             and where the objects were made (quipu attach 4711 --live)
  quipu heap dump 4711 -o x.hprof                    write a dump of a JVM
  quipu heap histo 4711                              objects by class, without a dump
  quipu heap sites 4711                              where it makes what it keeps
  quipu heap paths 4711 com.acme.Session             who holds these, without a dump
  quipu heap refs 4711 com.acme.Session              classes and fields that refer to these, counted
  quipu heap dominators x.hprof --by package         which packages hold most
  quipu heap list x.hprof com.acme.Order --where 'items.size > 100' --limit 20
  quipu heap object x.hprof 0x7f0012a8               its fields, and who holds it
  quipu heap diff before.hprof after.hprof           what grew"
)]
pub struct Heap {
    /// A heap dump (.hprof or .hprof.gz)
    #[arg(value_name = "FILE", required = true)]
    file: Option<PathBuf>,

    /// A profile of the same process, made with --alloc or --live: classes are told with where they are made
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,

    #[command(flatten)]
    reading: Reading,

    #[command(subcommand)]
    command: Option<Command>,
}

/// Rows that are shown.
#[derive(Args, Debug, Clone, Copy)]
pub struct Limit {
    /// Show at most so many rows; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

impl Limit {
    /// As a number.
    pub fn rows(self) -> usize {
        if self.limit == 0 { usize::MAX } else { self.limit }
    }
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Write a dump of a JVM that runs
    Dump(live::DumpOf),
    /// Objects and bytes by class, of a dump or of a JVM that runs
    Histo {
        /// A dump, or a process id, or part of the main class's name
        #[arg(value_name = "FILE|PID")]
        target: String,
        /// Of a JVM: only objects that are alive, for which it collects garbage first
        #[arg(long)]
        live: bool,
        #[command(flatten)]
        limit: Limit,
    },
    /// Where objects were made: of a profile with --alloc or --live, or of what a JVM makes from now on and keeps
    Sites {
        /// A profile, or a process id, or part of the main class's name
        #[arg(value_name = "FILE|PID")]
        target: String,
        /// Of a JVM: for how long to watch what it makes
        #[arg(short, long, value_name = "SECONDS", default_value = "10", value_parser = crate::attach::seconds)]
        duration: std::time::Duration,
        #[command(flatten)]
        limit: Limit,
    },
    /// Objects that hold most: what would be gone with them
    Dominators {
        /// A dump
        file: PathBuf,
        /// Add up what is held, by this
        #[arg(long, value_enum)]
        by: Option<By>,
        /// What this object holds, instead of what no other object holds
        #[arg(long, value_name = "ID", value_parser = views::id)]
        of: Option<u64>,
        #[command(flatten)]
        limit: Limit,
    },
    /// Why objects are alive: shortest paths from a root, without weak and soft references
    Paths {
        /// A dump, or a process id, or part of the main class's name
        #[arg(value_name = "FILE|PID")]
        target: String,
        /// A class, stars stand for anything; or, in a dump, an object's id
        #[arg(value_name = "CLASS|ID")]
        what: String,
        #[command(flatten)]
        limit: Limit,
        #[command(flatten)]
        bounds: walk::Bounds,
    },
    /// Who refers to the objects of a class, in a JVM that runs: classes and fields, counted
    Refs {
        /// Process id, or part of the main class's name
        #[arg(value_name = "PID|NAME")]
        target: String,
        /// A class; stars stand for anything
        class: String,
        #[command(flatten)]
        limit: Limit,
        #[command(flatten)]
        bounds: walk::Bounds,
    },
    /// Texts that several strings have
    Strings {
        /// A dump
        file: PathBuf,
        #[command(flatten)]
        limit: Limit,
    },
    /// Room in collections that nothing is in
    Collections {
        /// A dump
        file: PathBuf,
        #[command(flatten)]
        limit: Limit,
    },
    /// Garbage that is in the dump, by class
    Unreachable {
        /// A dump
        file: PathBuf,
        #[command(flatten)]
        limit: Limit,
    },
    /// Who holds a large part of the heap, and where to look
    Leaks {
        /// A dump
        file: PathBuf,
    },
    /// Objects of a class of which something is true
    #[command(after_help = "\
Conditions compare fields, which are followed with dots, with numbers, texts in quotes, true, false and null:
=, !=, <, <=, >, >=, and ~ for a text that another is in; joined by and, or, not. size and length are the number of
elements of collections, arrays and strings.

Examples:
  quipu heap list x.hprof com.acme.Order --where 'items.size > 100 and customer.name = \"Ada\"'
  quipu heap list x.hprof 'com.acme.*' --where 'parent = null' --limit 5")]
    List {
        /// A dump
        file: PathBuf,
        /// A class; stars stand for anything
        class: String,
        /// What must be true of them
        #[arg(long, value_name = "CONDITION")]
        r#where: Option<String>,
        #[command(flatten)]
        limit: Limit,
    },
    /// One object: its fields or elements, what it holds, why it is alive
    Object {
        /// A dump
        file: PathBuf,
        /// Its id, as other commands print it
        #[arg(value_parser = views::id)]
        id: u64,
        /// Only what is in it, which is faster
        #[arg(long)]
        quick: bool,
        #[command(flatten)]
        limit: Limit,
    },
    /// What grew from one dump, or histogram, to another
    Diff {
        /// A dump, or what `quipu heap histo` or `jcmd PID GC.class_histogram` printed
        before: PathBuf,
        /// The same, later
        after: PathBuf,
        #[command(flatten)]
        limit: Limit,
    },
}

/// What objects are added up by.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum By {
    /// The class
    Class,
    /// The class loader
    Loader,
    /// The package
    Package,
}

impl From<By> for GroupBy {
    fn from(by: By) -> GroupBy {
        match by {
            By::Class => GroupBy::Class,
            By::Loader => GroupBy::Loader,
            By::Package => GroupBy::Package,
        }
    }
}

impl Heap {
    /// Answers.
    pub fn run(self) -> anyhow::Result<u8> {
        let reading = self.reading;
        let Some(command) = self.command else {
            let file = self.file.ok_or_else(|| Failure::usage("which dump? `quipu heap FILE`"))?;
            return summary::print_summary(&reading, &file, self.profile.as_deref());
        };
        match command {
            Command::Dump(command) => command.run(&reading),
            Command::Histo { target, live, limit } => match Target::of(&target) {
                Target::File(file) if live => Err(Failure::usage(format!(
                    "--live is for a JVM; what is alive in {} is in `quipu heap dominators --by class`",
                    file.display()
                ))),
                Target::File(file) => views::histogram(&reading, &file, limit),
                Target::Process(name) => live::histogram(&reading, &name, live, limit),
            },
            Command::Sites { target, duration, limit } => match Target::of(&target) {
                Target::File(file) => sites::of_profile(&reading, &file, limit),
                Target::Process(name) => sites::of_process(&reading, &name, duration, limit),
            },
            Command::Dominators { file, by, of, limit } => {
                views::dominators(&reading, &file, by.map(Into::into), of, limit)
            }
            Command::Paths { target, what, limit, bounds } => match Target::of(&target) {
                Target::File(file) => views::paths(&reading, &file, &what, limit),
                Target::Process(name) => walk::paths(&reading, &name, &what, limit, bounds),
            },
            Command::Refs { target, class, limit, bounds } => {
                walk::refs(&reading, &target, &class, limit, bounds)
            }
            Command::Strings { file, limit } => views::strings(&reading, &file, limit),
            Command::Collections { file, limit } => views::collections(&reading, &file, limit),
            Command::Unreachable { file, limit } => views::unreachable(&reading, &file, limit),
            Command::Leaks { file } => views::leaks(&reading, &file),
            Command::List { file, class, r#where, limit } => {
                views::list(&reading, &file, &class, r#where.as_deref(), limit)
            }
            Command::Object { file, id, quick, limit } => views::object(&reading, &file, id, quick, limit),
            Command::Diff { before, after, limit } => diff::print_diff(&reading, &before, &after, limit),
        }
    }
}

/// A dump or a JVM.
enum Target {
    File(PathBuf),
    Process(String),
}

impl Target {
    /// A file, if there is one of this name or it looks like one.
    fn of(text: &str) -> Target {
        let path = Path::new(text);
        let looks = text.contains('/') || text.ends_with(".hprof") || text.ends_with(".gz");
        if path.is_file() || looks { Target::File(path.to_owned()) } else { Target::Process(text.to_owned()) }
    }
}

/// Prints, and leaves a pipe that nobody reads any more alone.
fn print(text: &str) -> anyhow::Result<()> {
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}

/// Prints a value for programs.
fn print_json(value: &serde_json::Value) -> anyhow::Result<()> {
    print(&format!("{value}\n"))
}
