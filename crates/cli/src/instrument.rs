//! `quipu instrument`: rewrite offline, for JVMs that no agent goes into.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use indicatif::{ProgressBar, ProgressStyle};
use quipu_classfile::BlockAnalysis;
use quipu_kinds::{Chosen, Setting, setting};
use quipu_offline::{BytecodeSampling, InputFile, Instrumenter, Outcome, Progress, RuntimeOptions};
use quipu_rewrite::{Bytecodes, Counting, Exact, Plan, Selection, parse_classes};

use crate::exit::{DONE, Failure};
use crate::files;
use crate::jdk;
use crate::kinds::{arg, given};

/// Rewrite a jar, a directory or a class, to be profiled without an agent.
///
/// The result runs on any JVM from 8 on, with quipu-runtime.jar on its class path, and counts what `quipu run --exact`
/// counts for the same classes; the JDK's own are not counted. It leaves quipu-PID.arena in its working directory,
/// which `quipu report` and the others read.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  quipu instrument app.jar -o app-counted.jar
  java -cp app-counted.jar:quipu-runtime.jar com.acme.Main
  java -Xbootclasspath/a:quipu-runtime.jar -jar app-counted.jar    (the same, as fast as with an agent)
  quipu report quipu-4711.arena --by method
  quipu merge quipu-4711.arena -o app.quipu

  quipu instrument classes -o classes-counted --include com.acme --bba precise
  quipu instrument app.jar -o app-sampled.jar --bytecodes 10000
  quipu instrument boot.jar -o boot-counted.jar --runtime lib/quipu-runtime.jar

When the program runs, system properties say what to do (-Dquipu.output=FILE):
  quipu.output   where the profile goes; %p stands for the process id
  quipu.limit    the size it may grow to [default: 1g]
  quipu.threads  the threads to count, one name or pattern on each line
  quipu.max-depth, quipu.merge-threads   as the options of the same names
  quipu.bytecodes, quipu.jitter, quipu.seed   the same, for what was instrumented with --bytecodes")]
pub struct Instrument {
    /// A jar (or war), a .class file, or a directory of them
    input: PathBuf,

    /// The instrumented jar; for a directory or a class, a directory
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// Where the runtime's jar goes [default: quipu-runtime.jar beside OUT]
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,

    #[command(flatten)]
    kinds: OfflineKinds,

    /// The JDK whose native and intrinsic methods are shown as leaves, or `none` [default: that of JAVA_HOME or PATH]
    #[arg(long, value_name = "HOME")]
    jdk: Option<PathBuf>,

    /// List what could not be instrumented
    #[arg(short, long)]
    verbose: bool,
}

/// Has HotSpot compile methods of more than 8,000 bytes, too.
const COMPILE_ALL: &str = "-XX:-DontCompileHugeMethods";

/// How many of the methods are told that need it.
const MOST_TOLD: usize = 10;

/// What can be chosen for programs that no agent goes into.
const OFFLINE: [&str; 12] = [
    "bba",
    "sites",
    "blocks",
    "max-depth",
    "include",
    "exclude",
    "merge-threads",
    "threads",
    "arena-limit",
    "bytecodes",
    "jitter",
    "seed",
];

/// The options of kinds that work without an agent.
#[derive(Debug)]
struct OfflineKinds(Chosen);

impl OfflineKinds {
    /// What was chosen: everything is counted, unless samples are taken every so many bytecodes.
    fn chosen(&self) -> anyhow::Result<Chosen> {
        let mut chosen = self.0.clone();
        if !chosen.has("bytecodes") {
            chosen.set("exact", "")?;
        }
        chosen.check().map_err(Failure::usage)?;
        Ok(chosen)
    }

    fn settings() -> impl Iterator<Item = &'static Setting> {
        OFFLINE.iter().filter_map(|name| setting(name))
    }
}

impl Args for OfflineKinds {
    fn augment_args(command: Command) -> Command {
        OfflineKinds::settings().fold(command, |command, setting| command.arg(arg(setting)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        OfflineKinds::augment_args(command)
    }
}

impl FromArgMatches for OfflineKinds {
    fn from_arg_matches(matches: &ArgMatches) -> Result<OfflineKinds, clap::Error> {
        given(matches, OfflineKinds::settings()).map(OfflineKinds)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = OfflineKinds::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Instrument {
    /// Writes the instrumented program and its runtime.
    pub fn run(self) -> anyhow::Result<u8> {
        let chosen = self.kinds.chosen()?;
        let bar = Bar::new();
        let with = Instrumenter {
            plan: self.plan(&chosen)?,
            jdk: jdk::image(self.jdk.as_deref())?.map(Arc::new),
            progress: &bar,
        };
        let wrong = |error: quipu_offline::Error| Failure::usage(format!("{} {error}", self.input.display()));
        let unreadable = || format!("cannot read {}", self.input.display());
        if files::same(&self.input, &self.output) {
            return Err(Failure::usage("the output would replace the input: name another file"));
        }
        let outcome = if self.input.is_dir() {
            let found = files::below(&self.input, &self.output)?;
            let (changed, outcome) = with.directory(&found.files).map_err(wrong)?;
            files::write_directory(&self.input, &self.output, &found, &changed)?;
            outcome
        } else if self.input.extension().is_some_and(|extension| extension == "class") {
            let bytes = fs::read(&self.input).with_context(unreadable)?;
            let (written, outcome) = with.class(&bytes).map_err(wrong)?;
            files::write_all(&class_root(&self.output, &written)?, &written)?;
            outcome
        } else {
            let bytes = fs::read(&self.input).with_context(unreadable)?;
            let (jar, outcome) = with.jar(&bytes).map_err(wrong)?;
            files::replace(&self.output, &jar)?;
            outcome
        };
        bar.finish();
        let runtime = self.runtime.clone().unwrap_or_else(|| self.output.with_file_name("quipu-runtime.jar"));
        let options = RuntimeOptions {
            sites: chosen.has("sites"),
            max_depth: chosen.number("max-depth").and_then(|depth| u32::try_from(depth).ok()),
            merge_threads: chosen.get("merge-threads").map(str::to_owned),
            limit: chosen.number("arena-limit"),
            threads: chosen.all("threads").map(str::to_owned).collect(),
            bytecodes: chosen.number("bytecodes").map(|every| BytecodeSampling {
                every,
                jitter: chosen.number("jitter").unwrap_or(0),
                seed: chosen.number("seed").unwrap_or(0),
            }),
        };
        files::replace(&runtime, &quipu_offline::runtime::jar(&options).map_err(Failure::usage)?)?;
        self.tell(&outcome, &runtime);
        Ok(DONE)
    }

    fn plan(&self, chosen: &Chosen) -> anyhow::Result<Plan> {
        let mut selection = Selection::default();
        chosen.all("include").for_each(|pattern| selection.include(pattern));
        chosen.all("exclude").for_each(|pattern| selection.exclude(pattern));
        let analysis = match chosen.get("bba").unwrap_or("default") {
            "default" => BlockAnalysis::Default,
            "precise" => BlockAnalysis::Precise,
            list => BlockAnalysis::Custom(
                parse_classes(list).map_err(|unknown| Failure::usage(format!("--bba {list}: {unknown}")))?,
            ),
        };
        let counting = if chosen.has("bytecodes") {
            Counting::Bytecodes(Bytecodes)
        } else {
            Counting::Exact(Exact {
                // The program may be started with another depth than it is instrumented with.
                folds: true,
                sites: chosen.has("sites"),
                blocks: chosen.has("blocks"),
                ..Exact::default()
            })
        };
        Ok(Plan { analysis, selection, counting, ..Plan::new(quipu_offline::RUNTIME_PACKAGE) })
    }

    fn tell(&self, outcome: &Outcome, runtime: &Path) {
        let Outcome { classes, methods, jars, left, huge, notices, main_class } = outcome;
        let within = if *jars > 1 { format!(" in {jars} jars") } else { String::new() };
        eprintln!(
            "quipu: wrote {}: {methods} methods of {classes} classes{within} count themselves",
            self.output.display()
        );
        for notice in notices {
            eprintln!("quipu: {}: {notice}", self.input.display());
        }
        if !left.is_empty() {
            let how = if self.verbose { "" } else { "; --verbose lists them" };
            eprintln!(
                "quipu: {} classes and methods could not be rewritten and are as they were{how}",
                left.len()
            );
        }
        if self.verbose {
            for left in left {
                eprintln!("quipu:   {}: {}", left.what, left.why);
            }
        }
        if !huge.is_empty() {
            eprintln!(
                "quipu: with what is inserted, these methods are longer than HotSpot compiles, unless it is started with {COMPILE_ALL}:"
            );
            let told = if self.verbose { huge.len() } else { MOST_TOLD };
            huge.iter().take(told).for_each(|method| eprintln!("quipu:   {method}"));
            if huge.len() > told {
                eprintln!("quipu:   and {} more; --verbose lists them", huge.len() - told);
            }
        }
        let flag = if huge.is_empty() { String::new() } else { format!("{COMPILE_ALL} ") };
        eprintln!(
            "quipu: run it with: java {flag}-cp {0}:{1} {2}\n\
             quipu: or, faster:  java {flag}-Xbootclasspath/a:{1} -cp {0} {2}\n\
             quipu: it leaves quipu-PID.arena: quipu report quipu-PID.arena",
            self.output.display(),
            runtime.display(),
            main_class.as_deref().unwrap_or("MAIN-CLASS")
        );
    }
}

/// The directory that is to be on the class path: the output, without the class's own path if it was named so.
fn class_root(output: &Path, written: &[InputFile]) -> anyhow::Result<PathBuf> {
    if output.extension().is_none_or(|extension| extension != "class") {
        return Ok(output.to_owned());
    }
    let class = written.first().map(|file| Path::new(&file.name)).context("nothing was written")?;
    if !output.ends_with(class) {
        return Err(Failure::usage(format!(
            "the class must lie where class loaders look for it: name a directory, or a path that ends in {}",
            class.display()
        )));
    }
    Ok(output.ancestors().nth(class.components().count()).unwrap_or(Path::new("")).to_owned())
}

/// Classes done, on a terminal.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Bar {
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} classes");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Bar(bar)
    }

    fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl Progress for Bar {
    fn found(&self, classes: u64) {
        self.0.inc_length(classes);
    }

    fn done(&self, classes: u64) {
        self.0.inc(classes);
    }
}
