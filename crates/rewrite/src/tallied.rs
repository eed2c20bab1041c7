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

use quipu_classfile::{ClassEditor, CodeEditor, EditError, Method, Snippet, VerificationType, access};

use crate::aside::{Aside, Elsewhere};
use crate::calls::Site;
use crate::counted::{Analysis, Counter, lines};
use crate::probes::Probes;
use crate::{Contexts, Known, Plan, Shape};

/// Makes a method count itself in its thread's tally.
pub fn count(
    editor: &mut ClassEditor<'_, '_>,
    probes: &Probes,
    method: Method<'_, '_>,
    id: u32,
    plan: &Plan,
    known: &dyn Known,
    loading: bool,
) -> Result<Shape, EditError> {
    let Some(code) = editor.edit_method(method.index())? else {
        return Err(EditError::BadSnippet("no code"));
    };
    let body = *code.code();
    let analysis = Analysis::of(&code, &method, plan, known, loading);
    let mut inserter = Inserter {
        code,
        probes,
        plan,
        analysis: &analysis,
        charges: plan.contexts == Contexts::Charged,
        marks: overrides_opaque(&method, known),
        aside: None,
        home: 0,
        payer: 0,
        count: 0,
    };
    inserter.enter(id, loading)?;
    inserter.blocks()?;
    inserter.calls()?;
    inserter.exits()?;
    inserter.code.finish()?;
    Ok(Shape {
        id,
        index: method.index(),
        slots: 0,
        per_call: analysis.per_call,
        blocks: Vec::new(),
        sites: Vec::new(),
        derived: analysis.calls.derived,
        leaves: Vec::new(),
        lines: lines(&method, &body, false),
        sampled: false,
    })
}

/// Whether a caller may have expected an opaque method in this one's place. It must then learn that this one ran.
pub fn overrides_opaque(method: &Method<'_, '_>, known: &dyn Known) -> bool {
    let bound = method.is(access::STATIC) || method.is(access::PRIVATE) || method.name().starts_with(b"<");
    !bound && known.overrides_opaque(method.class(), method.name(), method.descriptor())
}

/// Inserts the probes of one method. Local variables are 0 if it has no such variable.
struct Inserter<'m, 'e, 'c, 'a> {
    code: CodeEditor<'e, 'c, 'a>,
    probes: &'m Probes,
    plan: &'m Plan,
    analysis: &'m Analysis,
    /// Whether bytecodes are charged to a context, too.
    charges: bool,
    /// Whether callers must learn that it ran.
    marks: bool,
    /// If it loads classes: what it calls belongs to that.
    aside: Option<Aside>,
    /// Where bytecodes are counted.
    home: u16,
    /// Where they are charged.
    payer: u16,
    /// Bytecodes that are not in memory yet.
    count: u16,
}

impl Inserter<'_, '_, '_, '_> {
    fn enter(&mut self, id: u32, loading: bool) -> Result<(), EditError> {
        let mut s = Snippet::new();
        if loading {
            self.aside =
                Some(Aside::begin(&mut self.code, self.probes, self.plan, &mut s, Elsewhere::Loading)?);
        }
        self.probes.cell(self.code.pool(), &mut s, id)?;
        let per_call = self.analysis.per_call;
        if self.analysis.counter == Counter::Calls {
            self.probes.tally(self.code.pool(), &mut s, "call", "(I)V")?;
            if self.charges && per_call > 0 {
                self.probes.int(self.code.pool(), &mut s, per_call)?;
                self.probes.tally(self.code.pool(), &mut s, "charge", "(I)V")?;
            }
        } else {
            self.probes.tally(self.code.pool(), &mut s, "enter", "(I)J")?;
            self.home = self.code.new_local(VerificationType::Long)?;
            s.lstore(self.home);
            if self.charges {
                self.payer = self.code.new_local(VerificationType::Long)?;
                self.probes.tally(self.code.pool(), &mut s, "payer", "()J")?;
                s.lstore(self.payer);
                if per_call > 0 {
                    s.lload(self.payer);
                    self.probes.int(self.code.pool(), &mut s, per_call)?;
                    self.probes.shared(self.code.pool(), &mut s, "count", "(JI)V")?;
                }
            }
        }
        if self.analysis.counter == Counter::Local {
            self.count = self.code.new_local(VerificationType::Int)?;
            s.int16(0).istore(self.count);
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
                    self.probes.int(self.code.pool(), &mut s, self.plan.cost(&block, &body))?;
                    self.add_to_homes(&mut s)?;
                }
                Counter::Local => {
                    if block.is_loop_header {
                        self.homes(&mut s);
                        s.iload(self.count);
                        if self.charges {
                            self.probes.tally(self.code.pool(), &mut s, "loop", "(JJI)I")?;
                        } else {
                            self.probes.shared(self.code.pool(), &mut s, "loop", "(JI)I")?;
                        }
                        s.istore(self.count);
                    }
                    if !follows_from_calls {
                        s.iinc(self.count, self.plan.cost(&block, &body).cast_signed());
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

    fn calls(&mut self) -> Result<(), EditError> {
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
                Site::Possible { bci, next, id, .. } => {
                    self.probes.cell(self.code.pool(), &mut s, id)?;
                    self.probes.tally(self.code.pool(), &mut s, "unlessMarked", "(I)V")?;
                    self.code.insert_fall_through(next, &s)?;
                    s.clear();
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

    fn exits(&mut self) -> Result<(), EditError> {
        let mut s = Snippet::new();
        if self.analysis.counter == Counter::Local {
            self.add(&mut s)?;
        }
        if let Some(aside) = self.aside {
            aside.end(&mut self.code, self.probes, &mut s)?;
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
        let mut handler = always;
        self.code.catch_all(handler.athrow())
    }

    fn homes(&self, s: &mut Snippet) {
        s.lload(self.home);
        if self.charges {
            s.lload(self.payer);
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
        s.iload(self.count);
        self.add_to_homes(s)
    }

    /// The same, and begins anew.
    fn store(&mut self, s: &mut Snippet) -> Result<(), EditError> {
        if self.analysis.counter == Counter::Local {
            self.add(s)?;
            s.int16(0).istore(self.count);
        }
        Ok(())
    }
}
