//! What the agent was asked to do: `key=value` pairs separated by commas.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use quipu_classfile::BlockAnalysis;
use quipu_rewrite::{Contexts, Plan, Selection, Weights, parse_classes};

use crate::sampling::Wanted;

/// The agent's options.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether classes are instrumented to count everything.
    pub exact: bool,
    /// Measure nothing until told to.
    pub idle: bool,
    /// What is sampled.
    pub sampling: Wanted,
    /// Directory for the arena.
    pub directory: Option<PathBuf>,
    /// The size the arena may grow to.
    pub limit: u64,
    /// Which blocks are counted.
    pub analysis: BlockAnalysis,
    /// Which methods have contexts.
    pub contexts: Contexts,
    /// Whether call sites are told apart.
    pub sites: bool,
    /// Whether executions of each block are counted.
    pub blocks: bool,
    /// Whether allocation instructions are counted.
    pub allocations: bool,
    /// Contexts below this depth are folded.
    pub max_depth: u32,
    /// Which classes and methods are counted.
    pub selection: Selection,
    /// Names of the threads to count, with stars; all if there are none.
    pub threads: Vec<String>,
    /// How trees of ended threads are shared.
    pub merge: MergeThreads,
    /// Whether the JDK's sources of variation are pinned.
    pub deterministic: bool,
    /// The user's own agent.
    pub agent: Option<JavaAgent>,
    /// Sample contexts every so many bytecodes, instead of counting.
    pub bytecodes: Option<BytecodeSampling>,
    /// What instructions count, and the file that says so.
    pub weights: Option<(String, Arc<Weights>)>,
    /// The jar with what test frameworks find; counting begins when something in it asks for it.
    pub tests: Option<PathBuf>,
    /// Take the instrumentation out again.
    pub stop: bool,
    /// Take it out when whoever attached is gone.
    pub held: bool,
    /// Whether threads get a field for the published slot; set if the agent is there early enough.
    pub direct: bool,
}

/// An agent in Java.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JavaAgent {
    /// The jar it is in.
    pub jar: String,
    /// Its class, with dots.
    pub class: String,
}

/// When contexts are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BytecodeSampling {
    /// Bytecodes from one sample to the next, at least.
    pub every: u64,
    /// How many more there are is random, and below this.
    pub jitter: u64,
    /// Where each thread's random numbers begin.
    pub seed: u64,
}

impl BytecodeSampling {
    /// Most bytecodes from one sample to the next.
    pub const MOST: u64 = 1 << 40;
}

impl Default for BytecodeSampling {
    fn default() -> BytecodeSampling {
        BytecodeSampling { every: 10_000, jitter: 100, seed: 1 }
    }
}

/// Which threads use one tree after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeThreads {
    /// Those whose names differ in digits only.
    Name,
    /// All of the same kind (platform or virtual).
    All,
    /// None: each thread has a tree of its own.
    Never,
}

/// An option the agent does not understand.
#[derive(Debug, PartialEq, Eq)]
pub struct BadOption(String);

impl fmt::Display for BadOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Options {
    /// Parses the text behind `-agentpath:libquipu_agent.so=`.
    pub fn parse(text: &str) -> Result<Options, BadOption> {
        let mut options = Options {
            exact: false,
            idle: false,
            sampling: Wanted::default(),
            directory: None,
            limit: default_limit(),
            analysis: BlockAnalysis::Default,
            contexts: Contexts::All,
            sites: false,
            blocks: false,
            allocations: false,
            max_depth: u32::MAX,
            selection: Selection::default(),
            threads: Vec::new(),
            merge: MergeThreads::Name,
            deterministic: false,
            agent: None,
            bytecodes: None,
            weights: None,
            tests: None,
            stop: false,
            held: false,
            direct: false,
        };
        for pair in text.split(',').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = unescape(value);
            options.set(key, &value)?;
        }
        options.sampling.threads.clone_from(&options.threads);
        options.check_contexts()?;
        // What is done unless something else was asked for.
        options.exact |= !options.sampling.any() && !options.idle;
        Ok(options)
    }

    /// Everything that is kept in contexts needs a context for every method.
    fn check_contexts(&self) -> Result<(), BadOption> {
        let needs_all = [
            (self.sites, "sites"),
            (self.blocks, "blocks"),
            (self.allocations, "allocations"),
            (self.max_depth != u32::MAX, "max-depth"),
            (self.agent.is_some(), "agent"),
            (self.bytecodes.is_some(), "bytecodes"),
        ];
        match needs_all.iter().find(|(set, _)| *set && self.contexts != Contexts::All) {
            Some((_, name)) => Err(BadOption(format!("agent option {name} needs contexts=all"))),
            None => Ok(()),
        }
    }

    /// Whether contexts and threads are told apart as with other options: trees can then be used for both.
    pub fn tells_apart_like(&self, other: &Options) -> bool {
        (self.sites, self.max_depth, self.contexts, self.merge, &self.threads)
            == (other.sites, other.max_depth, other.contexts, other.merge, &other.threads)
    }

    /// How classes are to be rewritten.
    pub fn plan(&self) -> Plan {
        Plan {
            folds: self.max_depth != u32::MAX,
            analysis: self.analysis,
            contexts: self.contexts,
            sites: self.sites,
            blocks: self.blocks,
            allocations: self.allocations,
            selection: self.selection.clone(),
            sampling: self.bytecodes.is_some(),
            weights: self.weights.as_ref().map(|(_, weights)| Arc::clone(weights)),
            ..Plan::new("java/quipu")
        }
    }

    fn bytecodes(&mut self) -> &mut BytecodeSampling {
        self.exact = true;
        self.bytecodes.get_or_insert_default()
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), BadOption> {
        match key {
            "exact" => self.exact = true,
            "idle" => self.idle = true,
            "cpu" => self.sampling.cpu = Some(rate(key, value)?),
            "wall" => self.sampling.wall = Some(rate(key, value)?),
            "stop" => self.stop = true,
            "held" => self.held = true,
            // Where to say why not; looked for before anything is parsed.
            "answer" => {}
            "dir" => self.directory = Some(PathBuf::from(value)),
            "limit" => self.limit = number(key, value)?,
            "bba" => self.analysis = analysis(value)?,
            "contexts" => {
                self.contexts = match value {
                    "all" => Contexts::All,
                    "app" => Contexts::Application,
                    "none" => Contexts::None,
                    _ => return Err(bad(key, value, "all, app or none")),
                }
            }
            "sites" => self.sites = true,
            "blocks" => self.blocks = true,
            "allocations" => self.allocations = true,
            "max-depth" => self.max_depth = u32::try_from(number(key, value)?).unwrap_or(u32::MAX),
            "include" => self.selection.include(value),
            "exclude" => self.selection.exclude(value),
            "threads" => self.threads.push(value.to_owned()),
            "deterministic" => self.deterministic = true,
            "tests" => self.tests = Some(PathBuf::from(value)),
            "agent" => {
                let (jar, class) = value.rsplit_once('=').ok_or_else(|| bad(key, value, "JAR=CLASS"))?;
                self.agent = Some(JavaAgent { jar: jar.to_owned(), class: class.to_owned() });
            }
            "bytecodes" => self.bytecodes().every = positive(key, value)?,
            "jitter" => self.bytecodes().jitter = number(key, value)?.min(BytecodeSampling::MOST),
            "seed" => self.bytecodes().seed = number(key, value)?,
            "weights" => {
                let text = std::fs::read_to_string(value)
                    .map_err(|e| BadOption(format!("cannot read the weights in {value}: {e}")))?;
                let weights =
                    Weights::parse(&text).map_err(|e| BadOption(format!("the weights in {value}: {e}")))?;
                self.weights = Some((value.to_owned(), Arc::new(weights)));
            }
            "merge-threads" => {
                self.merge = match value {
                    "name" => MergeThreads::Name,
                    "all" => MergeThreads::All,
                    "never" => MergeThreads::Never,
                    _ => return Err(bad(key, value, "name, all or never")),
                }
            }
            _ => return Err(BadOption(format!("unknown agent option '{key}'"))),
        }
        Ok(())
    }
}

fn analysis(value: &str) -> Result<BlockAnalysis, BadOption> {
    match value {
        "default" => Ok(BlockAnalysis::Default),
        "precise" => Ok(BlockAnalysis::Precise),
        list => parse_classes(&list.replace('+', ","))
            .map(BlockAnalysis::Custom)
            .map_err(|unknown| BadOption(format!("bba={value}: {unknown}"))),
    }
}

fn number(key: &str, value: &str) -> Result<u64, BadOption> {
    value.parse().map_err(|_| bad(key, value, "a number"))
}

/// A number of bytecodes.
pub fn positive(key: &str, value: &str) -> Result<u64, BadOption> {
    match number(key, value)? {
        0 => Err(bad(key, value, "a number above 0")),
        some => Ok(some.min(BytecodeSampling::MOST)),
    }
}

/// The fastest that anybody can sample.
const FASTEST: u32 = 10_000;

/// So many a second.
pub fn rate(key: &str, value: &str) -> Result<u32, BadOption> {
    let rate = value.parse().ok().filter(|rate| (1..=FASTEST).contains(rate));
    rate.ok_or_else(|| bad(key, value, "a rate from 1 to 10000"))
}

fn bad(key: &str, value: &str, wanted: &str) -> BadOption {
    BadOption(format!("agent option {key}={value}: must be {wanted}"))
}

/// `%2C` for a comma, so that values can hold one.
fn unescape(value: &str) -> String {
    value.replace("%2C", ",").replace("%25", "%")
}

/// A tenth of the machine's memory, at most 4 GB.
fn default_limit() -> u64 {
    const MOST: u64 = 4 << 30;
    // SAFETY: plain queries without pointers.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let memory = u64::try_from(pages).unwrap_or(0).saturating_mul(u64::try_from(size).unwrap_or(0));
    match memory / 10 {
        0 => 1 << 30,
        tenth => tenth.clamp(256 << 20, MOST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let o = Options::parse("agent=/a=b.jar=com.acme.Mine").unwrap();
        assert_eq!(
            o.agent,
            Some(JavaAgent { jar: "/a=b.jar".to_owned(), class: "com.acme.Mine".to_owned() })
        );
        let o =
            Options::parse("exact,dir=/a%2Cb,limit=77,bba=precise,max-depth=9,merge-threads=all").unwrap();
        assert_eq!(o.directory.as_deref(), Some("/a,b".as_ref()));
        assert_eq!((o.limit, o.max_depth, o.merge), (77, 9, MergeThreads::All));
        assert_eq!(o.analysis, BlockAnalysis::Precise);
    }

    #[test]
    fn sampling_has_defaults() {
        assert_eq!(Options::parse("exact").unwrap().bytecodes, None);
        let o = Options::parse("bytecodes=500,seed=7").unwrap();
        assert_eq!(
            o.bytecodes,
            Some(BytecodeSampling { every: 500, seed: 7, ..BytecodeSampling::default() })
        );
        assert!(o.plan().sampling);
        assert!(Options::parse("bytecodes=0").is_err());
    }

    #[test]
    fn everything_is_counted_unless_something_else_is_asked_for() {
        let kinds = |text| Options::parse(text).map(|o| (o.exact, o.sampling.cpu)).unwrap();
        assert_eq!(kinds(""), (true, None));
        assert_eq!(kinds("idle"), (false, None));
        assert_eq!(kinds("cpu=100"), (false, Some(100)));
        assert_eq!(kinds("cpu=100,exact"), (true, Some(100)));
    }

    #[test]
    fn a_wrong_option_is_named() {
        let error = |text| Options::parse(text).unwrap_err().to_string();
        assert_eq!(error("limt=3"), "unknown agent option 'limt'");
        assert_eq!(error("limit=x"), "agent option limit=x: must be a number");
        assert_eq!(error("cpu=0"), "agent option cpu=0: must be a rate from 1 to 10000");
    }
}
