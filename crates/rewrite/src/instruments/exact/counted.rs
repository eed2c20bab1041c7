//! What is inserted into a method that has a context of its own.
//!
//! | method | entry | calls | exits |
//! |---|---|---|---|
//! | leaf | find the slot, count the call | – | – |
//! | others | the same; node from the slot; publish the node's slot 0 | publish a slot | put the caller's slot back |
//!
//! Bytecodes are counted in one of three ways ([`Counter`]), all of which have everything in memory whenever something
//! is called: should the callee never return, or the process be killed in it, nothing is missing.
//!
//! They are counted in the *slot* through which the method was called, which is the caller's memory and warm. While the
//! method is active, its caller makes no other call, so the slot stays its own. Only where contexts are folded can the
//! caller be active a second time; then they are counted in the node.

use std::mem::take;

use quipu_classfile::opcode::{DUP2, POP2};
use quipu_classfile::{CodeEditor, EditError, Snippet, VerificationType};

use super::Settings;
use super::analysis::{Analysis, Counter};
use super::calls::Site;
use super::tallied::overrides_opaque;
use crate::activation::{self, Guard, Kept};
use crate::agreed::MOST_SLOTS;
use crate::instrument::MethodEdit;
use crate::probes::Probes;
use crate::retried::{insert_before_block, is_loop};
use crate::rewritten::lines;
use crate::{Shape, Treatment};

/// The local variables of a counted method; 0 if it has no such variable.
#[derive(Debug, Clone, Copy, Default)]
struct Locals {
    cursor: u16,
    /// The slot through which the method was called.
    slot: u16,
    /// What was published when the method was entered: the slot, unless class loading begins here.
    before: u16,
    node: u16,
    /// Where bytecodes are counted: the slot, or the node.
    home: u16,
    /// Bytecodes that are not in memory yet.
    count: u16,
    /// What a slot held before a call that may lead to an opaque method.
    seen: u16,
    /// The tally that was current when the method was entered, if class loading begins here.
    tally: u16,
}

/// A method that counts itself in its node, between the two turns of the instrument.
pub(super) struct Counted {
    analysis: Analysis,
    locals: Locals,
    loading: bool,
    /// Whether callers that have no slot to look at must learn that it ran.
    marks: bool,
    guard: Option<Guard>,
}

impl Counted {
    /// Inserts what counts the call, blocks, and calls of others.
    pub(super) fn before(
        edit: &mut MethodEdit<'_, '_, '_, '_>,
        with: Settings<'_>,
    ) -> Result<Counted, EditError> {
        let Settings { exact, plan, known } = with;
        let (method, loading) = (edit.method(), edit.treatment == Treatment::CountLoading);
        let class = method.class();
        let body = *edit.code.code();
        let analysis = Analysis::of(&edit.code, &method, with, loading);
        if analysis.calls.slots > MOST_SLOTS {
            return Err(EditError::TooLarge { size: body.bytes.len() as u32 });
        }
        let updates = if plan.activation {
            activation::updates(&analysis.one_way, &body, class.pool(), |block| plan.cost(block, &body))
        } else {
            Vec::new()
        };
        let delicate = plan.activation && activation::is_delicate(class.name(), method.name());
        let marks = exact.tallies() && overrides_opaque(&method, known);
        let (id, probes, locals) = (edit.id, edit.probes, Locals::default());
        let code = &mut edit.code;
        let mut inserter =
            Inserter { code, probes, with, analysis: &analysis, locals, loading, marks, guard: None };
        if analysis.leaf {
            inserter.leaf(id)?;
            activation::insert(inserter.code, probes, &updates, Kept::Nothing, false)?;
        } else {
            inserter.enter(id, delicate)?;
            inserter.blocks()?;
            let Locals { cursor, node, home, count, .. } = inserter.locals;
            let kept = match analysis.counter {
                Counter::Local => Kept::Count { cursor, node, home, count },
                _ => Kept::Node { cursor, node },
            };
            activation::insert(inserter.code, probes, &updates, kept, !delicate)?;
            inserter.before_calls()?;
        }
        let Inserter { locals, guard, .. } = inserter;
        Ok(Counted { analysis, locals, loading, marks, guard })
    }

    /// Inserts what goes behind calls and to exits.
    pub(super) fn after(
        &mut self,
        edit: &mut MethodEdit<'_, '_, '_, '_>,
        with: Settings<'_>,
    ) -> Result<(), EditError> {
        let Settings { exact, plan, .. } = with;
        let Counted { ref mut analysis, locals, loading, marks, guard } = *self;
        let (code, probes) = (&mut edit.code, edit.probes);
        let mut inserter = Inserter { code, probes, with, analysis, locals, loading, marks, guard };
        inserter.after_calls()?;
        if analysis.leaf {
            inserter.leaf_exits()?;
        } else {
            inserter.exits()?;
        }
        let (method, body) = (edit.method(), *edit.code.code());
        edit.shape = Some(Shape {
            id: edit.id,
            index: method.index(),
            // Slot 0 is for calls the VM makes, of which leaves have none.
            slots: if analysis.leaf && analysis.calls.sites.is_empty() { 0 } else { analysis.calls.slots },
            per_call: analysis.per_call,
            blocks: take(&mut analysis.counters.table),
            sites: take(&mut analysis.calls.bcis),
            derived: take(&mut analysis.calls.derived),
            // An agent is shown contexts, so leaves are contexts then.
            leaves: if plan.activation { Vec::new() } else { take(&mut analysis.calls.leaves) },
            lines: lines(&method, &body, exact.sites || exact.blocks),
            sampled: false,
            timed: None,
        });
        Ok(())
    }
}

/// Inserts the probes of one method.
struct Inserter<'m, 'e, 'c, 'a> {
    code: &'m mut CodeEditor<'e, 'c, 'a>,
    probes: &'m Probes,
    with: Settings<'m>,
    analysis: &'m Analysis,
    locals: Locals,
    loading: bool,
    marks: bool,
    guard: Option<Guard>,
}

impl Inserter<'_, '_, '_, '_> {
    fn leaf(&mut self, id: u32) -> Result<(), EditError> {
        let mut s = Snippet::new();
        let has_calls = !self.analysis.calls.sites.is_empty();
        self.probes.word(self.code.pool(), &mut s, id)?;
        self.probes.call(self.code.pool(), &mut s, "enter", "(I)J")?;
        if self.analysis.counter == Counter::Calls && !has_calls {
            return self.code.insert_entry(s.op(POP2));
        }
        self.locals.slot = self.code.new_local(VerificationType::Long)?;
        s.lstore(self.locals.slot);
        if has_calls || self.with.exact.folds {
            self.locals.node = self.code.new_local(VerificationType::Long)?;
            s.lload(self.locals.slot);
            self.probes.shared(self.code.pool(), &mut s, "node", "(J)J")?;
            s.lstore(self.locals.node);
        }
        self.begin_count(&mut s)?;
        self.code.insert_entry(&s)?;
        self.blocks()?;
        self.before_calls()
    }

    /// What cannot throw needs no handler.
    fn leaf_exits(&mut self) -> Result<(), EditError> {
        if self.analysis.counter == Counter::Local {
            let mut s = Snippet::new();
            self.add(&mut s)?;
            self.code.insert_before_returns(&s)?;
        }
        self.mark_before_returns()
    }

    fn mark_before_returns(&mut self) -> Result<(), EditError> {
        if self.marks {
            let mut s = Snippet::new();
            self.probes.tally(self.code.pool(), &mut s, "mark", "()V")?;
            self.code.insert_before_returns(&s)?;
        }
        Ok(())
    }

    fn enter(&mut self, id: u32, delicate: bool) -> Result<(), EditError> {
        let mut s = Snippet::new();
        let probes = self.probes;
        if probes.have_cursor() || self.with.plan.activation {
            let class = probes.cursor_class(self.code.pool())?;
            self.locals.cursor = self.code.new_local(VerificationType::Object(class))?;
            probes.find_cursor(self.code.pool(), &mut s)?;
            s.astore(self.locals.cursor);
        }
        self.locals.slot = self.code.new_local(VerificationType::Long)?;
        self.locals.node = self.code.new_local(VerificationType::Long)?;
        let cursor = self.locals.cursor;
        self.locals.before = self.locals.slot;
        if self.loading {
            self.locals.before = self.code.new_local(VerificationType::Long)?;
            probes.slot(self.code.pool(), &mut s, cursor)?;
            s.lstore(self.locals.before);
            if self.with.exact.tallies() {
                self.locals.tally = self.code.new_local(VerificationType::Long)?;
                probes.tally(self.code.pool(), &mut s, "current", "()J")?;
                s.lstore(self.locals.tally);
            }
        }
        probes.thread(&mut s, cursor);
        probes.thread(&mut s, cursor);
        probes.word(self.code.pool(), &mut s, id)?;
        let entrance = if self.loading { "enterLoading" } else { "enter" };
        probes.call(self.code.pool(), &mut s, entrance, "(@I)J")?;
        s.op(DUP2).lstore(self.locals.slot);
        probes.call(self.code.pool(), &mut s, "open", "(@J)J")?;
        s.lstore(self.locals.node);
        self.begin_count(&mut s)?;
        let looks = |site: &Site| matches!(site, Site::Possible { .. });
        if !self.with.exact.tallies() && self.analysis.calls.sites.iter().any(looks) {
            self.locals.seen = self.code.new_local(VerificationType::Long)?;
            s.long16(0).lstore(self.locals.seen);
        }
        let guard = match (self.with.plan.activation, self.loading) {
            (true, true) => Some(Guard::pause(self.code)?),
            (true, false) if delicate => Some(Guard::hold(self.code)?),
            _ => None,
        };
        if let Some(guard) = guard {
            guard.enter(self.code, probes, &mut s, cursor)?;
        }
        self.guard = guard;
        self.code.insert_entry(&s)
    }

    fn begin_count(&mut self, s: &mut Snippet) -> Result<(), EditError> {
        self.locals.home = if self.with.exact.folds { self.locals.node } else { self.locals.slot };
        if self.analysis.counter == Counter::Local {
            self.locals.count = self.code.new_local(VerificationType::Int)?;
            s.int16(0).istore(self.locals.count);
        }
        Ok(())
    }

    /// Counts blocks, and keeps the counter from overflowing in loops.
    fn blocks(&mut self) -> Result<(), EditError> {
        let body = *self.code.code();
        let Locals { home, count, node, .. } = self.locals;
        let mut s = Snippet::new();
        for (i, block) in self.analysis.blocks.iter().enumerate() {
            s.clear();
            let follows_from_calls = i == 0 && self.analysis.per_call != 0;
            match self.analysis.counter {
                Counter::Memory if !follows_from_calls => {
                    s.lload(home);
                    self.probes.int(self.code.pool(), &mut s, self.with.plan.cost(&block, &body))?;
                    self.probes.shared(self.code.pool(), &mut s, "count", "(JI)V")?;
                }
                Counter::Local => {
                    if is_loop(&body, &block) {
                        s.lload(home).iload(count);
                        self.probes.shared(self.code.pool(), &mut s, "loop", "(JI)I")?;
                        s.istore(count);
                    }
                    if !follows_from_calls {
                        s.iinc(count, self.with.plan.cost(&block, &body).cast_signed());
                    }
                }
                _ => {}
            }
            if !s.bytes().is_empty() {
                self.code.insert_before(block.start, &s)?;
            }
            if let Some(Some(counter)) = self.analysis.counters.of_block.get(i) {
                s.clear().lload(node);
                self.probes.int(self.code.pool(), &mut s, self.analysis.calls.slots)?;
                self.probes.int(self.code.pool(), &mut s, *counter)?;
                self.probes.shared(self.code.pool(), &mut s, "block", "(JII)V")?;
                insert_before_block(self.code, &block, &s)?;
            }
        }
        Ok(())
    }

    fn before_calls(&mut self) -> Result<(), EditError> {
        let Locals { node, seen, .. } = self.locals;
        let probes = self.probes;
        let mut s = Snippet::new();
        for site in &self.analysis.calls.sites {
            s.clear();
            let bci = match *site {
                Site::Publish { bci, slot } => {
                    self.publish(&mut s, slot)?;
                    bci
                }
                Site::Opaque { bci, slot, id, ends } => {
                    if ends {
                        self.store(&mut s)?;
                    }
                    s.lload(node);
                    probes.int(self.code.pool(), &mut s, slot)?;
                    if self.with.plan.activation {
                        probes.word(self.code.pool(), &mut s, id)?;
                        probes.shared(self.code.pool(), &mut s, "opaque", "(JII)V")?;
                    } else {
                        probes.shared(self.code.pool(), &mut s, "leaf", "(JI)V")?;
                    }
                    bci
                }
                // A callee that has no context leaves the slot as it was.
                Site::Possible { bci, slot, .. } if self.with.exact.tallies() => {
                    self.publish(&mut s, slot)?;
                    probes.tally(self.code.pool(), &mut s, "unmark", "()V")?;
                    bci
                }
                Site::Possible { bci, slot, .. } => {
                    self.publish(&mut s, slot)?;
                    s.lload(node);
                    probes.int(self.code.pool(), &mut s, slot)?;
                    probes.shared(self.code.pool(), &mut s, "seen", "(JI)J")?;
                    s.lstore(seen);
                    bci
                }
            };
            self.code.insert_before(bci, &s)?;
        }
        Ok(())
    }

    /// Counts opaque callees that were called where something else might have been.
    fn after_calls(&mut self) -> Result<(), EditError> {
        let Locals { node, seen, .. } = self.locals;
        let probes = self.probes;
        let mut s = Snippet::new();
        for site in &self.analysis.calls.sites {
            let Site::Possible { next, slot, leaf, id, .. } = *site else { continue };
            s.clear().lload(node);
            if self.with.exact.tallies() {
                probes.int(self.code.pool(), &mut s, leaf)?;
                probes.tally(self.code.pool(), &mut s, "unlessMarked", "(JI)V")?;
            } else {
                s.lload(seen);
                probes.int(self.code.pool(), &mut s, slot)?;
                probes.int(self.code.pool(), &mut s, leaf)?;
                if self.with.plan.activation {
                    probes.word(self.code.pool(), &mut s, id)?;
                    probes.shared(self.code.pool(), &mut s, "possible", "(JJIII)V")?;
                } else {
                    probes.shared(self.code.pool(), &mut s, "unlessCounted", "(JJII)V")?;
                }
            }
            self.code.insert_fall_through(next, &s)?;
        }
        Ok(())
    }

    fn publish(&mut self, s: &mut Snippet, slot: u32) -> Result<(), EditError> {
        let Locals { cursor, node, home, count, .. } = self.locals;
        self.probes.thread(s, cursor);
        s.lload(node);
        self.probes.int(self.code.pool(), s, slot)?;
        if self.analysis.counter == Counter::Local {
            s.lload(home).iload(count);
            self.probes.call(self.code.pool(), s, "at", "(@JIJI)V")?;
            s.int16(0).istore(count);
            return Ok(());
        }
        self.probes.call(self.code.pool(), s, "at", "(@JI)V")
    }

    /// Adds what is not in memory yet, and begins anew.
    fn store(&mut self, s: &mut Snippet) -> Result<(), EditError> {
        if self.analysis.counter == Counter::Local {
            self.add(s)?;
            s.int16(0).istore(self.locals.count);
        }
        Ok(())
    }

    fn add(&mut self, s: &mut Snippet) -> Result<(), EditError> {
        s.lload(self.locals.home).iload(self.locals.count);
        self.probes.shared(self.code.pool(), s, "count", "(JI)V")
    }

    fn exits(&mut self) -> Result<(), EditError> {
        let mut s = Snippet::new();
        let Locals { cursor, before, tally, home, count, .. } = self.locals;
        if let Some(guard) = self.guard {
            guard.leave(self.code, self.probes, &mut s, cursor)?;
        }
        if self.loading {
            self.probes.thread(&mut s, cursor);
            self.probes.call(self.code.pool(), &mut s, "loaded", "(@)V")?;
        }
        self.probes.thread(&mut s, cursor);
        s.lload(before);
        if self.analysis.counter == Counter::Local {
            s.lload(home).iload(count);
            self.probes.call(self.code.pool(), &mut s, "leave", "(@JJI)V")?;
        } else {
            self.probes.call(self.code.pool(), &mut s, "restore", "(@J)V")?;
        }
        if tally != 0 {
            s.lload(tally);
            self.probes.tally(self.code.pool(), &mut s, "restore", "(J)V")?;
        }
        self.code.insert_before_returns(&s)?;
        // Behind what puts back the tally of the caller: that is where the caller looks.
        self.mark_before_returns()?;
        self.code.catch_all(&s)
    }
}
