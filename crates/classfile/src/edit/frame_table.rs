//! The stack map table of an edited method.
//!
//! New locals come after `max_locals`, so a frame's locals are padded with `Top` up to there and the new ones follow;
//! no type has to be inferred. Frames are added for stubs (the frame of the target), for the catch-all handlers, and
//! after branches that became trampolines (by simulation from the frame before).

use super::layout::{EdgeKey, Layout, Rank};
use super::simulate::Simulator;
use super::{CatchAll, CodeEditor};
use crate::descriptor;
use crate::error::{EditError, Error};
use crate::frames::{Context, FrameReader, FrameWriter, OBJECT, TOP, UNINITIALIZED_THIS, VType};
use crate::instruction::Instruction;
use crate::opcode::{InstructionClass, opcode};

/// Types of the locals when a method starts.
pub(crate) fn entry_locals(
    editor: &CodeEditor<'_, '_, '_>,
    locals: &mut Vec<VType>,
) -> Result<(), EditError> {
    let method = editor.method;
    locals.clear();
    if !method.is(crate::class::access::STATIC) {
        let this = if method.name() == b"<init>" && method.class().super_name().is_some() {
            VType::plain(UNINITIALIZED_THIS)
        } else {
            VType::new(OBJECT, method.class().this_class().into())
        };
        locals.push(this);
    }
    let (text, utf8) = (method.descriptor(), method.descriptor_index());
    let parameters =
        descriptor::parameters(text, |offset| locals.extend(VType::described(text, utf8, offset)));
    parameters.ok_or_else(|| EditError::Malformed(Error::malformed(0, "bad method descriptor")))
}

/// A frame's locals in the edited method.
fn extended(locals: &[VType], new_locals: &[VType], max_locals: u16, to: &mut Vec<VType>) {
    to.clear();
    to.extend_from_slice(locals);
    if !new_locals.is_empty() {
        let slots: usize = locals.iter().map(|t| t.slots()).sum();
        let missing = usize::from(max_locals).saturating_sub(slots);
        to.extend(std::iter::repeat_n(VType::plain(TOP), missing));
        to.extend_from_slice(new_locals);
    }
}

/// Writes the table's body.
pub(crate) fn write(
    editor: &mut CodeEditor<'_, '_, '_>,
    out: &mut Vec<u8>,
    table: Option<&[u8]>,
    catch_all: Option<&CatchAll>,
) -> Result<(), EditError> {
    let scratch = &editor.class.scratch;
    let adds_nothing = scratch.new_locals.is_empty()
        && scratch.layout.edges.is_empty()
        && scratch.layout.long.is_empty()
        && catch_all.is_none();
    if let Some(table) = table.filter(|_| adds_nothing) {
        return super::frame_moves::relocate(out, table, &scratch.layout, &scratch.scan);
    }
    let mut entry = std::mem::take(&mut editor.class.scratch.entry_locals);
    entry_locals(editor, &mut entry)?;
    let code = editor.code;
    let max_locals = code.max_locals;
    let this_class = editor.method.class().this_class();
    let class = &mut *editor.class;
    let scratch = &mut class.scratch;
    let layout = &scratch.layout;
    let count_at = out.len();
    out.extend([0; 2]);

    let mut locals = std::mem::take(&mut scratch.frame_locals);
    locals.clear();
    locals.extend_from_slice(&entry);
    let mut previous = std::mem::take(&mut scratch.frame_previous);
    previous.clear();
    previous.extend_from_slice(&entry);
    let stack = std::mem::take(&mut scratch.frame_stack);
    let mut reader = FrameReader::new(table, locals, stack, max_locals)?;
    let mut writer = FrameWriter::new(previous);
    let mut wanted = std::mem::take(&mut scratch.frame_wanted);
    let pool = &mut class.pool;
    let mut first = true;

    let mut trampolines = Trampolines::new(editor.code.bytes, &scratch.scan.jumps, &layout.long);
    let mut simulated_to = None;
    let mut frame_at = 0u32;
    loop {
        let next = if trampolines.is_empty() { None } else { reader.peek()? };
        while let Some(bci) = trampolines.next_before(next.unwrap_or(u32::MAX)) {
            let simulator = &mut scratch.simulator;
            simulator.precise = true;
            let from = simulated_to.unwrap_or_else(|| {
                simulator.load(&reader.locals, &reader.stack, max_locals);
                frame_at
            });
            for at in scratch.scan.starts_between(from, bci + 3) {
                simulator.step(&code, at, pool, this_class)?;
            }
            simulated_to = Some(bci + 3);
            let position = layout.instruction(bci) + 8;
            if next == Some(bci + 3) && layout.label(bci + 3) == position {
                continue;
            }
            let locals = Simulator::entries(&simulator.locals);
            let locals: &[VType] = if scratch.new_locals.is_empty() { trim(&locals) } else { &locals };
            extended(locals, &scratch.new_locals, max_locals, &mut wanted);
            let stack = Simulator::entries(&simulator.stack);
            writer.write(out, position, &wanted, &stack, Context { pool, layout, start: count_at })?;
            first = true;
        }
        let Some((bci, changed)) = reader.advance()? else { break };
        if !scratch.scan.is_start(bci) {
            return Err(Error::malformed(bci as usize, "frame not at an instruction").into());
        }
        (frame_at, simulated_to) = (bci, None);
        let context = Context { pool, layout, start: count_at };
        if changed || first {
            extended(&reader.locals, &scratch.new_locals, max_locals, &mut wanted);
            writer.write(out, layout.label(bci), &wanted, &reader.stack, context)?;
            first = false;
        } else {
            writer.same(out, layout.label(bci), &reader.stack, context)?;
        }
    }
    (scratch.frame_locals, scratch.frame_stack) = reader.into_buffers();

    let captured = Captured::targets_of(layout, table, &entry, max_locals)?;
    for edge in &layout.edges {
        if edge.position == u32::MAX {
            continue;
        }
        let target = captured.get(edge.target).ok_or(EditError::MissingFrame { bci: edge.target })?;
        extended(&target.locals, &scratch.new_locals, max_locals, &mut wanted);
        let context = Context { pool, layout, start: count_at };
        writer.write(out, edge.position, &wanted, &target.stack, context)?;
    }
    if let Some(catch_all) = catch_all {
        let throwable = VType::new(OBJECT, pool.class(b"java/lang/Throwable")?.into());
        for (position, uninitialized) in catch_all.positions() {
            let this: &[VType] = if uninitialized { &[VType::plain(UNINITIALIZED_THIS)] } else { &[] };
            extended(this, &scratch.new_locals, max_locals, &mut wanted);
            let context = Context { pool, layout, start: count_at };
            writer.write(out, position, &wanted, &[throwable], context)?;
        }
    }
    if let Some(field) = out.get_mut(count_at..count_at + 2) {
        field.copy_from_slice(&writer.count.to_be_bytes());
    }
    scratch.frame_previous = writer.previous;
    scratch.frame_wanted = wanted;
    scratch.entry_locals = entry;
    Ok(())
}

/// The frames stubs go to, read in one pass however many stubs there are.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    frames: Vec<Frame>,
}

/// A frame in absolute form.
#[derive(Debug)]
pub(crate) struct Frame {
    bci: u32,
    pub(crate) locals: Vec<VType>,
    stack: Vec<VType>,
}

impl Captured {
    /// Frames at the targets of all edges with snippets.
    pub(crate) fn targets_of(
        layout: &Layout,
        table: Option<&[u8]>,
        entry: &[VType],
        max_locals: u16,
    ) -> Result<Self, EditError> {
        let mut frames = Vec::new();
        if layout.edges.is_empty() {
            return Ok(Captured { frames });
        }
        let mut targets: Vec<u32> = layout.edges.iter().map(|e| e.target).collect();
        targets.sort_unstable();
        let mut reader = FrameReader::new(table, entry.to_vec(), Vec::new(), max_locals)?;
        let mut held = 0;
        while let Some((bci, _)) = reader.advance()? {
            if targets.binary_search(&bci).is_ok() {
                held += reader.locals.len() + reader.stack.len();
                if held > MAX_HELD {
                    return Err(EditError::FramesTooLarge);
                }
                frames.push(Frame { bci, locals: reader.locals.clone(), stack: reader.stack.clone() });
            }
        }
        Ok(Captured { frames })
    }

    /// The frame at a target.
    pub(crate) fn get(&self, bci: u32) -> Option<&Frame> {
        self.frames.binary_search_by_key(&bci, |f| f.bci).ok().and_then(|i| self.frames.get(i))
    }
}

/// Verification types held at a time: more than any real method has.
const MAX_HELD: usize = 1 << 20;

fn trim(locals: &[VType]) -> &[VType] {
    let used = locals.iter().rposition(|t| t.tag != TOP).map_or(0, |last| last + 1);
    locals.get(..used).unwrap_or_default()
}

/// Conditional branches that became `if-not; goto_w`, in code order.
struct Trampolines<'x> {
    code: &'x [u8],
    jumps: std::iter::Peekable<std::iter::Zip<std::slice::Iter<'x, u32>, std::slice::Iter<'x, bool>>>,
}

impl<'x> Trampolines<'x> {
    fn new(code: &'x [u8], jumps: &'x [u32], long: &'x [bool]) -> Self {
        Trampolines { code, jumps: jumps.iter().zip(long).peekable() }
    }

    /// Drops what is not a trampoline from the front; true if nothing is left.
    fn is_empty(&mut self) -> bool {
        let code = self.code;
        let is_trampoline = |bci: u32, long: bool| {
            long && Instruction::at(code, bci)
                .is_ok_and(|i| opcode(i.opcode).class == InstructionClass::Branch)
        };
        while self.jumps.next_if(|(bci, long)| !is_trampoline(**bci, **long)).is_some() {}
        self.jumps.peek().is_none()
    }

    fn next_before(&mut self, limit: u32) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        self.jumps.next_if(|(bci, _)| **bci < limit).map(|(bci, _)| *bci)
    }
}

/// Can control get to the handler other than by an exception?
pub(crate) fn is_shared_handler(editor: &CodeEditor<'_, '_, '_>, handler: u32) -> bool {
    let flags = editor.class.scratch.scan.flags_at(handler);
    handler == 0 || flags & (crate::scan::TARGET | crate::scan::FALLS_IN) != 0
}

/// Where a snippet at a handler's entry goes.
pub(crate) fn handler_place(editor: &CodeEditor<'_, '_, '_>, handler: u32) -> Result<Rank, EdgeKey> {
    if is_shared_handler(editor, handler) { Err(EdgeKey::Handler(handler)) } else { Ok(Rank::Handler) }
}
