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

use quipu_classfile::opcode::{DUP2, POP2};
use quipu_classfile::{
    BlockAnalysis, Blocks, ClassEditor, Code, CodeEditor, EditError, Method, Snippet, VerificationType,
};

use crate::activation::{self, Guard, Kept};
use crate::calls::{Calls, Site};
use crate::counters::Counters;
use crate::leaf::{is_leaf, safe_prefix};
use crate::probes::Probes;
use crate::tallied::overrides_opaque;
use crate::{Contexts, Known, Plan, Shape};

/// Slots a node can have at most; the arena's limit.
const MOST_SLOTS: u32 = 20_000;

/// How a method counts what it executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counter {
    /// Not at all: it follows from the number of calls.
    Calls,
    /// Each block but the first adds to memory. The first follows from the number of calls.
    Memory,
    /// In a local variable, which is added to memory before calls and on exit: for loops, and where blocks are many.
    Local,
}

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

/// What is known of a method before anything is inserted.
pub(crate) struct Analysis {
    pub leaf: bool,
    pub counter: Counter,
    /// Bytecodes that follow from each call.
    pub per_call: u32,
    /// The blocks that are counted.
    pub blocks: Blocks,
    /// Those of the default analysis.
    one_way: Blocks,
    counters: Counters,
    pub calls: Calls,
}

impl Analysis {
    pub fn of(
        code: &CodeEditor<'_, '_, '_>,
        method: &Method<'_, '_>,
        plan: &Plan,
        known: &dyn Known,
        loading: bool,
    ) -> Analysis {
        let body = *code.code();
        let one_way = code.blocks(BlockAnalysis::Default);
        // An agent's turn may come in a loop, and the agent must be shown what was counted.
        let agent_in_loop = plan.activation && one_way.has_loops();
        let leaf = !loading && !plan.blocks && !agent_in_loop && is_leaf(method, &body);
        let first = one_way.iter().next().filter(|block| !block.is_loop_header);
        // What lies in the first block, and not in a loop, is executed once by every call.
        let prefix = first.map_or(0, |block| safe_prefix(method, &body).min(block.end));
        let mut calls =
            Calls::find(&body, method.class().pool(), plan.sites, prefix, !plan.activation, known);
        if plan.contexts == Contexts::Application {
            calls.leave_every_second_slot();
        }
        // That a block is counted at its start is what the default analysis means. Where it matters how far a block got,
        // the same holds only if nothing can stop it halfway: no exception, and no callee that ends the process.
        let whole_blocks = leaf || plan.analysis == BlockAnalysis::Default;
        let blocks = if whole_blocks { one_way.clone() } else { code.blocks(plan.analysis) };
        let (counter, per_call) = if !whole_blocks {
            (Counter::Local, 0)
        } else if one_way.is_straight_line() {
            (Counter::Calls, one_way.iter().map(|block| plan.cost(&block, &body)).sum())
        } else {
            let counter = if one_way.has_loops() { Counter::Local } else { Counter::Memory };
            (counter, first.map_or(0, |block| plan.cost(&block, &body)))
        };
        let counters = Counters::new(plan, &blocks, &body);
        Analysis { leaf, counter, per_call, blocks, one_way, counters, calls }
    }
}

/// Makes a method count itself.
pub fn count(
    editor: &mut ClassEditor<'_, '_>,
    probes: &Probes,
    method: Method<'_, '_>,
    id: u32,
    plan: &Plan,
    known: &dyn Known,
    loading: bool,
) -> Result<Shape, EditError> {
    let class = method.class();
    let Some(code) = editor.edit_method(method.index())? else {
        return Err(EditError::BadSnippet("no code"));
    };
    let body = *code.code();
    let analysis = Analysis::of(&code, &method, plan, known, loading);
    if analysis.calls.slots > MOST_SLOTS {
        return Err(EditError::TooLarge { size: body.bytes.len() as u32 });
    }
    let updates = if plan.activation {
        activation::updates(&analysis.one_way, &body, class.pool(), |block| plan.cost(block, &body))
    } else {
        Vec::new()
    };
    let delicate = plan.activation && activation::is_delicate(class.name(), method.name());
    let marks = plan.tallies() && overrides_opaque(&method, known);
    let mut inserter =
        Inserter { code, probes, plan, analysis: &analysis, locals: Locals::default(), loading, marks };
    if analysis.leaf {
        inserter.leaf(id)?;
        activation::insert(&mut inserter.code, probes, &updates, Kept::Nothing, false)?;
    } else {
        let guard = inserter.enter(id, delicate)?;
        inserter.blocks()?;
        let Locals { cursor, node, home, count, .. } = inserter.locals;
        let kept = match analysis.counter {
            Counter::Local => Kept::Count { cursor, node, home, count },
            _ => Kept::Node { cursor, node },
        };
        activation::insert(&mut inserter.code, probes, &updates, kept, !delicate)?;
        inserter.calls()?;
        inserter.exits(guard)?;
    }
    inserter.code.finish()?;
    Ok(Shape {
        id,
        index: method.index(),
        // Slot 0 is for calls the VM makes, of which leaves have none.
        slots: if analysis.leaf && analysis.calls.sites.is_empty() { 0 } else { analysis.calls.slots },
        per_call: analysis.per_call,
        blocks: analysis.counters.table,
        sites: analysis.calls.bcis,
        derived: analysis.calls.derived,
        // An agent is shown contexts, so leaves are contexts then.
        leaves: if plan.activation { Vec::new() } else { analysis.calls.leaves },
        lines: lines(&method, &body, plan.sites || plan.blocks),
        sampled: false,
    })
}

/// Inserts the probes of one method.
struct Inserter<'m, 'e, 'c, 'a> {
    code: CodeEditor<'e, 'c, 'a>,
    probes: &'m Probes,
    plan: &'m Plan,
    analysis: &'m Analysis,
    locals: Locals,
    loading: bool,
    /// Whether callers that have no slot to look at must learn that it ran.
    marks: bool,
}

impl Inserter<'_, '_, '_, '_> {
    fn leaf(&mut self, id: u32) -> Result<(), EditError> {
        let mut s = Snippet::new();
        let has_calls = !self.analysis.calls.sites.is_empty();
        self.probes.word(self.code.pool(), &mut s, id)?;
        self.probes.call(self.code.pool(), &mut s, "enter", "(I)J")?;
        if self.analysis.counter == Counter::Calls && !has_calls {
            self.code.insert_entry(s.op(POP2))?;
            return self.mark_before_returns();
        }
        self.locals.slot = self.code.new_local(VerificationType::Long)?;
        s.lstore(self.locals.slot);
        if has_calls || self.plan.folds {
            self.locals.node = self.code.new_local(VerificationType::Long)?;
            s.lload(self.locals.slot);
            self.probes.shared(self.code.pool(), &mut s, "node", "(J)J")?;
            s.lstore(self.locals.node);
        }
        self.begin_count(&mut s)?;
        self.code.insert_entry(&s)?;
        self.blocks()?;
        self.calls()?;
        if self.analysis.counter == Counter::Local {
            s.clear();
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

    fn enter(&mut self, id: u32, delicate: bool) -> Result<Option<Guard>, EditError> {
        let mut s = Snippet::new();
        let probes = self.probes;
        if probes.have_cursor() || self.plan.activation {
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
            if self.plan.tallies() {
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
        if !self.plan.tallies() && self.analysis.calls.sites.iter().any(looks) {
            self.locals.seen = self.code.new_local(VerificationType::Long)?;
            s.long16(0).lstore(self.locals.seen);
        }
        let guard = match (self.plan.activation, self.loading) {
            (true, true) => Some(Guard::pause(&mut self.code)?),
            (true, false) if delicate => Some(Guard::hold(&mut self.code)?),
            _ => None,
        };
        if let Some(guard) = guard {
            guard.enter(&mut self.code, probes, &mut s, cursor)?;
        }
        self.code.insert_entry(&s)?;
        Ok(guard)
    }

    fn begin_count(&mut self, s: &mut Snippet) -> Result<(), EditError> {
        self.locals.home = if self.plan.folds { self.locals.node } else { self.locals.slot };
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
                    self.probes.int(self.code.pool(), &mut s, self.plan.cost(&block, &body))?;
                    self.probes.shared(self.code.pool(), &mut s, "count", "(JI)V")?;
                }
                Counter::Local => {
                    if block.is_loop_header {
                        s.lload(home).iload(count);
                        self.probes.shared(self.code.pool(), &mut s, "loop", "(JI)I")?;
                        s.istore(count);
                    }
                    if !follows_from_calls {
                        s.iinc(count, self.plan.cost(&block, &body).cast_signed());
                    }
                }
                _ => {}
            }
            if let Some(Some(counter)) = self.analysis.counters.of_block.get(i) {
                s.lload(node);
                self.probes.int(self.code.pool(), &mut s, self.analysis.calls.slots)?;
                self.probes.int(self.code.pool(), &mut s, *counter)?;
                self.probes.shared(self.code.pool(), &mut s, "block", "(JII)V")?;
            }
            if !s.bytes().is_empty() {
                self.code.insert_before(block.start, &s)?;
            }
        }
        Ok(())
    }

    fn calls(&mut self) -> Result<(), EditError> {
        let Locals { node, seen, .. } = self.locals;
        let probes = self.probes;
        let mut s = Snippet::new();
        for site in &self.analysis.calls.sites {
            s.clear();
            match *site {
                Site::Publish { bci, slot } => {
                    self.publish(&mut s, slot)?;
                    self.code.insert_before(bci, &s)?;
                }
                Site::Opaque { bci, slot, id, ends } => {
                    if ends {
                        self.store(&mut s)?;
                    }
                    s.lload(node);
                    probes.int(self.code.pool(), &mut s, slot)?;
                    if self.plan.activation {
                        probes.word(self.code.pool(), &mut s, id)?;
                        probes.shared(self.code.pool(), &mut s, "opaque", "(JII)V")?;
                    } else {
                        probes.shared(self.code.pool(), &mut s, "leaf", "(JI)V")?;
                    }
                    self.code.insert_before(bci, &s)?;
                }
                // A callee that has no context leaves the slot as it was.
                Site::Possible { bci, next, slot, leaf, .. } if self.plan.tallies() => {
                    self.publish(&mut s, slot)?;
                    probes.tally(self.code.pool(), &mut s, "unmark", "()V")?;
                    self.code.insert_before(bci, &s)?;
                    s.clear().lload(node);
                    probes.int(self.code.pool(), &mut s, leaf)?;
                    probes.tally(self.code.pool(), &mut s, "unlessMarked", "(JI)V")?;
                    self.code.insert_fall_through(next, &s)?;
                }
                Site::Possible { bci, next, slot, leaf, id } => {
                    self.publish(&mut s, slot)?;
                    s.lload(node);
                    probes.int(self.code.pool(), &mut s, slot)?;
                    probes.shared(self.code.pool(), &mut s, "seen", "(JI)J")?;
                    s.lstore(seen);
                    self.code.insert_before(bci, &s)?;
                    s.clear().lload(node).lload(seen);
                    probes.int(self.code.pool(), &mut s, slot)?;
                    probes.int(self.code.pool(), &mut s, leaf)?;
                    if self.plan.activation {
                        probes.word(self.code.pool(), &mut s, id)?;
                        probes.shared(self.code.pool(), &mut s, "possible", "(JJIII)V")?;
                    } else {
                        probes.shared(self.code.pool(), &mut s, "unlessCounted", "(JJII)V")?;
                    }
                    self.code.insert_fall_through(next, &s)?;
                }
            }
        }
        Ok(())
    }

    fn publish(&mut self, s: &mut Snippet, slot: u32) -> Result<(), EditError> {
        self.store(s)?;
        self.probes.thread(s, self.locals.cursor);
        s.lload(self.locals.node);
        self.probes.int(self.code.pool(), s, slot)?;
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

    fn exits(&mut self, guard: Option<Guard>) -> Result<(), EditError> {
        let mut s = Snippet::new();
        let Locals { cursor, before, tally, .. } = self.locals;
        if let Some(guard) = guard {
            guard.leave(&mut self.code, self.probes, &mut s, cursor)?;
        }
        if self.loading {
            self.probes.thread(&mut s, cursor);
            self.probes.call(self.code.pool(), &mut s, "loaded", "(@)V")?;
        }
        if self.analysis.counter == Counter::Local {
            self.add(&mut s)?;
        }
        self.probes.thread(&mut s, cursor);
        s.lload(before);
        self.probes.call(self.code.pool(), &mut s, "restore", "(@J)V")?;
        if tally != 0 {
            s.lload(tally);
            self.probes.tally(self.code.pool(), &mut s, "restore", "(J)V")?;
        }
        self.code.insert_before_returns(&s)?;
        // Behind what puts back the tally of the caller, who looks there.
        self.mark_before_returns()?;
        self.code.catch_all(s.athrow())
    }
}

/// Bytecode indices and lines, in turn; only the first unless `all`.
pub(crate) fn lines(method: &Method<'_, '_>, code: &Code<'_>, all: bool) -> Vec<u16> {
    let Some(table) = code.attributes.find(method.class().pool(), b"LineNumberTable") else {
        return Vec::new();
    };
    let rows = table.data.get(2..).unwrap_or_default().chunks_exact(4);
    let rows = rows.take(if all { usize::MAX } else { 1 });
    rows.flat_map(|row| {
        row.chunks_exact(2).map(|half| half.iter().fold(0, |n, &byte| n << 8 | u16::from(byte)))
    })
    .collect()
}
