//! Exact profiles: every method finds its node when it is entered, counts its bytecodes in a local variable, and adds
//! them to the node however it is left.
//!
//! What is inserted depends on what the method can do:
//!
//! | method | entry | calls | exits |
//! |---|---|---|---|
//! | leaf, one way through | find node, count the call | – | – |
//! | leaf with branches | the same, keep the node | – | add the count |
//! | others | keep cursor, old slot and node; publish slot 0 | publish a slot, store the count | put the slot back, store the count |
//!
//! The count is stored before every call, not only when the method is left, so that nothing is missing when a callee
//! ends the process. That is sound because a context is on a thread's stack at most once: while a call of it is
//! active, nobody else adds to its node.
//!
//! Opaque methods count nothing; those that call others hide what they call.

use quipu_classfile::opcode::{DUP, InstructionClass, POP2};
use quipu_classfile::{
    BlockAnalysis, Blocks, ClassEditor, ClassFile, Code, CodeEditor, EditError, Method, Snippet,
    VerificationType,
};

use crate::activation::{self, Guard, Kept};
use crate::calls::{Calls, Site};
use crate::counters::Counters;
use crate::leaf::{is_leaf, safe_prefix};
use crate::probes::Probes;
use crate::selection::untouchable;
use crate::treatment::Treatment;
use crate::{Known, Left, Plan, Rewritten, Shape};

/// Slots a node can have at most; the arena's limit.
const MOST_SLOTS: u32 = 30_000;

/// Rewrites a class. Its methods get the ids from `first` on, in their order.
pub fn rewrite(
    class: &ClassFile<'_>,
    plan: &Plan,
    first: u32,
    known: &dyn Known,
) -> Result<Rewritten, EditError> {
    let untouchable = untouchable(class.name());
    let probes = Probes::new(plan.runtime, plan.relative_to.as_deref());
    let mut editor = ClassEditor::new(class);
    let mut out = Rewritten::default();
    for method in class.methods() {
        let treatment = match Treatment::of(&method, untouchable) {
            Treatment::Count if is_empty_finalizer(&method) => continue,
            Treatment::Count | Treatment::CountLoading
                if !plan.selection.method(class.name(), method.name()) =>
            {
                continue;
            }
            Treatment::Leave(_) => continue,
            treatment => treatment,
        };
        let id = first + method.index() as u32;
        let edited = match treatment {
            Treatment::Count => count(&mut editor, &probes, method, id, plan, known, false).map(Some),
            Treatment::CountLoading => count(&mut editor, &probes, method, id, plan, known, true).map(Some),
            Treatment::Opaque => aside(&mut editor, &probes, method, plan, "hide").map(|()| None),
            Treatment::Loading => aside(&mut editor, &probes, method, plan, "load").map(|()| None),
            Treatment::Leave(_) => Ok(None),
        };
        match edited {
            Ok(Some(shape)) => out.shapes.push(shape),
            Ok(None) => {}
            Err(error) => out.left.push(Left { index: method.index(), why: error.to_string() }),
        }
    }
    if editor.is_changed() {
        out.bytes = Some(editor.into_bytes().into_owned());
    }
    Ok(out)
}

/// An empty `finalize()` means to the VM that the class has no finalizer; with code in it, every instance gets one.
fn is_empty_finalizer(method: &Method<'_, '_>) -> bool {
    method.name() == b"finalize"
        && method.descriptor() == b"()V"
        && method.code().ok().flatten().is_some_and(|code| code.bytes.len() == 1)
}

/// The local variables of a counted method.
struct Locals {
    cursor: u16,
    slot: u16,
    node: u16,
    /// What the node had counted before this call; not in leaves.
    base: u16,
    /// Bytecodes of this call.
    count: u16,
    /// What a slot held before a call that may lead to an opaque method.
    seen: u16,
}

fn count(
    editor: &mut ClassEditor<'_, '_>,
    probes: &Probes,
    method: Method<'_, '_>,
    id: u32,
    plan: &Plan,
    known: &dyn Known,
    loading: bool,
) -> Result<Shape, EditError> {
    let class = method.class();
    let Some(mut code) = editor.edit_method(method.index())? else {
        return Err(EditError::BadSnippet("no code"));
    };
    let body = *code.code();
    let blocks = code.blocks(plan.analysis);
    let one_way = code.blocks(BlockAnalysis::Default);
    // An agent's turn may come in a loop, and the agent must be shown what was counted.
    let agent_in_loop = plan.activation && one_way.has_loops();
    let leaf = !loading && !plan.blocks && !agent_in_loop && is_leaf(&method, &body);
    // What lies in the first block, and not in a loop, is executed once by every call.
    let prefix = match one_way.iter().next() {
        Some(block) if !block.is_loop_header => safe_prefix(&method, &body).min(block.end),
        _ => 0,
    };
    let calls = Calls::find(&body, class.pool(), plan.sites, prefix, known);
    if calls.slots > MOST_SLOTS {
        return Err(EditError::TooLarge { size: body.bytes.len() as u32 });
    }
    // Calls times length is what the default analysis means by counting a block at its start. Where it matters how far
    // a method got, that holds only if nothing can stop it halfway: no exception, and no callee that ends the process.
    let straight = one_way.is_straight_line() && (leaf || plan.analysis == BlockAnalysis::Default);
    let length: u32 = one_way.iter().map(|block| plan.cost(block, &body)).sum();
    let counts = !straight;
    let updates = if plan.activation {
        activation::updates(&one_way, &body, class.pool(), |block| plan.cost(block, &body))
    } else {
        Vec::new()
    };
    let delicate = plan.activation && activation::is_delicate(class.name(), method.name());
    let counters = Counters::new(plan, &blocks, &body);
    let mut s = Snippet::new();

    if leaf && calls.sites.is_empty() && straight {
        probes.word(code.pool(), &mut s, id)?;
        probes.call(code.pool(), &mut s, "leaf", "(I)J")?;
        code.insert_entry(s.op(POP2))?;
        activation::insert(&mut code, probes, &updates, Kept::Nothing, false)?;
    } else if leaf {
        let locals = Locals {
            cursor: 0,
            slot: 0,
            node: code.new_local(VerificationType::Long)?,
            base: 0,
            count: 0,
            seen: 0,
        };
        let locals =
            if counts { Locals { count: code.new_local(VerificationType::Int)?, ..locals } } else { locals };
        probes.word(code.pool(), &mut s, id)?;
        probes.call(code.pool(), &mut s, "leaf", "(I)J")?;
        s.lstore(locals.node);
        if counts {
            s.int16(0).istore(locals.count);
        }
        code.insert_entry(&s)?;
        insert_counting(&mut code, probes, plan, &blocks, &counters, &locals, counts, 0)?;
        activation::insert(&mut code, probes, &updates, Kept::Nothing, false)?;
        insert_calls(&mut code, probes, &calls, &locals, false)?;
        if counts {
            s.clear().lload(locals.node).iload(locals.count);
            probes.call(code.pool(), &mut s, "count", "(JI)V")?;
            code.insert_before_returns(&s)?;
        }
    } else {
        let cursor_class = probes.cursor_class(code.pool())?;
        let mut locals = Locals {
            cursor: code.new_local(VerificationType::Object(cursor_class))?,
            slot: code.new_local(VerificationType::Long)?,
            node: code.new_local(VerificationType::Long)?,
            base: 0,
            count: 0,
            seen: 0,
        };
        keep_cursor(&mut code, probes, &mut s, &locals)?;
        s.aload(locals.cursor);
        probes.word(code.pool(), &mut s, id)?;
        probes.call(code.pool(), &mut s, if loading { "enterLoading" } else { "enter" }, "(@I)J")?;
        s.lstore(locals.node);
        if counts {
            locals.count = code.new_local(VerificationType::Int)?;
            s.int16(0).istore(locals.count);
        }
        if counts {
            locals.base = code.new_local(VerificationType::Long)?;
            s.lload(locals.node);
            probes.call(code.pool(), &mut s, "base", "(J)J")?;
            s.lstore(locals.base);
        }
        if calls.sites.iter().any(|site| matches!(site, Site::Possible { .. })) {
            locals.seen = code.new_local(VerificationType::Long)?;
            s.long16(0).lstore(locals.seen);
        }
        let guard = match (plan.activation, loading) {
            (true, true) => Some(Guard::pause(&mut code)?),
            (true, false) if delicate => Some(Guard::hold(&mut code)?),
            _ => None,
        };
        if let Some(guard) = guard {
            guard.enter(&mut code, probes, &mut s, locals.cursor)?;
        }
        code.insert_entry(&s)?;
        insert_counting(&mut code, probes, plan, &blocks, &counters, &locals, counts, calls.slots)?;
        let Locals { cursor, node, base, count, .. } = locals;
        let kept =
            if base == 0 { Kept::Node { cursor, node } } else { Kept::Count { cursor, node, base, count } };
        activation::insert(&mut code, probes, &updates, kept, !delicate)?;
        insert_calls(&mut code, probes, &calls, &locals, counts)?;
        insert_exits(&mut code, probes, &locals, counts, loading, guard)?;
    }
    code.finish()?;
    Ok(Shape {
        id,
        index: method.index(),
        // Slot 0 is for calls the VM makes, of which leaves have none.
        slots: if leaf && calls.sites.is_empty() { 0 } else { calls.slots },
        straight: straight.then_some(length),
        sites: calls.bcis,
        blocks: counters.table,
        derived: calls.derived,
        lines: lines(&method, &body, plan.sites || plan.blocks),
    })
}

/// Cursor and the slot that the caller published, into local variables.
fn keep_cursor(
    code: &mut CodeEditor<'_, '_, '_>,
    probes: &Probes,
    s: &mut Snippet,
    locals: &Locals,
) -> Result<(), EditError> {
    s.clear();
    probes.call(code.pool(), s, "cursor", "()@")?;
    s.op(DUP).astore(locals.cursor);
    probes.slot(code.pool(), s)?;
    s.lstore(locals.slot);
    Ok(())
}

/// Counts blocks, and keeps the counter from overflowing in loops.
#[allow(clippy::too_many_arguments, reason = "what a method is made of")]
fn insert_counting(
    code: &mut CodeEditor<'_, '_, '_>,
    probes: &Probes,
    plan: &Plan,
    blocks: &Blocks,
    counters: &Counters,
    locals: &Locals,
    counts: bool,
    slots: u32,
) -> Result<(), EditError> {
    let body = *code.code();
    let mut s = Snippet::new();
    for (i, block) in blocks.iter().enumerate() {
        s.clear();
        if counts && block.is_loop_header {
            if locals.base == 0 {
                s.lload(locals.node).iload(locals.count);
                probes.call(code.pool(), &mut s, "loop", "(JI)I")?;
            } else {
                s.lload(locals.node).lload(locals.base).iload(locals.count);
                probes.call(code.pool(), &mut s, "carry", "(JJI)J")?;
                s.lstore(locals.base).iload(locals.count);
                probes.call(code.pool(), &mut s, "carried", "(I)I")?;
            }
            s.istore(locals.count);
        }
        if counts {
            s.iinc(locals.count, plan.cost(block, &body).cast_signed());
        }
        if let Some(Some(counter)) = counters.of_block.get(i) {
            s.lload(locals.node);
            probes.int(code.pool(), &mut s, slots)?;
            probes.int(code.pool(), &mut s, *counter)?;
            probes.call(code.pool(), &mut s, "block", "(JII)V")?;
        }
        code.insert_before(block.start, &s)?;
    }
    Ok(())
}

fn insert_calls(
    code: &mut CodeEditor<'_, '_, '_>,
    probes: &Probes,
    calls: &Calls,
    locals: &Locals,
    stores: bool,
) -> Result<(), EditError> {
    let mut s = Snippet::new();
    for site in &calls.sites {
        s.clear();
        match *site {
            Site::Publish { bci, slot } => {
                publish(code, probes, &mut s, locals, stores, slot)?;
                code.insert_before(bci, &s)?;
            }
            Site::Opaque { bci, slot, id, ends } => {
                if stores && ends {
                    s.lload(locals.node).lload(locals.base).iload(locals.count);
                    probes.call(code.pool(), &mut s, "store", "(JJI)V")?;
                }
                s.lload(locals.node);
                probes.int(code.pool(), &mut s, slot)?;
                probes.word(code.pool(), &mut s, id)?;
                probes.call(code.pool(), &mut s, "opaque", "(JII)V")?;
                code.insert_before(bci, &s)?;
            }
            Site::Possible { bci, next, slot, id } => {
                publish(code, probes, &mut s, locals, stores, slot)?;
                s.lload(locals.node);
                probes.int(code.pool(), &mut s, slot)?;
                probes.call(code.pool(), &mut s, "seen", "(JI)J")?;
                s.lstore(locals.seen);
                code.insert_before(bci, &s)?;
                s.clear().lload(locals.node).lload(locals.seen);
                probes.int(code.pool(), &mut s, slot)?;
                probes.word(code.pool(), &mut s, id)?;
                probes.call(code.pool(), &mut s, "possible", "(JJII)V")?;
                code.insert_fall_through(next, &s)?;
            }
        }
    }
    Ok(())
}

fn publish(
    code: &mut CodeEditor<'_, '_, '_>,
    probes: &Probes,
    s: &mut Snippet,
    locals: &Locals,
    stores: bool,
    slot: u32,
) -> Result<(), EditError> {
    s.aload(locals.cursor).lload(locals.node);
    if stores {
        s.lload(locals.base).iload(locals.count);
    }
    probes.int(code.pool(), s, slot)?;
    probes.call(code.pool(), s, "at", if stores { "(@JJII)V" } else { "(@JI)V" })
}

fn insert_exits(
    code: &mut CodeEditor<'_, '_, '_>,
    probes: &Probes,
    locals: &Locals,
    counts: bool,
    loading: bool,
    guard: Option<Guard>,
) -> Result<(), EditError> {
    let mut s = Snippet::new();
    if let Some(guard) = guard {
        guard.leave(code, probes, &mut s, locals.cursor)?;
    }
    if loading {
        s.aload(locals.cursor);
        probes.call(code.pool(), &mut s, "loaded", "(@)V")?;
    }
    s.aload(locals.cursor).lload(locals.slot);
    if counts {
        s.lload(locals.node).lload(locals.base).iload(locals.count);
        probes.call(code.pool(), &mut s, "leave", "(@JJJI)V")?;
    } else {
        probes.call(code.pool(), &mut s, "restore", "(@J)V")?;
    }
    code.insert_before_returns(&s)?;
    code.catch_all(s.athrow())
}

/// A method that counts nothing itself: what it calls is kept aside. Left alone if it calls nothing.
fn aside(
    editor: &mut ClassEditor<'_, '_>,
    probes: &Probes,
    method: Method<'_, '_>,
    plan: &Plan,
    probe: &str,
) -> Result<(), EditError> {
    let Some(mut code) = editor.edit_method(method.index())? else { return Ok(()) };
    if !makes_calls(code.code()) {
        return Ok(());
    }
    let cursor_class = probes.cursor_class(code.pool())?;
    let locals = Locals {
        cursor: code.new_local(VerificationType::Object(cursor_class))?,
        slot: code.new_local(VerificationType::Long)?,
        node: 0,
        base: 0,
        count: 0,
        seen: 0,
    };
    let mut s = Snippet::new();
    keep_cursor(&mut code, probes, &mut s, &locals)?;
    s.aload(locals.cursor);
    probes.call(code.pool(), &mut s, probe, "(@)V")?;
    let guard = plan.activation.then(|| Guard::pause(&mut code)).transpose()?;
    if let Some(guard) = guard {
        guard.enter(&mut code, probes, &mut s, locals.cursor)?;
    }
    code.insert_entry(&s)?;
    s.clear();
    if let Some(guard) = guard {
        guard.leave(&mut code, probes, &mut s, locals.cursor)?;
    }
    if probe == "load" {
        s.aload(locals.cursor);
        probes.call(code.pool(), &mut s, "loaded", "(@)V")?;
    }
    s.aload(locals.cursor).lload(locals.slot);
    probes.call(code.pool(), &mut s, "restore", "(@J)V")?;
    code.insert_before_returns(&s)?;
    code.catch_all(s.athrow())?;
    code.finish().map(drop)
}

fn makes_calls(code: &Code<'_>) -> bool {
    code.instructions().map_while(Result::ok).any(|i| {
        matches!(
            i.info().class,
            InstructionClass::Invoke | InstructionClass::Allocation | InstructionClass::StaticField
        )
    })
}

/// Bytecode indices and lines, in turn; only the first unless `all`.
fn lines(method: &Method<'_, '_>, code: &Code<'_>, all: bool) -> Vec<u16> {
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
