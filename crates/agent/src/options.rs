//! What the agent was asked to do: what was chosen of [`quipu_kinds`], in the types that the agent works with.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use quipu_classfile::BlockAnalysis;
use quipu_kinds::Chosen;
use quipu_rewrite::{Bytecodes, Contexts, Counting, Exact, Plan, Selection, Weights, parse_classes};

/// The agent's options.
#[derive(Debug, Clone)]
pub struct Options {
    /// The kinds, and everything else as it was said.
    pub chosen: Chosen,
    /// Directory for the arena.
    pub directory: Option<PathBuf>,
    /// The arena itself, with `%p` and the like in its name.
    pub file: Option<String>,
    /// How long to wait before anything is measured.
    pub delay: Option<Duration>,
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
    /// Take everything out again when the process that attached is gone.
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

impl Options {
    /// Parses the text behind `-agentpath:libquipu_agent.so=`. Everything is counted unless something else is asked for.
    pub fn parse(text: &str) -> Result<Options, String> {
        let mut chosen = Chosen::parse(text).map_err(|wrong| wrong.0)?;
        if chosen.kinds().next().is_none() && !chosen.has("idle") && !chosen.has("stop") {
            chosen.set("exact", "").map_err(|wrong| wrong.0)?;
        }
        Options::of(chosen)
    }

    /// The options that were chosen, if they make sense together.
    pub fn of(chosen: Chosen) -> Result<Options, String> {
        chosen.check().map_err(|wrong| wrong.0)?;
        let weights = match chosen.get("weights") {
            Some(file) => {
                let text = std::fs::read_to_string(file);
                let text = text.map_err(|e| format!("cannot read the weights in {file}: {e}"))?;
                let weights = Weights::parse(&text).map_err(|e| format!("the weights in {file}: {e}"))?;
                Some((file.to_owned(), Arc::new(weights)))
            }
            None => None,
        };
        let mut selection = Selection::default();
        chosen.all("include").for_each(|pattern| selection.include(pattern));
        chosen.all("exclude").for_each(|pattern| selection.exclude(pattern));
        let agent = chosen.get("agent").and_then(|text| text.rsplit_once('='));
        Ok(Options {
            directory: chosen.get("dir").map(PathBuf::from),
            file: chosen.get("file").map(str::to_owned),
            delay: chosen.number("delay").filter(|&seconds| seconds > 0).map(Duration::from_secs),
            limit: chosen.number("arena-limit").unwrap_or_else(default_limit),
            analysis: analysis(chosen.get("bba").unwrap_or_default())?,
            contexts: match chosen.get("contexts") {
                Some("app") => Contexts::Application,
                Some("none") => Contexts::None,
                _ => Contexts::All,
            },
            sites: chosen.sites(),
            blocks: chosen.has("blocks"),
            allocations: chosen.has("allocations"),
            max_depth: chosen.number("max-depth").and_then(|n| u32::try_from(n).ok()).unwrap_or(u32::MAX),
            selection,
            threads: chosen.all("threads").map(str::to_owned).collect(),
            merge: match chosen.get("merge-threads") {
                Some("all") => MergeThreads::All,
                Some("never") => MergeThreads::Never,
                _ => MergeThreads::Name,
            },
            deterministic: chosen.has("deterministic"),
            agent: agent.map(|(jar, class)| JavaAgent { jar: jar.to_owned(), class: class.to_owned() }),
            bytecodes: chosen.has("bytecodes").then(|| BytecodeSampling {
                every: chosen.number("bytecodes").unwrap_or(1),
                jitter: chosen.number("jitter").unwrap_or(0),
                seed: chosen.number("seed").unwrap_or(0),
            }),
            weights,
            tests: chosen.get("tests").map(PathBuf::from),
            stop: chosen.has("stop"),
            held: chosen.has("held"),
            direct: false,
            chosen,
        })
    }

    /// Whether classes are rewritten.
    pub fn rewrites(&self) -> bool {
        self.chosen.rewrites()
    }

    /// Whether anything is inserted that looks at fields of threads whenever a method is called. The other kinds that rewrite classes
    /// find what they need in cursors, so the VM can keep its archive of classes.
    pub fn looks_at_fields(&self) -> bool {
        [&quipu_kinds::EXACT, &quipu_kinds::BYTECODES].iter().any(|kind| self.chosen.has(kind.name()))
    }

    /// Whether contexts and threads are told apart as with other options: trees can then be used for both.
    pub fn tells_apart_like(&self, other: &Options) -> bool {
        (self.sites, self.max_depth, self.contexts, self.merge, &self.threads)
            == (other.sites, other.max_depth, other.contexts, other.merge, &other.threads)
    }

    /// How classes are to be rewritten.
    pub fn plan(&self) -> Plan {
        let counting = if self.bytecodes.is_some() {
            Counting::Bytecodes(Bytecodes)
        } else {
            Counting::Exact(Exact {
                contexts: self.contexts,
                folds: self.max_depth != u32::MAX,
                sites: self.sites,
                blocks: self.blocks,
                allocations: self.allocations,
            })
        };
        Plan {
            counting,
            analysis: self.analysis,
            hide_once: self.tests.is_some(),
            selection: self.selection.clone(),
            weights: self.weights.as_ref().map(|(_, weights)| Arc::clone(weights)),
            ..Plan::new("java/quipu")
        }
    }
}

fn analysis(value: &str) -> Result<BlockAnalysis, String> {
    match value {
        "default" => Ok(BlockAnalysis::Default),
        "precise" => Ok(BlockAnalysis::Precise),
        list => parse_classes(list)
            .map(BlockAnalysis::Custom)
            .map_err(|unknown| format!("--bba {value}: {unknown}")),
    }
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
        let text = "exact,dir=/a%2Cb,arena-limit=77,bba=precise,max-depth=9,merge-threads=all";
        let o = Options::parse(text).unwrap();
        assert_eq!(o.directory.as_deref(), Some("/a,b".as_ref()));
        assert_eq!((o.limit, o.max_depth, o.merge), (77, 9, MergeThreads::All));
        assert_eq!(o.analysis, BlockAnalysis::Precise);
    }

    #[test]
    fn samples_have_defaults() {
        assert_eq!(Options::parse("exact").unwrap().bytecodes, None);
        let o = Options::parse("bytecodes=500,seed=7").unwrap();
        assert_eq!(o.bytecodes, Some(BytecodeSampling { every: 500, jitter: 100, seed: 7 }));
        assert!(o.plan().samples_bytecodes());
        assert!(Options::parse("bytecodes=0").is_err());
    }

    #[test]
    fn everything_is_counted_unless_something_else_is_asked_for() {
        let kinds = |text| Options::parse(text).map(|o| o.chosen.text()).unwrap();
        assert_eq!(kinds(""), "exact");
        assert_eq!(kinds("idle"), "idle");
        assert_eq!(kinds("cpu=100"), "cpu=100");
        assert_eq!(kinds("cpu,exact"), "exact,cpu=100");
    }
}
