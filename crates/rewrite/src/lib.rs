//! The instrumentations: a pure function from a class and a [`Plan`] to new bytes.
//!
//! - It never changes a class's schema: code is inserted into existing methods, nothing is added to the class. So the
//!   same rewriting works when a class is loaded, when it is retransformed, and offline.
//! - It knows no JVM. Ids are given to it, and what it has to know of other classes it asks through [`Known`].
//! - A method that cannot be rewritten is left as it was, with the reason ([`Left`]); the others are not affected.
//!
//! [`exact`](mod@exact) inserts the probes of exact profiles; `docs/kinds/exact.md` describes the scheme. `sampling` inserts
//! those of samples every so many bytecodes; that is `docs/kinds/bytecodes.md`.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod activation;
mod aside;
mod calls;
mod classes;
mod counted;
mod counters;
pub mod exact;
pub mod kept;
mod leaf;
mod probes;
mod recursion;
mod sampling;
mod selection;
mod tallied;
mod treatment;
mod weights;
mod world;

pub use calls::Call;
pub use classes::{UnknownClass, parse_classes};
pub use exact::rewrite;
pub use selection::{Selection, glob, untouchable};
pub use treatment::{Treatment, is_opaque};
pub use weights::{BadWeights, Weights};
pub use world::{Callee, FindClass, OpaqueMethod, World};

use std::sync::Arc;

use quipu_classfile::{Block, BlockAnalysis, ClassFile, Code};

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
    /// Which methods have contexts.
    pub contexts: Contexts,
    /// Whether contexts below some depth are folded.
    pub folds: bool,
    /// Where blocks end.
    pub analysis: BlockAnalysis,
    /// Whether each call site has a slot of its own.
    pub sites: bool,
    /// Whether executions of blocks are counted.
    pub blocks: bool,
    /// Whether executions of those blocks are counted that make objects or arrays.
    pub allocations: bool,
    /// The user's filters.
    pub selection: Selection,
    /// Whether threads call a user's agent.
    pub activation: bool,
    /// Whether contexts are sampled every so many bytecodes, instead of counted.
    pub sampling: bool,
    /// What instructions count; one each if none.
    pub weights: Option<Arc<Weights>>,
}

impl Plan {
    /// Exact counts of everything by a runtime, in the default way.
    pub fn new(runtime: &'static str) -> Plan {
        Plan {
            runtime,
            relative_to: None,
            direct: false,
            contexts: Contexts::All,
            folds: false,
            analysis: BlockAnalysis::Default,
            sites: false,
            blocks: false,
            allocations: false,
            selection: Selection::default(),
            activation: false,
            weights: None,
            sampling: false,
        }
    }

    /// Whether anything in a class may have to be rewritten.
    pub fn touches(&self, class: &[u8]) -> bool {
        // The entrances of linking sit in untouchable classes.
        treatment::links(class) || (untouchable(class).is_none() && self.selection.class(class))
    }

    /// Whether some methods have no contexts.
    pub fn tallies(&self) -> bool {
        self.contexts != Contexts::All
    }

    /// What one execution of a block counts.
    pub fn cost(&self, block: &Block, code: &Code<'_>) -> u32 {
        match &self.weights {
            None => block.instructions,
            Some(weights) => weights.of_block(block, code),
        }
    }
}

/// Which methods have contexts, and how a class's methods are counted for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contexts {
    /// All methods have.
    All,
    /// The application's have, and pay for what others execute. So a class of the application is rewritten.
    Application,
    /// The same for a class that is not the application's: its methods are counted in tallies, and charge what they execute.
    Charged,
    /// None have: all methods are counted in tallies.
    None,
}

/// What the rewriter asks about other classes.
pub trait Known {
    /// The opaque method that a call runs, or may run.
    fn opaque(&self, call: &Call<'_>) -> Option<OpaqueCallee>;

    /// Whether a method of a class may run where somebody called an opaque one. Asked only where some methods have no
    /// contexts.
    fn overrides_opaque(&self, class: &ClassFile<'_>, name: &[u8], descriptor: &[u8]) -> bool {
        let _ = (class, name, descriptor);
        true
    }
}

/// An opaque method at the end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpaqueCallee {
    /// Its id.
    pub id: u32,
    /// Whether nothing else can be at the end of the call. If not, whether it was is known after the call: something
    /// else would have counted itself.
    pub certain: bool,
    /// Whether nothing is known of it but that it might be opaque. Who reads the counts must learn whether it was.
    pub presumed: bool,
}

/// What a node of a method looks like, and how to read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The method's id.
    pub id: u32,
    /// Its position in the class.
    pub index: usize,
    /// Slots of its nodes; slot 0 is for calls the VM makes.
    pub slots: u32,
    /// Bytecodes that every call executes and that are not counted otherwise.
    pub per_call: u32,
    /// Bytecode index of each slot's call, from slot 1 on, if slots are call sites.
    pub sites: Vec<u16>,
    /// Bytecode index, number of instructions and number of allocations of each counted block, in turn.
    pub blocks: Vec<u16>,
    /// Opaque methods that every call of this one calls once.
    pub derived: Vec<u32>,
    /// Slots that count calls of opaque methods, and the methods.
    pub leaves: Vec<[u32; 2]>,
    /// Bytecode index and line, in turn: all lines where a report can use them, else the first.
    pub lines: Vec<u16>,
    /// Whether its nodes have numbers of samples instead of calls and bytecodes.
    pub sampled: bool,
}

/// A method that was left as it was though it should have been counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Its position in the class.
    pub index: usize,
    /// Why.
    pub why: String,
}

/// What became of a class.
#[derive(Debug, Default)]
pub struct Rewritten {
    /// The new bytes; `None` if nothing changed.
    pub bytes: Option<Vec<u8>>,
    /// The methods that count themselves.
    pub shapes: Vec<Shape>,
    /// The methods that should but cannot.
    pub left: Vec<Left>,
}
