//! What is inserted into classes, and how.

use std::sync::Arc;

use quipu_classfile::{Block, BlockAnalysis, Code};

use crate::instrument::Instrument;
use crate::instruments::{Bytecodes, Contexts, Exact, Timed};
use crate::selection::{Selection, untouchable};
use crate::treatment;
use crate::weights::Weights;

/// HotSpot compiles no method with more bytes of code (`HugeMethodLimit`), unless it is told to (`-XX:-DontCompileHugeMethods`).
pub const LONGEST_COMPILED: u32 = 8000;

/// How classes are rewritten.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Package of the runtime that inserted code calls, as an internal name.
    pub runtime: &'static str,
    /// Internal name of a class whose static int `WORD` is added to every method word. For code rewritten before it
    /// is known which ids are free; a constant to the JIT all the same.
    pub relative_to: Option<String>,
    /// Whether threads have the published slot in a field of their own.
    pub direct: bool,
    /// The user's filters.
    pub selection: Selection,
    /// Where blocks end.
    pub analysis: BlockAnalysis,
    /// What instructions count; one each if none.
    pub weights: Option<Arc<Weights>>,
    /// Whether what the JDK does once and keeps, whoever asks first, is in no context.
    pub hide_once: bool,
    /// Whether threads call a user's agent.
    pub activation: bool,
    /// What a method may become no longer than. Without, it may get longer than [`LONGEST_COMPILED`], and says so.
    pub longest: Option<u32>,
    /// What counts bytecodes: the outermost instrument.
    pub counting: Counting,
    /// The instruments inside of that, the outermost first.
    pub others: Vec<Arc<dyn Instrument>>,
}

/// How bytecodes are counted. One way at a time: each keeps track of the context that a thread is in by its own means.
#[derive(Debug, Clone)]
pub enum Counting {
    /// Not at all.
    Off,
    /// In nodes and tallies.
    Exact(Exact),
    /// Down to the next sample.
    Bytecodes(Bytecodes),
}

impl Plan {
    /// Exact counts of everything by a runtime, in the default way.
    pub fn new(runtime: &'static str) -> Plan {
        Plan {
            runtime,
            relative_to: None,
            direct: false,
            selection: Selection::default(),
            analysis: BlockAnalysis::Default,
            weights: None,
            hide_once: false,
            activation: false,
            longest: None,
            counting: Counting::Exact(Exact::default()),
            others: Vec::new(),
        }
    }

    /// The instruments, the outermost first, and whether they count.
    pub(crate) fn instruments(&self) -> impl Iterator<Item = (&dyn Instrument, bool)> {
        let counting: Option<&dyn Instrument> = match &self.counting {
            Counting::Off => None,
            Counting::Exact(exact) => Some(exact),
            Counting::Bytecodes(bytecodes) => Some(bytecodes),
        };
        let others = self.others.iter().map(|other| (&**other, false));
        counting.into_iter().map(|counting| (counting, true)).chain(others)
    }

    /// Whether anything in a class may have to be rewritten.
    pub fn touches(&self, class: &[u8]) -> bool {
        // The entrances of linking sit in untouchable classes.
        treatment::links(class) || (untouchable(class).is_none() && self.selection.class(class))
    }

    /// The settings of exact counts, if that is how bytecodes are counted.
    pub fn exact(&self) -> Option<&Exact> {
        match &self.counting {
            Counting::Exact(exact) => Some(exact),
            Counting::Off | Counting::Bytecodes(_) => None,
        }
    }

    /// Whether nothing is inserted but what times the methods below a root.
    pub fn is_only_timed(&self) -> bool {
        !self.counts() && self.others.iter().all(|other| other.name() == Timed::NAME)
    }

    /// Whether bytecodes are counted, one way or the other.
    pub fn counts(&self) -> bool {
        !matches!(self.counting, Counting::Off)
    }

    /// Whether bytecodes are counted down to the next sample.
    pub fn samples_bytecodes(&self) -> bool {
        matches!(self.counting, Counting::Bytecodes(_))
    }

    /// Whether some methods are counted without contexts.
    pub fn tallies(&self) -> bool {
        self.exact().is_some_and(Exact::tallies)
    }

    /// Whether threads publish the context that they are in.
    pub fn publishes(&self) -> bool {
        self.exact().is_some_and(|exact| exact.contexts != Contexts::None)
    }

    /// Whether a class that is not the application's is rewritten in another way ([`Plan::for_jdk`]).
    pub fn differs_for_jdk(&self) -> bool {
        self.exact().is_some_and(|exact| exact.contexts == Contexts::Application)
    }

    /// The same for a class that is not the application's.
    pub fn for_jdk(&self) -> Plan {
        let counting = match &self.counting {
            Counting::Exact(exact) => Counting::Exact(exact.for_jdk()),
            counting => counting.clone(),
        };
        Plan { counting, ..self.clone() }
    }

    /// What one execution of a block counts.
    pub fn cost(&self, block: &Block, code: &Code<'_>) -> u32 {
        match &self.weights {
            None => block.instructions,
            Some(weights) => weights.of_block(block, code),
        }
    }
}
