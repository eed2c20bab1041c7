//! Exact profiles: every method finds its node when it is entered and counts its bytecodes there, however it is left
//! (`counted.rs`), or is counted without a context (`tallied.rs`). Opaque methods count nothing; what they call is
//! hidden (`aside.rs`). `docs/kinds/exact.md` describes the scheme.

mod analysis;
mod aside;
mod calls;
mod counted;
mod counters;
mod tallied;

use quipu_classfile::{ClassFile, EditError, Snippet};

use super::Elsewhere;
use crate::call::makes_calls;
use crate::instrument::{Inserter, Instrument, MethodEdit};
use crate::{Known, Plan, Treatment};
pub use aside::Aside;
pub(super) use calls::{Calls, Site};
use counted::Counted;
use tallied::Tallied;

/// Exact counts: how they are taken.
#[derive(Debug, Clone, Default)]
pub struct Exact {
    /// Which methods have contexts.
    pub contexts: Contexts,
    /// Whether contexts below some depth are folded.
    pub folds: bool,
    /// Whether each call site has a slot of its own.
    pub sites: bool,
    /// Whether executions of blocks are counted.
    pub blocks: bool,
    /// Whether executions of those blocks are counted that make objects or arrays.
    pub allocations: bool,
}

/// Which methods have contexts, and how a class's methods are counted for that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Contexts {
    /// All methods.
    #[default]
    All,
    /// The application's methods, which pay for what others execute. So a class of the application is rewritten.
    Application,
    /// The same for a class that is not the application's: its methods are counted in tallies, and charge what they execute.
    Charged,
    /// None: all methods are counted in tallies.
    None,
}

impl Exact {
    /// Whether some methods have no contexts.
    pub fn tallies(&self) -> bool {
        self.contexts != Contexts::All
    }

    /// The same for a class that is not the application's.
    pub(crate) fn for_jdk(&self) -> Exact {
        let contexts = match self.contexts {
            Contexts::Application => Contexts::Charged,
            contexts => contexts,
        };
        Exact { contexts, ..*self }
    }
}

impl Instrument for Exact {
    fn name(&self) -> &'static str {
        "exact"
    }

    fn inserter<'p>(
        &'p self,
        _: &ClassFile<'_>,
        plan: &'p Plan,
        known: &'p dyn Known,
    ) -> Box<dyn Inserter + 'p> {
        Box::new(ExactInserter { with: Settings { exact: self, plan, known }, method: Method::Alone })
    }
}

/// What all methods of a class have in common.
#[derive(Clone, Copy)]
struct Settings<'p> {
    exact: &'p Exact,
    plan: &'p Plan,
    known: &'p dyn Known,
}

struct ExactInserter<'p> {
    with: Settings<'p>,
    method: Method,
}

/// What is known of a method between its two turns.
enum Method {
    /// Nothing is inserted.
    Alone,
    Counted(Counted),
    Tallied(Tallied),
    /// It counts nothing; what it calls is counted elsewhere.
    Aside(Aside),
}

impl Inserter for ExactInserter<'_> {
    fn before(&mut self, edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError> {
        self.method = Method::Alone;
        let elsewhere = match edit.treatment {
            Treatment::Count | Treatment::CountLoading => {
                self.method = match self.with.exact.contexts {
                    Contexts::All | Contexts::Application => {
                        Method::Counted(Counted::before(edit, self.with)?)
                    }
                    Contexts::Charged | Contexts::None => Method::Tallied(Tallied::before(edit, self.with)?),
                };
                return Ok(());
            }
            Treatment::Opaque => Elsewhere::Hidden,
            Treatment::Loading => Elsewhere::Loading,
            Treatment::Leave(_) => return Ok(()),
        };
        if makes_calls(edit.code.code()) {
            let mut s = Snippet::new();
            let aside = Aside::begin(&mut edit.code, edit.probes, self.with, &mut s, elsewhere)?;
            edit.code.insert_entry(&s)?;
            edit.aside = Some(aside).filter(Aside::hides);
            self.method = Method::Aside(aside);
        }
        Ok(())
    }

    fn after(&mut self, edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError> {
        match &mut self.method {
            Method::Alone => Ok(()),
            Method::Counted(counted) => counted.after(edit, self.with),
            Method::Tallied(tallied) => tallied.after(edit, self.with),
            Method::Aside(aside) => {
                let mut s = Snippet::new();
                aside.end(&mut edit.code, edit.probes, &mut s)?;
                edit.code.insert_before_returns(&s)?;
                edit.code.catch_all(&s)
            }
        }
    }
}
