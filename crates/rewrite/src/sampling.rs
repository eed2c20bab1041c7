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
//! call of `super()` in a constructor, which no handler covers, are set right by whoever catches them.

use quipu_classfile::opcode::{InstructionClass, MONITORENTER};
use quipu_classfile::{
    BlockAnalysis, Blocks, ClassEditor, Code, CodeEditor, EditError, Method, Snippet, VerificationType,
    access,
};

use crate::activation;
use crate::aside::Elsewhere;
use crate::counted::lines;
use crate::exact::makes_calls;
use crate::leaf::is_leaf;
use crate::probes::Probes;
use crate::treatment::Treatment;
use crate::{Plan, Shape};

/// Rewrites a method as its treatment says; the result has its shape if it counts. One that is recursive takes samples
/// that are due: there may be nobody else to do so for as long as it likes.
pub fn edit(
    editor: &mut ClassEditor<'_, '_>,
    probes: &Probes,
    method: Method<'_, '_>,
    treatment: Treatment,
    id: u32,
    plan: &Plan,
    recursive: bool,
) -> Result<Option<Shape>, EditError> {
    match treatment {
        Treatment::Count => count(editor, probes, method, id, plan, recursive, false).map(Some),
        Treatment::CountLoading => count(editor, probes, method, id, plan, recursive, true).map(Some),
        Treatment::Opaque => aside(editor, probes, method, Elsewhere::Hidden).map(|()| None),
        Treatment::Loading => aside(editor, probes, method, Elsewhere::Loading).map(|()| None),
        Treatment::Leave(_) => Ok(None),
    }
}

/// A method that is larger than HotSpot inlines even where it is hot (`FreqInlineSize`).
pub const LARGE: usize = 325;

/// Whether a method is not inlined, or locks: then it can just as well take samples that are due, which is a call.
fn calls_anyway(method: &Method<'_, '_>, code: &Code<'_>) -> bool {
    code.bytes.len() > LARGE
        || method.is(access::SYNCHRONIZED)
        || code.instructions().map_while(Result::ok).any(|i| i.opcode == MONITORENTER)
}

/// What a method's loops are made of.
#[derive(Default)]
struct Loops {
    /// Where a jump goes back to, and where it is.
    jumps_back: Vec<(u32, u32)>,
    /// Where something is called.
    calls: Vec<u32>,
}

impl Loops {
    fn of(code: &Code<'_>) -> Loops {
        let mut loops = Loops::default();
        for i in code.instructions().map_while(Result::ok) {
            let mut target = |target: u32| {
                if target <= i.bci {
                    loops.jumps_back.push((target, i.bci));
                }
            };
            match i.info().class {
                InstructionClass::Invoke => loops.calls.push(i.bci),
                InstructionClass::Switch => {
                    if let Some(switch) = i.switch() {
                        switch.cases().for_each(|(_, to)| target(to));
                        target(switch.default);
                    }
                }
                _ => i.branch_target().into_iter().for_each(target),
            }
        }
        loops
    }

    /// Whether something is called between the start of a loop and the last jump back to it.
    fn calls(&self, header: u32) -> bool {
        let end = self.jumps_back.iter().filter(|(to, _)| *to == header).map(|(_, from)| *from).max();
        self.calls.iter().any(|bci| (header..end.unwrap_or(header)).contains(bci))
    }
}

fn count(
    editor: &mut ClassEditor<'_, '_>,
    probes: &Probes,
    method: Method<'_, '_>,
    id: u32,
    plan: &Plan,
    recursive: bool,
    loading: bool,
) -> Result<Shape, EditError> {
    let Some(code) = editor.edit_method(method.index())? else {
        return Err(EditError::BadSnippet("no code"));
    };
    let body = *code.code();
    let blocks = code.blocks(plan.analysis);
    let one_way = code.blocks(BlockAnalysis::Default);
    let leaf = !loading && is_leaf(&method, &body);
    // As in exact profiles: the whole length, unless it matters how far an exception let it get.
    let straight = one_way.is_straight_line() && (leaf || plan.analysis == BlockAnalysis::Default);
    let length: u32 = one_way.iter().map(|block| plan.cost(&block, &body)).sum();
    let takes = recursive || calls_anyway(&method, &body);
    let mut inserter =
        Inserter { code, probes, plan, id, at: None, count: None, length, takes, aside: None, held: None };
    let delicate = plan.activation && activation::is_delicate(method.class().name(), method.name());
    inserter.enter(leaf, straight, loading, delicate)?;
    if !straight {
        inserter.blocks(&blocks)?;
    }
    inserter.handlers(&one_way)?;
    inserter.exits()?;
    let code = inserter.code;
    code.finish()?;
    Ok(Shape {
        id,
        index: method.index(),
        slots: 0,
        per_call: 0,
        sites: Vec::new(),
        blocks: Vec::new(),
        derived: Vec::new(),
        leaves: Vec::new(),
        lines: lines(&method, &body, false),
        sampled: true,
    })
}

/// Inserts the probes of one method.
struct Inserter<'m, 'e, 'c, 'a> {
    code: CodeEditor<'e, 'c, 'a>,
    probes: &'m Probes,
    plan: &'m Plan,
    id: u32,
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

impl Inserter<'_, '_, '_, '_> {
    fn enter(&mut self, leaf: bool, straight: bool, loading: bool, delicate: bool) -> Result<(), EditError> {
        let mut s = Snippet::new();
        if loading {
            self.aside = Some(Aside::begin(&mut self.code, self.probes, &mut s, Elsewhere::Loading)?);
        }
        if !leaf {
            let at = self.code.new_local(VerificationType::Long)?;
            self.probes.word(self.code.pool(), &mut s, self.id)?;
            self.probes.call(self.code.pool(), &mut s, "enter", "(I)J")?;
            s.lstore(at);
            self.at = Some(at);
            if delicate {
                let held = self.code.new_local(VerificationType::Int)?;
                self.probes.call(self.code.pool(), &mut s, "hold", "()I")?;
                s.istore(held);
                self.held = Some(held);
            }
        }
        if !straight {
            let count = self.code.new_local(VerificationType::Int)?;
            s.int16(0).istore(count);
            self.count = Some(count);
        }
        if !s.bytes().is_empty() {
            self.code.insert_entry(&s)?;
        }
        Ok(())
    }

    /// Counts blocks in a local variable, and has loops spend it now and then; those that call take samples.
    fn blocks(&mut self, blocks: &Blocks) -> Result<(), EditError> {
        let Some(count) = self.count else { return Ok(()) };
        let body = *self.code.code();
        let loops = if blocks.has_loops() { Loops::of(&body) } else { Loops::default() };
        let mut s = Snippet::new();
        for block in blocks.iter() {
            s.clear();
            if block.is_loop_header {
                let takes = self.at.is_some() && loops.calls(block.start);
                self.spend(&mut s, if takes { "loop" } else { "spin" }, "I")?;
                s.istore(count);
            }
            s.iinc(count, self.plan.cost(&block, &body).cast_signed());
            self.code.insert_before(block.start, &s)?;
        }
        Ok(())
    }

    /// Whoever catches an exception is on top again.
    fn handlers(&mut self, blocks: &Blocks) -> Result<(), EditError> {
        let mut s = Snippet::new();
        for block in blocks.iter().filter(|block| block.is_handler) {
            s.clear();
            self.caught(&mut s)?;
            self.code.insert_before(block.start, &s)?;
        }
        Ok(())
    }

    fn exits(&mut self) -> Result<(), EditError> {
        let mut s = Snippet::new();
        let probe = match self.at {
            None => "leaf",
            Some(_) if self.takes => "leaveAndTake",
            Some(_) => "leave",
        };
        self.leave(&mut s, probe)?;
        self.code.insert_before_returns(&s)?;
        // What cannot throw needs no handler.
        if self.at.is_none() {
            return Ok(());
        }
        let mut handler = Snippet::new();
        self.leave(&mut handler, "thrown")?;
        self.code.catch_all(handler.athrow())
    }

    fn leave(&mut self, s: &mut Snippet, probe: &str) -> Result<(), EditError> {
        if let Some(held) = self.held {
            s.iload(held);
            self.probes.call(self.code.pool(), s, "release", "(I)V")?;
        }
        self.spend(s, probe, "V")?;
        match self.aside {
            Some(aside) => aside.end(&mut self.code, self.probes, s),
            None => Ok(()),
        }
    }

    fn caught(&mut self, s: &mut Snippet) -> Result<(), EditError> {
        let Some(at) = self.at else { return Ok(()) };
        s.lload(at);
        self.probes.call(self.code.pool(), s, "caught", "(J)V")
    }

    /// Appends a probe that spends what was counted.
    fn spend(&mut self, s: &mut Snippet, probe: &str, result: &str) -> Result<(), EditError> {
        if let Some(at) = self.at {
            s.lload(at);
        }
        self.probes.word(self.code.pool(), s, self.id)?;
        match self.count {
            Some(count) => {
                s.iload(count);
            }
            None => self.probes.int(self.code.pool(), s, self.length)?,
        }
        let place = if self.at.is_some() { "J" } else { "" };
        self.probes.call(self.code.pool(), s, probe, &format!("({place}II){result}"))
    }
}

/// A method that leads what it calls elsewhere, and what it keeps to find the way back.
#[derive(Debug, Clone, Copy)]
struct Aside {
    elsewhere: Elsewhere,
    top: u16,
    left: u16,
}

impl Aside {
    /// Appends what goes to the entry.
    fn begin(
        code: &mut CodeEditor<'_, '_, '_>,
        probes: &Probes,
        s: &mut Snippet,
        elsewhere: Elsewhere,
    ) -> Result<Aside, EditError> {
        let top = code.new_local(VerificationType::Long)?;
        let left = code.new_local(VerificationType::Long)?;
        probes.call(code.pool(), s, "top", "()J")?;
        s.lstore(top);
        let probe = match elsewhere {
            Elsewhere::Hidden => "hide",
            Elsewhere::Loading => "load",
        };
        probes.call(code.pool(), s, probe, "()J")?;
        s.lstore(left);
        Ok(Aside { elsewhere, top, left })
    }

    /// Appends what goes to the exits.
    fn end(
        self,
        code: &mut CodeEditor<'_, '_, '_>,
        probes: &Probes,
        s: &mut Snippet,
    ) -> Result<(), EditError> {
        s.lload(self.top).lload(self.left);
        let probe = match self.elsewhere {
            Elsewhere::Hidden => "restore",
            Elsewhere::Loading => "loaded",
        };
        probes.call(code.pool(), s, probe, "(JJ)V")
    }
}

/// A method without a context of its own: what it calls is kept aside. Left alone if it calls nothing.
fn aside(
    editor: &mut ClassEditor<'_, '_>,
    probes: &Probes,
    method: Method<'_, '_>,
    elsewhere: Elsewhere,
) -> Result<(), EditError> {
    let Some(mut code) = editor.edit_method(method.index())? else { return Ok(()) };
    if !makes_calls(code.code()) {
        return Ok(());
    }
    let mut s = Snippet::new();
    let aside = Aside::begin(&mut code, probes, &mut s, elsewhere)?;
    code.insert_entry(&s)?;
    s.clear();
    aside.end(&mut code, probes, &mut s)?;
    code.insert_before_returns(&s)?;
    code.catch_all(s.athrow())?;
    code.finish().map(drop)
}
