//! What to measure: the kinds of profile and their options, shared by `run` and `attach`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use quipu_rewrite::Weights;

use crate::exit::Failure;

/// Samples a second, if nobody says otherwise; as `--cpu` alone has it.
const DEFAULT_RATE: u32 = 100;

/// What to measure.
#[derive(Args, Clone, Debug)]
pub struct Kinds {
    /// Count every call and every executed bytecode, per calling context (what `run` does unless another kind is asked for)
    #[arg(long, help_heading = "What to measure", conflicts_with = "bytecodes")]
    pub exact: bool,

    /// Sample stacks by the CPU time that threads use, so many times a second of it, up to 10000 (what `attach` does unless
    /// another kind is asked for)
    #[arg(long, value_name = "RATE", num_args = 0..=1, default_missing_value = "100",
          value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "What to measure")]
    pub cpu: Option<u32>,

    /// Sample stacks of all Java threads, running or waiting, with their state, so many times a second
    #[arg(long, value_name = "RATE", num_args = 0..=1, default_missing_value = "100",
          value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "What to measure")]
    pub wall: Option<u32>,

    /// Measure nothing until told to, with `quipu ctl`
    #[arg(long, help_heading = "What to measure", conflicts_with_all = ["exact", "cpu", "wall", "agent"])]
    pub idle: bool,

    #[command(flatten)]
    pub exact_options: ExactOptions,

    #[command(flatten)]
    pub sampling: SamplingOptions,

    /// A profiling agent of your own: a jar and the class in it that implements quipu.ExactProfiler, or with --bytecodes
    /// quipu.SamplingProfiler; see docs/agents.md
    #[arg(long, value_name = "JAR=CLASS", value_parser = java_agent, help_heading = "What to measure")]
    pub agent: Option<JavaAgent>,

    /// Most memory for the profile while the target runs, e.g. 500M or 8G [default: 10% of RAM, at most 4G]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub arena_limit: Option<u64>,
}

impl Kinds {
    /// Whether classes are instrumented to count everything.
    pub fn exact(&self) -> bool {
        self.exact || self.agent.is_some() || !(self.sampled() || self.idle)
    }

    /// Whether any kind was asked for, or none in so many words.
    fn chosen(&self) -> bool {
        self.exact || self.agent.is_some() || self.sampling.bytecodes.is_some() || self.sampled() || self.idle
    }

    /// What to measure in a JVM that somebody needs: what costs little, unless another kind is asked for.
    pub fn for_attach(mut self) -> anyhow::Result<Kinds> {
        if !self.chosen() {
            if let Some(option) = self.exact_options.first_set() {
                return Err(Failure::usage(format!(
                    "{option} is for exact counts, and an attach without a kind samples CPU time: add --exact"
                )));
            }
            self.cpu = Some(DEFAULT_RATE);
        }
        Ok(self)
    }

    /// Roughly what it will cost the target, if that is much; the figures are those of docs/performance.md.
    pub fn cost(&self) -> Option<&'static str> {
        if !self.exact() {
            return None;
        }
        Some(match (self.sampling.bytecodes, self.exact_options.contexts) {
            (Some(_), _) => {
                "samples by bytecodes make most programs 2 to 4 times slower while they are taken"
            }
            (None, Contexts::None) => {
                "counting by method makes most programs 1.5 to 2 times slower while it lasts"
            }
            (None, _) => {
                "exact counting makes most programs 1.5 to 4 times slower while it lasts, some 8 times; --cpu costs a few \
                 percent"
            }
        })
    }

    /// Refuses what makes no sense together.
    pub fn check(&self) -> anyhow::Result<()> {
        self.contradiction().map_or(Ok(()), |why| Err(Failure::usage(why)))
    }

    fn contradiction(&self) -> Option<String> {
        let exact = &self.exact_options;
        if exact.contexts == Contexts::All {
            return None;
        }
        let needs_all = [
            (exact.sites, "--sites"),
            (exact.blocks, "--blocks"),
            (exact.allocations, "--allocations"),
            (exact.max_depth.is_some(), "--max-depth"),
            (self.agent.is_some(), "--agent"),
            (self.sampling.bytecodes.is_some(), "--bytecodes"),
        ];
        let option = needs_all.iter().find(|(set, _)| *set)?.1;
        Some(format!(
            "{option} needs a context for every method: leave out --contexts {}",
            exact.contexts.as_str()
        ))
    }

    /// Whether stacks are sampled.
    pub fn sampled(&self) -> bool {
        self.cpu.is_some() || self.wall.is_some()
    }

    /// What is counted for tests; with `lines` also where in a method.
    pub fn for_tests(arena_limit: Option<u64>, lines: bool) -> Kinds {
        let exact_options = ExactOptions {
            bba: "default".to_owned(),
            contexts: Contexts::All,
            sites: lines,
            blocks: lines,
            allocations: true,
            max_depth: None,
            include: Vec::new(),
            exclude: Vec::new(),
            threads: Vec::new(),
            merge_threads: MergeThreads::Name,
            weights: None,
            deterministic: true,
        };
        Kinds {
            exact: true,
            cpu: None,
            wall: None,
            idle: false,
            exact_options,
            sampling: SamplingOptions::default(),
            agent: None,
            arena_limit,
        }
    }
}

/// Options of `--exact`.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Exact profiles")]
pub struct ExactOptions {
    /// Where blocks of bytecodes end: `default`, `precise` (exact under exceptions too), or a list of
    /// instruction classes such as `calls,throws`
    #[arg(long, value_name = "WHICH", default_value = "default")]
    pub bba: String,

    /// Which methods have contexts. The fewer, the faster; all sums stay the same
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Contexts::All)]
    pub contexts: Contexts,

    /// Two calls of one method from different places in a caller are two contexts
    #[arg(long)]
    pub sites: bool,

    /// Count executions of every basic block too, for `report --by line`
    #[arg(long)]
    pub blocks: bool,

    /// Count instructions that make objects or arrays too (--blocks does); not what native code makes
    #[arg(long)]
    pub allocations: bool,

    /// Fold contexts below this depth
    #[arg(long, value_name = "N")]
    pub max_depth: Option<u32>,

    /// Only these packages, classes or methods (com.acme, com.acme.Foo, com.acme.Foo#bar*); repeatable
    #[arg(long, value_name = "PATTERN")]
    pub include: Vec<String>,

    /// Not these packages, classes or methods; repeatable
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,

    /// Count or sample only threads of this name, in which `*` stands for anything (main, 'http-*'); repeatable
    #[arg(long, value_name = "NAME")]
    pub threads: Vec<String>,

    /// Which ended threads share a tree with later ones
    #[arg(long, value_name = "HOW", value_enum, default_value_t = MergeThreads::Name)]
    pub merge_threads: MergeThreads,

    /// Count each opcode with the weight this file gives it, instead of 1; see docs/weights.md
    #[arg(long, value_name = "FILE", value_parser = weights)]
    pub weights: Option<PathBuf>,

    /// Pin what makes two runs of the JDK differ (hash seeds, Map.of order, JIT shortcuts), and say what was pinned
    #[arg(long)]
    pub deterministic: bool,
}

impl ExactOptions {
    /// The first option that is not at its default and means nothing to samples of stacks.
    fn first_set(&self) -> Option<&'static str> {
        let set = [
            (self.bba != "default", "--bba"),
            (self.contexts != Contexts::All, "--contexts"),
            (self.sites, "--sites"),
            (self.blocks, "--blocks"),
            (self.allocations, "--allocations"),
            (self.max_depth.is_some(), "--max-depth"),
            (!self.include.is_empty(), "--include"),
            (!self.exclude.is_empty(), "--exclude"),
            (!matches!(self.merge_threads, MergeThreads::Name), "--merge-threads"),
            (self.weights.is_some(), "--weights"),
            (self.deterministic, "--deterministic"),
        ];
        set.iter().find(|(set, _)| *set).map(|(_, option)| *option)
    }
}

/// Options of `--bytecodes`.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Samples every N bytecodes")]
pub struct SamplingOptions {
    /// Sample the calling context each time a thread has executed N bytecodes: the same samples every run, much
    /// cheaper than counting everything
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10000", value_parser = bytecodes,
          conflicts_with_all = ["sites", "blocks"])]
    pub bytecodes: Option<u64>,

    /// Add a pseudo-random number below R to each N, so that loops do not fall in step with the samples
    #[arg(long, value_name = "R", default_value_t = 100, requires = "bytecodes")]
    pub jitter: u64,

    /// Where the pseudo-random numbers of each thread begin
    #[arg(long, value_name = "S", default_value_t = 1, requires = "bytecodes")]
    pub seed: u64,
}

impl Kinds {
    /// The exact profile that tells how accurate these samples are.
    pub fn exactly(&self) -> Kinds {
        let mut exact = self.clone();
        exact.sampling.bytecodes = None;
        exact
    }
}

/// Which methods have contexts.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contexts {
    /// All
    All,
    /// Those of the application; what the JDK's execute is charged to the context that called them
    App,
    /// None: each method is counted by itself
    None,
}

impl Contexts {
    /// As the agent spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Contexts::All => "all",
            Contexts::App => "app",
            Contexts::None => "none",
        }
    }
}

/// Which ended threads share a tree with later ones.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum MergeThreads {
    /// Those whose names differ in digits only
    Name,
    /// All
    All,
    /// None
    Never,
}

impl MergeThreads {
    /// As the agent spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            MergeThreads::Name => "name",
            MergeThreads::All => "all",
            MergeThreads::Never => "never",
        }
    }
}

/// An agent in Java.
#[derive(Clone, Debug)]
pub struct JavaAgent {
    /// Where the target finds it.
    pub jar: PathBuf,
    /// Its class.
    pub class: String,
}

fn java_agent(text: &str) -> Result<JavaAgent, String> {
    let (jar, class) = text.rsplit_once('=').ok_or("must be a jar and a class: agent.jar=com.acme.Agent")?;
    if class.is_empty() || class.contains('/') {
        return Err("must end with the agent's class: agent.jar=com.acme.Agent".to_owned());
    }
    Ok(JavaAgent { jar: readable(jar)?, class: class.to_owned() })
}

fn weights(text: &str) -> Result<PathBuf, String> {
    let path = readable(text)?;
    let contents = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
    Weights::parse(&contents).map_err(|e| e.to_string())?;
    Ok(path)
}

/// The target may be in another directory.
fn readable(path: &str) -> Result<PathBuf, String> {
    Path::new(path).canonicalize().map_err(|e| format!("{path}: {e}"))
}

fn bytecodes(text: &str) -> Result<u64, String> {
    let number = text.replace('_', "").parse().ok().filter(|n| *n > 0);
    number.ok_or_else(|| "must be a number of bytecodes, such as 10000".to_owned())
}

/// `500M`, `8G`, `1048576`.
pub fn size(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']) {
        Some(digits) => (digits, text.chars().last().map_or('b', |c| c.to_ascii_lowercase())),
        None => (text, 'b'),
    };
    let factor = match unit {
        'k' => 1 << 10,
        'm' => 1 << 20,
        'g' => 1 << 30,
        _ => 1,
    };
    let number: u64 = digits.parse().map_err(|_| "must be a size like 500M or 8G".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "is too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("500M"), Ok(500 << 20));
        assert_eq!(size("8g"), Ok(8 << 30));
        assert_eq!(size("77"), Ok(77));
        assert!(size("lots").is_err());
        assert!(size("99999999999G").is_err());
    }
}
