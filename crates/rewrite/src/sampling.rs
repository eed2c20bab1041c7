//! Samples every so many bytecodes: each thread keeps its call stack as an array of methods, counts bytecodes down, and
//! when none are left looks at the array.
//!
//! | method | entry | blocks | exits |
//! |---|---|---|---|
//! | leaf, one way through | spend its length | – | – |
//! | leaf with branches | – | count in a local variable | spend the count |
//! | others, one way through | push, spend the length | – | pop |
//! | others | push | count in a local variable | spend the count, pop |
//!
//! What a call counts is spent when it is left, or in a loop once it is large. Whenever that is, the sample it brings
//! about belongs to the context that counted, so every context is sampled in proportion to what it executed: the
//! conditional in each block that section 5.2 of Binder's paper asks for is not needed.
//!
//! A pop puts the stack pointer back to what it was, so a mistake cannot travel up the stack. Exceptions that pass the
//! call of `super()` in a constructor, which no handler covers, are set right by whoever catches them.

use quipu_classfile::opcode::DUP;
use quipu_classfile::{
    BlockAnalysis, Blocks, ClassEditor, CodeEditor, EditError, Method, Snippet, VerificationType,
};

use crate::counted::lines;
use crate::exact::makes_calls;
use crate::leaf::is_leaf;
use crate::probes::Probes;
use crate::treatment::Treatment;
use crate::{Plan, Shape};

/// Rewrites a method as its treatment says; the result has its shape if it counts.
pub fn edit(
    editor: &mut ClassEditor<'_, '_>,
    probes: &Probes,
    method: Method<'_, '_>,
    treatment: Treatment,
    id: u32,
    plan: &Plan,
) -> Result<Option<Shape>, EditError> {
    match treatment {
        Treatment::Count => count(editor, probes, method, id, plan, false).map(Some),
        Treatment::CountLoading => count(editor, probes, method, id, plan, true).map(Some),
        Treatment::Opaque => aside(editor, probes, method, ASIDE_HIDDEN).map(|()| None),
        Treatment::Loading => aside(editor, probes, method, ASIDE_LOADING).map(|()| None),
        Treatment::Leave(_) => Ok(None),
    }
}

/// What a method that has no context of its own calls on entry and on exit.
type Aside = [&'static str; 2];
const ASIDE_HIDDEN: Aside = ["hide", "show"];
const ASIDE_LOADING: Aside = ["load", "loaded"];

/// The local variables of a method that is pushed.
struct Locals {
    stack: u16,
    /// The stack pointer when the method was called.
    top: u16,
    /// What was left to spend before class loading began.
    before: u16,
}

fn count(
    editor: &mut ClassEditor<'_, '_>,
    probes: &Probes,
    method: Method<'_, '_>,
    id: u32,
    plan: &Plan,
    loading: bool,
) -> Result<Shape, EditError> {
    let Some(mut code) = editor.edit_method(method.index())? else {
        return Err(EditError::BadSnippet("no code"));
    };
    let body = *code.code();
    let blocks = code.blocks(plan.analysis);
    let one_way = code.blocks(BlockAnalysis::Default);
    let leaf = !loading && is_leaf(&method, &body);
    // As in exact profiles: the whole length, unless it matters how far an exception let it get.
    let straight = one_way.is_straight_line() && (leaf || plan.analysis == BlockAnalysis::Default);
    let length: u32 = one_way.iter().map(|block| plan.cost(&block, &body)).sum();
    let mut s = Snippet::new();
    if leaf && straight {
        probes.word(code.pool(), &mut s, id)?;
        probes.int(code.pool(), &mut s, length)?;
        probes.call(code.pool(), &mut s, "leaf", "(II)V")?;
        code.insert_entry(&s)?;
    } else if leaf {
        let count = code.new_local(VerificationType::Int)?;
        code.insert_entry(s.int16(0).istore(count))?;
        insert_counting(&mut code, plan, &blocks, count, |code, s| {
            s.iload(count);
            probes.word(code.pool(), s, id)?;
            probes.call(code.pool(), s, "loop", "(II)I")
        })?;
        s.clear();
        probes.word(code.pool(), &mut s, id)?;
        s.iload(count);
        probes.call(code.pool(), &mut s, "leaf", "(II)V")?;
        code.insert_before_returns(&s)?;
    } else {
        let stack_class = probes.cursor_class(code.pool())?;
        let mut locals = Locals {
            stack: code.new_local(VerificationType::Object(stack_class))?,
            top: code.new_local(VerificationType::Int)?,
            before: 0,
        };
        probes.call(code.pool(), &mut s, "stack", "()@")?;
        s.op(DUP).astore(locals.stack);
        if loading {
            locals.before = code.new_local(VerificationType::Long)?;
            probes.call(code.pool(), &mut s, "load", "(@)J")?;
            s.lstore(locals.before).aload(locals.stack);
        }
        probes.word(code.pool(), &mut s, id)?;
        let counted = if straight {
            probes.int(code.pool(), &mut s, length)?;
            probes.call(code.pool(), &mut s, "enter", "(@II)I")?;
            s.istore(locals.top);
            None
        } else {
            probes.call(code.pool(), &mut s, "enter", "(@I)I")?;
            let count = code.new_local(VerificationType::Int)?;
            s.istore(locals.top).int16(0).istore(count);
            Some(count)
        };
        code.insert_entry(&s)?;
        if let Some(count) = counted {
            insert_counting(&mut code, plan, &blocks, count, |code, s| {
                s.aload(locals.stack).iload(count);
                probes.call(code.pool(), s, "loop", "(@I)I")
            })?;
        }
        insert_handlers(&mut code, probes, &one_way, &locals)?;
        insert_exits(&mut code, probes, &locals, counted, loading)?;
    }
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

/// Counts blocks in a local variable, and has loops spend it before it is large: `spend` leaves the rest on the stack.
fn insert_counting<'e, 'c, 'a>(
    code: &mut CodeEditor<'e, 'c, 'a>,
    plan: &Plan,
    blocks: &Blocks,
    count: u16,
    spend: impl Fn(&mut CodeEditor<'e, 'c, 'a>, &mut Snippet) -> Result<(), EditError>,
) -> Result<(), EditError> {
    let body = *code.code();
    let mut s = Snippet::new();
    for block in blocks.iter() {
        s.clear();
        if block.is_loop_header {
            spend(code, &mut s)?;
            s.istore(count);
        }
        s.iinc(count, plan.cost(&block, &body).cast_signed());
        code.insert_before(block.start, &s)?;
    }
    Ok(())
}

/// Whoever catches an exception is on top again.
fn insert_handlers(
    code: &mut CodeEditor<'_, '_, '_>,
    probes: &Probes,
    blocks: &Blocks,
    locals: &Locals,
) -> Result<(), EditError> {
    let mut s = Snippet::new();
    for block in blocks.iter().filter(|block| block.is_handler) {
        s.clear().aload(locals.stack).iload(locals.top);
        probes.call(code.pool(), &mut s, "caught", "(@I)V")?;
        code.insert_before(block.start, &s)?;
    }
    Ok(())
}

fn insert_exits(
    code: &mut CodeEditor<'_, '_, '_>,
    probes: &Probes,
    locals: &Locals,
    counted: Option<u16>,
    loading: bool,
) -> Result<(), EditError> {
    let mut s = Snippet::new();
    s.aload(locals.stack).iload(locals.top);
    match counted {
        Some(count) => {
            s.iload(count);
            probes.call(code.pool(), &mut s, "leave", "(@II)V")?;
        }
        None => probes.call(code.pool(), &mut s, "leave", "(@I)V")?,
    }
    if loading {
        s.aload(locals.stack).lload(locals.before);
        probes.call(code.pool(), &mut s, "loaded", "(@J)V")?;
    }
    code.insert_before_returns(&s)?;
    code.catch_all(s.athrow())
}

/// A method without a context of its own: what it calls is kept aside. Left alone if it calls nothing.
fn aside(
    editor: &mut ClassEditor<'_, '_>,
    probes: &Probes,
    method: Method<'_, '_>,
    [enter, leave]: Aside,
) -> Result<(), EditError> {
    let Some(mut code) = editor.edit_method(method.index())? else { return Ok(()) };
    if !makes_calls(code.code()) {
        return Ok(());
    }
    let stack_class = probes.cursor_class(code.pool())?;
    let stack = code.new_local(VerificationType::Object(stack_class))?;
    let before = code.new_local(VerificationType::Long)?;
    let mut s = Snippet::new();
    probes.call(code.pool(), &mut s, "stack", "()@")?;
    s.op(DUP).astore(stack);
    probes.call(code.pool(), &mut s, enter, "(@)J")?;
    code.insert_entry(s.lstore(before))?;
    s.clear().aload(stack).lload(before);
    probes.call(code.pool(), &mut s, leave, "(@J)V")?;
    code.insert_before_returns(&s)?;
    code.catch_all(s.athrow())?;
    code.finish().map(drop)
}
