//! Samples every so many bytecodes: each thread keeps its call stack as an array of methods, counts bytecodes down, and
//! when none are left looks at the array.
//!
//! | method | entry | blocks | exits |
//! |---|---|---|---|
//! | leaf, one way through | – | – | spend its length |
//! | leaf with branches | – | count in a local variable | spend the count |
//! | others, one way through | push | – | pop, spend the length |
//! | others | push | count in a local variable | pop, spend the count |
//!
//! What a call counts is spent when it is left, or in a loop once it is much. Whenever that is, the sample it brings
//! about belongs to the context that counted, so every context is sampled in proportion to what it executed: the
//! conditional in each block that section 5.2 of Binder's paper asks for is not needed.
//!
//! A sample that is due is written down, and taken by a loop that calls, a method that calls anyway, or one that is recursive:
//! a call in every method, even one that hardly ever happens, costs more than all the rest.
//!
//! A pop puts the stack pointer back to what it was, so a mistake cannot travel up the stack. Exceptions that pass the
//! call of `super()` in a constructor, which no handler covers, are set right by the method that catches them.

mod aside;
mod loops;
mod recursion;

use quipu_classfile::opcode::MONITORENTER;
use quipu_classfile::{
    BlockAnalysis, Blocks, ClassFile, Code, CodeEditor, EditError, Method, Snippet, VerificationType, access,
};

use super::Elsewhere;
use crate::activation;
use crate::call::makes_calls;
use crate::instrument::{Inserter, Instrument, MethodEdit};
use crate::leaf::is_leaf;
use crate::probes::Probes;
use crate::retried::{insert_before_block, is_loop};
use crate::rewritten::lines;
use crate::{Known, Plan, Shape, Treatment};
use aside::Aside;
use loops::Loops;
use recursion::recursive_methods;

/// Samples every so many bytecodes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bytecodes;

impl Instrument for Bytecodes {
    fn name(&self) -> &'static str {
        "bytecodes"
    }

    fn inserter<'p>(
        &'p self,
        class: &ClassFile<'_>,
        plan: &'p Plan,
        _: &'p dyn Known,
    ) -> Box<dyn Inserter + 'p> {
        Box::new(BytecodesInserter {
            plan,
            recursive: recursive_methods(class, LARGE),
            counted: None,
            aside: None,
        })
    }
}

struct BytecodesInserter<'p> {
    plan: &'p Plan,
    /// Which methods may call themselves. They take samples that are due: there may be no other to do so for as long as
    /// they like.
    recursive: Vec<bool>,
    /// What is known of the method between its two turns: if it counts,
    counted: Option<Counted>,
    /// and if it does not.
    aside: Option<Aside>,
}

impl Inserter for BytecodesInserter<'_> {
    fn before(&mut self, edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError> {
        let elsewhere = match edit.treatment {
            Treatment::Count | Treatment::CountLoading => {
                let recursive = self.recursive.get(edit.method().index()) == Some(&true);
                self.counted = Some(Counted::before(edit, self.plan, recursive)?);
                return Ok(());
            }
            Treatment::Opaque => Elsewhere::Hidden,
            Treatment::Loading => Elsewhere::Loading,
            Treatment::Leave(_) => return Ok(()),
        };
        if makes_calls(edit.code.code()) {
            let mut s = Snippet::new();
            self.aside = Some(Aside::begin(&mut edit.code, edit.probes, &mut s, elsewhere)?);
            edit.code.insert_entry(&s)?;
        }
        Ok(())
    }

    fn after(&mut self, edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError> {
        if let Some(counted) = self.counted.take() {
            return counted.after(edit);
        }
        let Some(aside) = self.aside.take() else { return Ok(()) };
        let mut s = Snippet::new();
        aside.end(&mut edit.code, edit.probes, &mut s)?;
        edit.code.insert_before_returns(&s)?;
        edit.code.catch_all(&s)
    }
}

/// A method that is larger than HotSpot inlines even where it is hot (`FreqInlineSize`).
const LARGE: usize = 325;

/// Whether a method is not inlined, or locks: then it can just as well take samples that are due, which is a call.
fn calls_anyway(method: &Method<'_, '_>, code: &Code<'_>) -> bool {
    code.bytes.len() > LARGE
        || method.is(access::SYNCHRONIZED)
        || code.instructions().map_while(Result::ok).any(|i| i.opcode == MONITORENTER)
}

/// A method that counts bytecodes down, between the two turns of the instrument.
#[derive(Debug, Clone, Copy)]
struct Counted {
    /// Where the method is on the stack; none for leaves.
    at: Option<u16>,
    /// Bytecodes that are not spent yet; none if it is always the same number.
    count: Option<u16>,
    length: u32,
    /// Whether it takes samples that are due.
    takes: bool,
    aside: Option<Aside>,
    /// Whether the user's agent had to wait before; none if the method does not make it wait.
    held: Option<u16>,
}

impl Counted {
    fn before(
        edit: &mut MethodEdit<'_, '_, '_, '_>,
        plan: &Plan,
        recursive: bool,
    ) -> Result<Counted, EditError> {
        let (method, loading) = (edit.method(), edit.treatment == Treatment::CountLoading);
        let body = *edit.code.code();
        let blocks = edit.code.blocks(plan.analysis);
        let one_way = edit.code.blocks(BlockAnalysis::Default);
        let leaf = !loading && is_leaf(&method, &body);
        // As in exact profiles: the whole length, unless it matters how far an exception let it get.
        let straight = one_way.is_straight_line() && (leaf || plan.analysis == BlockAnalysis::Default);
        let length: u32 = one_way.iter().map(|block| plan.cost(&block, &body)).sum();
        let takes = recursive || calls_anyway(&method, &body);
        let counted = Counted { at: None, count: None, length, takes, aside: None, held: None };
        let mut editing = Editing { code: &mut edit.code, probes: edit.probes, id: edit.id, method: counted };
        let delicate = plan.activation && activation::is_delicate(method.class().name(), method.name());
        editing.enter(leaf, straight, loading, delicate)?;
        if !straight {
            editing.blocks(&blocks, plan)?;
        }
        editing.handlers(&one_way)?;
        Ok(editing.method)
    }

    fn after(self, edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError> {
        let (method, body) = (edit.method(), *edit.code.code());
        Editing { code: &mut edit.code, probes: edit.probes, id: edit.id, method: self }.exits()?;
        edit.shape = Some(Shape {
            id: edit.id,
            index: method.index(),
            slots: 0,
            per_call: 0,
            sites: Vec::new(),
            blocks: Vec::new(),
            derived: Vec::new(),
            leaves: Vec::new(),
            lines: lines(&method, &body, false),
            sampled: true,
            timed: None,
        });
        Ok(())
    }
}

/// Inserts the probes of one method.
struct Editing<'m, 'e, 'c, 'a> {
    code: &'m mut CodeEditor<'e, 'c, 'a>,
    probes: &'m Probes,
    id: u32,
    method: Counted,
}

impl Editing<'_, '_, '_, '_> {
    fn enter(&mut self, leaf: bool, straight: bool, loading: bool, delicate: bool) -> Result<(), EditError> {
        let mut s = Snippet::new();
        if loading {
            self.method.aside = Some(Aside::begin(self.code, self.probes, &mut s, Elsewhere::Loading)?);
        }
        if !leaf {
            let at = self.code.new_local(VerificationType::Long)?;
            self.probes.word(self.code.pool(), &mut s, self.id)?;
            self.probes.call(self.code.pool(), &mut s, "enter", "(I)J")?;
            s.lstore(at);
            self.method.at = Some(at);
            if delicate {
                let held = self.code.new_local(VerificationType::Int)?;
                self.probes.call(self.code.pool(), &mut s, "hold", "()I")?;
                s.istore(held);
                self.method.held = Some(held);
            }
        }
        if !straight {
            let count = self.code.new_local(VerificationType::Int)?;
            s.int16(0).istore(count);
            self.method.count = Some(count);
        }
        if !s.bytes().is_empty() {
            self.code.insert_entry(&s)?;
        }
        Ok(())
    }

    /// Counts blocks in a local variable, and has loops spend it now and then; those that call take samples.
    fn blocks(&mut self, blocks: &Blocks, plan: &Plan) -> Result<(), EditError> {
        let Some(count) = self.method.count else { return Ok(()) };
        let body = *self.code.code();
        let loops = if blocks.has_loops() { Loops::of(&body) } else { Loops::default() };
        let mut s = Snippet::new();
        for block in blocks.iter() {
            s.clear();
            if is_loop(&body, &block) {
                let takes = self.method.at.is_some() && loops.calls(block.start);
                self.spend(&mut s, if takes { "loop" } else { "spin" }, "I")?;
                s.istore(count);
            }
            s.iinc(count, plan.cost(&block, &body).cast_signed());
            self.code.insert_before(block.start, &s)?;
        }
        Ok(())
    }

    /// A method that catches an exception is on top of the stack again.
    fn handlers(&mut self, blocks: &Blocks) -> Result<(), EditError> {
        let mut s = Snippet::new();
        for block in blocks.iter().filter(|block| block.is_handler) {
            s.clear();
            self.caught(&mut s)?;
            insert_before_block(self.code, &block, &s)?;
        }
        Ok(())
    }

    fn exits(&mut self) -> Result<(), EditError> {
        let mut s = Snippet::new();
        let probe = match self.method.at {
            None => "leaf",
            Some(_) if self.method.takes => "leaveAndTake",
            Some(_) => "leave",
        };
        self.leave(&mut s, probe)?;
        self.code.insert_before_returns(&s)?;
        // What cannot throw needs no handler.
        if self.method.at.is_none() {
            return Ok(());
        }
        let mut handler = Snippet::new();
        self.leave(&mut handler, "thrown")?;
        self.code.catch_all(&handler)
    }

    fn leave(&mut self, s: &mut Snippet, probe: &str) -> Result<(), EditError> {
        if let Some(held) = self.method.held {
            s.iload(held);
            self.probes.call(self.code.pool(), s, "release", "(I)V")?;
        }
        self.spend(s, probe, "V")?;
        match self.method.aside {
            Some(aside) => aside.end(self.code, self.probes, s),
            None => Ok(()),
        }
    }

    fn caught(&mut self, s: &mut Snippet) -> Result<(), EditError> {
        let Some(at) = self.method.at else { return Ok(()) };
        s.lload(at);
        self.probes.call(self.code.pool(), s, "caught", "(J)V")
    }

    /// Appends a probe that spends what was counted.
    fn spend(&mut self, s: &mut Snippet, probe: &str, result: &str) -> Result<(), EditError> {
        if let Some(at) = self.method.at {
            s.lload(at);
        }
        self.probes.word(self.code.pool(), s, self.id)?;
        match self.method.count {
            Some(count) => {
                s.iload(count);
            }
            None => self.probes.int(self.code.pool(), s, self.method.length)?,
        }
        let place = if self.method.at.is_some() { "J" } else { "" };
        self.probes.call(self.code.pool(), s, probe, &format!("({place}II){result}"))
    }
}
