//! What is inserted into a method that has no context of its own: it is counted in its thread's tally, in the cell that
//! belongs to its id, and nowhere else; or charged to the application's context that is active, too.
//!
//! | method | entry | blocks | calls | exits |
//! |---|---|---|---|---|
//! | one way through | count the call | – | – | – |
//! | others | the same; keep the cell's address | add to the cell | – | – |
//! | with loops, or finer blocks | the same | add to a local variable | add that to the cell | the same, in a handler too |
//!
//! Bytecodes are counted as they are in methods that have contexts (`counted.rs`), so the sums are the same.

use quipu_classfile::{CodeEditor, EditError, Method, Snippet, VerificationType, access};

use super::super::Elsewhere;
use super::analysis::{Analysis, Counter};
use super::aside::Aside;
use super::calls::Site;
use super::{Contexts, Settings};
use crate::instrument::MethodEdit;
use crate::probes::Probes;
use crate::retried::is_loop;
use crate::rewritten::lines;
use crate::{Known, Shape, Treatment};

/// A method that counts itself in its thread's tally, between the two turns of the instrument.
pub(super) struct Tallied {
    analysis: Analysis,
    locals: Locals,
    marks: bool,
    aside: Option<Aside>,
}

/// Its local variables; 0 if it has no such variable.
#[derive(Debug, Clone, Copy, Default)]
struct Locals {
    /// Where bytecodes are counted.
    home: u16,
    /// Where they are charged.
    payer: u16,
    /// Bytecodes that are not in memory yet.
    count: u16,
}

impl Tallied {
    /// Inserts what counts the call, blocks, and calls of opaque methods.
    pub(super) fn before(
        edit: &mut MethodEdit<'_, '_, '_, '_>,
        with: Settings<'_>,
    ) -> Result<Tallied, EditError> {
        let (method, loading) = (edit.method(), edit.treatment == Treatment::CountLoading);
        let analysis = Analysis::of(&edit.code, &method, with, loading);
        let mut tallied = Tallied {
            analysis,
            locals: Locals::default(),
            marks: overrides_opaque(&method, with.known),
            aside: None,
        };
        let id = edit.id;
        let mut inserter = Inserter::new(edit, with, &tallied);
        inserter.enter(id, loading)?;
        inserter.blocks()?;
        inserter.before_calls()?;
        (tallied.locals, tallied.aside) = (inserter.locals, inserter.aside);
        Ok(tallied)
    }

    /// Inserts what goes behind calls and to exits.
    pub(super) fn after(
        &mut self,
        edit: &mut MethodEdit<'_, '_, '_, '_>,
        with: Settings<'_>,
    ) -> Result<(), EditError> {
        let mut inserter = Inserter::new(edit, with, self);
        inserter.after_calls()?;
        inserter.exits()?;
        let (method, body) = (edit.method(), *edit.code.code());
        edit.shape = Some(Shape {
            id: edit.id,
            index: method.index(),
            slots: 0,
            per_call: self.analysis.per_call,
            blocks: Vec::new(),
            sites: Vec::new(),
            derived: std::mem::take(&mut self.analysis.calls.derived),
            leaves: Vec::new(),
            lines: lines(&method, &body, false),
            sampled: false,
            timed: None,
        });
        Ok(())
    }
}

/// Whether a caller may have expected an opaque method in this one's place. It must then learn that this one ran.
pub fn overrides_opaque(method: &Method<'_, '_>, known: &dyn Known) -> bool {
    let bound = method.is(access::STATIC) || method.is(access::PRIVATE) || method.name().starts_with(b"<");
    !bound && known.overrides_opaque(method.class(), method.name(), method.descriptor())
}

/// Inserts the probes of one method.
struct Inserter<'m, 'e, 'c, 'a> {
    code: &'m mut CodeEditor<'e, 'c, 'a>,
    probes: &'m Probes,
    with: Settings<'m>,
    analysis: &'m Analysis,
    locals: Locals,
    /// Whether bytecodes are charged to a context, too.
    charges: bool,
    /// Whether callers must learn that it ran.
    marks: bool,
    /// If it loads classes: what it calls belongs to that.
    aside: Option<Aside>,
}

impl<'m, 'e, 'c, 'a> Inserter<'m, 'e, 'c, 'a> {
    fn new(edit: &'m mut MethodEdit<'_, 'e, 'c, 'a>, with: Settings<'m>, method: &'m Tallied) -> Self {
        let Tallied { ref analysis, locals, marks, aside } = *method;
        let charges = with.exact.contexts == Contexts::Charged;
        Inserter { code: &mut edit.code, probes: edit.probes, with, analysis, locals, charges, marks, aside }
    }

    fn enter(&mut self, id: u32, loading: bool) -> Result<(), EditError> {
        let mut s = Snippet::new();
        if loading {
            self.aside = Some(Aside::begin(self.code, self.probes, self.with, &mut s, Elsewhere::Loading)?);
        }
        self.probes.cell(self.code.pool(), &mut s, id)?;
        let per_call = self.analysis.per_call;
        if self.analysis.counter == Counter::Calls {
            if self.charges && per_call > 0 {
                self.probes.int(self.code.pool(), &mut s, per_call)?;
                self.probes.tally(self.code.pool(), &mut s, "call", "(II)V")?;
            } else {
                self.probes.tally(self.code.pool(), &mut s, "call", "(I)V")?;
            }
        } else {
            self.probes.tally(self.code.pool(), &mut s, "enter", "(I)J")?;
            self.locals.home = self.code.new_local(VerificationType::Long)?;
            s.lstore(self.locals.home);
            if self.charges {
                self.locals.payer = self.code.new_local(VerificationType::Long)?;
                self.probes.tally(self.code.pool(), &mut s, "payer", "()J")?;
                s.lstore(self.locals.payer);
                if per_call > 0 {
                    s.lload(self.locals.payer);
                    self.probes.int(self.code.pool(), &mut s, per_call)?;
                    self.probes.shared(self.code.pool(), &mut s, "count", "(JI)V")?;
                }
            }
        }
        if self.analysis.counter == Counter::Local {
            self.locals.count = self.code.new_local(VerificationType::Int)?;
            s.int16(0).istore(self.locals.count);
        }
        self.code.insert_entry(&s)
    }

    fn blocks(&mut self) -> Result<(), EditError> {
        let body = *self.code.code();
        let mut s = Snippet::new();
        for (i, block) in self.analysis.blocks.iter().enumerate() {
            s.clear();
            let follows_from_calls = i == 0 && self.analysis.per_call != 0;
            match self.analysis.counter {
                Counter::Memory if !follows_from_calls => {
                    self.homes(&mut s);
                    self.probes.int(self.code.pool(), &mut s, self.with.plan.cost(&block, &body))?;
                    self.add_to_homes(&mut s)?;
                }
                Counter::Local => {
                    if is_loop(&body, &block) {
                        self.homes(&mut s);
                        s.iload(self.locals.count);
                        if self.charges {
                            self.probes.tally(self.code.pool(), &mut s, "loop", "(JJI)I")?;
                        } else {
                            self.probes.shared(self.code.pool(), &mut s, "loop", "(JI)I")?;
                        }
                        s.istore(self.locals.count);
                    }
                    if !follows_from_calls {
                        s.iinc(self.locals.count, self.with.plan.cost(&block, &body).cast_signed());
                    }
                }
                _ => {}
            }
            if !s.bytes().is_empty() {
                self.code.insert_before(block.start, &s)?;
            }
        }
        Ok(())
    }

    fn before_calls(&mut self) -> Result<(), EditError> {
        let mut s = Snippet::new();
        for site in &self.analysis.calls.sites {
            s.clear();
            let bci = match *site {
                Site::Publish { bci, .. } => {
                    self.store(&mut s)?;
                    bci
                }
                Site::Opaque { bci, id, ends, .. } => {
                    if ends {
                        self.store(&mut s)?;
                    }
                    self.probes.cell(self.code.pool(), &mut s, id)?;
                    self.probes.tally(self.code.pool(), &mut s, "call", "(I)V")?;
                    bci
                }
                Site::Possible { bci, .. } => {
                    self.store(&mut s)?;
                    self.probes.tally(self.code.pool(), &mut s, "unmark", "()V")?;
                    bci
                }
            };
            if !s.bytes().is_empty() {
                self.code.insert_before(bci, &s)?;
            }
        }
        Ok(())
    }

    /// Counts opaque callees that were called where something else might have been.
    fn after_calls(&mut self) -> Result<(), EditError> {
        let mut s = Snippet::new();
        for site in &self.analysis.calls.sites {
            let Site::Possible { next, id, .. } = *site else { continue };
            s.clear();
            self.probes.cell(self.code.pool(), &mut s, id)?;
            self.probes.tally(self.code.pool(), &mut s, "unlessMarked", "(I)V")?;
            self.code.insert_fall_through(next, &s)?;
        }
        Ok(())
    }

    fn exits(&mut self) -> Result<(), EditError> {
        let mut s = Snippet::new();
        if self.analysis.counter == Counter::Local {
            self.add(&mut s)?;
        }
        if let Some(aside) = self.aside {
            aside.end(self.code, self.probes, &mut s)?;
        }
        let always = s.clone();
        if self.marks {
            self.probes.tally(self.code.pool(), &mut s, "mark", "()V")?;
        }
        if !s.bytes().is_empty() {
            self.code.insert_before_returns(&s)?;
        }
        // What cannot throw needs no handler.
        if always.bytes().is_empty() || self.analysis.leaf {
            return Ok(());
        }
        self.code.catch_all(&always)
    }

    fn homes(&self, s: &mut Snippet) {
        s.lload(self.locals.home);
        if self.charges {
            s.lload(self.locals.payer);
        }
    }

    fn add_to_homes(&mut self, s: &mut Snippet) -> Result<(), EditError> {
        if self.charges {
            self.probes.tally(self.code.pool(), s, "count", "(JJI)V")
        } else {
            self.probes.shared(self.code.pool(), s, "count", "(JI)V")
        }
    }

    /// Adds what is not in memory yet.
    fn add(&mut self, s: &mut Snippet) -> Result<(), EditError> {
        self.homes(s);
        s.iload(self.locals.count);
        self.add_to_homes(s)
    }

    /// The same, and begins anew.
    fn store(&mut self, s: &mut Snippet) -> Result<(), EditError> {
        if self.analysis.counter == Counter::Local {
            self.add(s)?;
            s.int16(0).istore(self.locals.count);
        }
        Ok(())
    }
}
