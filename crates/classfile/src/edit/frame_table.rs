//! The stack map table of an edited method.
//!
//! New locals come after `max_locals`, so a frame's locals are padded with `Top` up to there and the new ones follow;
//! no type has to be inferred. Frames are added for stubs (the frame of the target), for the catch-all handlers, and
//! after branches that became trampolines (by simulation from the frame before).

use super::layout::{EdgeKey, Layout, Rank};
use super::simulate::Simulator;
use super::{Buffers, CatchAll, CodeEditor};
use crate::descriptor;
use crate::error::{EditError, Error};
use crate::frames::{Context, FrameReader, FrameWriter};
use crate::instruction::Instruction;
use crate::opcode::{InstructionClass, opcode};
use crate::types::{OBJECT, TypeList, Types, UNINITIALIZED_THIS, VType};

/// Types of the locals when a method starts.
pub(crate) fn entry_locals(editor: &CodeEditor<'_, '_, '_>, locals: &mut Types) -> Result<(), EditError> {
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
    let parameters = descriptor::parameters(text, |offset| {
        if let Some(t) = VType::described(text, utf8, offset) {
            locals.push(t);
        }
    });
    parameters.ok_or_else(|| EditError::Malformed(Error::malformed(0, "bad method descriptor")))
}

/// A frame's locals in the edited method.
fn extended(locals: &Types, new_locals: &Types, max_locals: u16, to: &mut Types) {
    to.copy_from(locals);
    if !new_locals.is_empty() {
        to.pad(usize::from(max_locals).saturating_sub(locals.slots()));
        to.extend(new_locals.as_list());
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
    let code = editor.class.code;
    let max_locals = code.max_locals;
    let this_class = editor.method.class().this_class();
    let class = &mut *editor.class;
    let Buffers {
        scan,
        layout,
        new_locals,
        frame_locals,
        frame_previous,
        frame_wanted: wanted,
        simulator,
        ..
    } = &mut *class.scratch;
    let start = out.len();
    out.extend([0; 2]);

    frame_locals.copy_from(&entry);
    frame_previous.copy_from(&entry);
    let mut reader = FrameReader::new(table, frame_locals, max_locals)?;
    let mut writer = FrameWriter::new(frame_previous);
    let pool = &mut class.pool;

    let mut trampolines = Trampolines::new(code.bytes, &scan.jumps, &layout.long);
    let mut simulated_to = None;
    let mut frame_at = 0u32;
    // Whether the last frame written is not the last one read.
    let mut apart = true;
    loop {
        let next = if trampolines.is_empty() { None } else { reader.peek()? };
        while let Some(bci) = trampolines.next_before(next.unwrap_or(u32::MAX)) {
            simulator.precise = true;
            let from = simulated_to.unwrap_or_else(|| {
                simulator.load(reader.locals, reader.stack, max_locals);
                frame_at
            });
            for at in scan.starts_between(from, bci + 3) {
                simulator.step(&code, at, pool, this_class)?;
            }
            simulated_to = Some(bci + 3);
            let position = layout.instruction(bci) + 8;
            if next == Some(bci + 3) && layout.label(bci + 3) == position {
                continue;
            }
            let (mut locals, mut stack) = (Types::default(), Types::default());
            Simulator::list(&simulator.locals, pool, &mut locals)?;
            Simulator::list(&simulator.stack, pool, &mut stack)?;
            if new_locals.is_empty() {
                locals.trim();
            }
            extended(&locals, new_locals, max_locals, wanted);
            writer.write(out, position, wanted, &stack.as_list(), Context { pool, layout, start })?;
            apart = true;
        }
        let Some((bci, changed)) = reader.advance()? else { break };
        if !scan.is_start(bci) {
            return Err(Error::malformed(bci as usize, "frame not at an instruction").into());
        }
        (frame_at, simulated_to) = (bci, None);
        let context = Context { pool, layout, start };
        if changed || apart {
            extended(reader.locals, new_locals, max_locals, wanted);
            writer.write(out, layout.label(bci), wanted, &reader.stack, context)?;
            reader.locals.resolve_like(writer.previous);
            apart = false;
        } else {
            writer.same(out, layout.label(bci), &reader.stack, context)?;
        }
    }

    let captured = Captured::targets_of(layout, table, &entry, max_locals)?;
    for edge in &layout.edges {
        if edge.position == u32::MAX {
            continue;
        }
        let target = match captured.get(edge.target) {
            Some(target) => target,
            // HotSpot keeps no frames of classes it does not verify, so a retransformed one comes without any.
            None if table.is_none() => continue,
            None => return Err(EditError::MissingFrame { bci: edge.target }),
        };
        extended(&target.locals, new_locals, max_locals, wanted);
        writer.write(out, edge.position, wanted, &target.stack, Context { pool, layout, start })?;
    }
    if let Some(catch_all) = catch_all {
        let [hi, lo] = pool.class(b"java/lang/Throwable")?.to_be_bytes();
        let throwable = [OBJECT, hi, lo];
        for (position, uninitialized) in catch_all.positions() {
            let mut this = Types::default();
            if uninitialized {
                this.push(VType::plain(UNINITIALIZED_THIS));
            }
            extended(&this, new_locals, max_locals, wanted);
            let (stack, context) = (TypeList::one(&throwable), Context { pool, layout, start });
            writer.write(out, position, wanted, &stack, context)?;
        }
    }
    if let Some(field) = out.get_mut(start..start + 2) {
        field.copy_from_slice(&writer.count.to_be_bytes());
    }
    class.scratch.entry_locals = entry;
    Ok(())
}

/// The frames stubs go to, read in one pass however many stubs there are.
#[derive(Debug, Default)]
pub(crate) struct Captured<'a> {
    frames: Vec<Frame<'a>>,
}

/// A frame in absolute form.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    bci: u32,
    pub(crate) locals: Types,
    stack: TypeList<'a>,
}

impl<'a> Captured<'a> {
    /// Frames at the targets of all edges with snippets.
    pub(crate) fn targets_of(
        layout: &Layout,
        table: Option<&'a [u8]>,
        entry: &Types,
        max_locals: u16,
    ) -> Result<Self, EditError> {
        let mut frames = Vec::new();
        if layout.edges.is_empty() {
            return Ok(Captured { frames });
        }
        let mut targets: Vec<u32> = layout.edges.iter().map(|e| e.target).collect();
        targets.sort_unstable();
        let mut locals = entry.clone();
        let mut reader = FrameReader::new(table, &mut locals, max_locals)?;
        let mut held = 0;
        while let Some((bci, _)) = reader.advance()? {
            if targets.binary_search(&bci).is_ok() {
                held += reader.locals.len();
                if held > MAX_HELD {
                    return Err(EditError::FramesTooLarge);
                }
                frames.push(Frame { bci, locals: reader.locals.clone(), stack: reader.stack });
            }
        }
        Ok(Captured { frames })
    }

    /// The frame at a target.
    pub(crate) fn get(&self, bci: u32) -> Option<&Frame<'a>> {
        self.frames.binary_search_by_key(&bci, |f| f.bci).ok().and_then(|i| self.frames.get(i))
    }
}

/// Verification types held at a time: more than any real method has.
const MAX_HELD: usize = 1 << 20;

/// Conditional branches that became `if-not; goto_w`, in code order.
struct Trampolines<'x> {
    code: &'x [u8],
    any: bool,
    jumps: std::iter::Peekable<std::iter::Zip<std::slice::Iter<'x, u16>, std::slice::Iter<'x, bool>>>,
}

impl<'x> Trampolines<'x> {
    fn new(code: &'x [u8], jumps: &'x [u16], long: &'x [bool]) -> Self {
        Trampolines { code, any: !long.is_empty(), jumps: jumps.iter().zip(long).peekable() }
    }

    /// Drops what is not a trampoline from the front; true if nothing is left.
    #[inline]
    fn is_empty(&mut self) -> bool {
        !self.any || self.skip()
    }

    fn skip(&mut self) -> bool {
        let code = self.code;
        let is_trampoline = |bci: u32, long: bool| {
            long && Instruction::at(code, bci)
                .is_ok_and(|i| opcode(i.opcode).class == InstructionClass::Branch)
        };
        while self.jumps.next_if(|(bci, long)| !is_trampoline(u32::from(**bci), **long)).is_some() {}
        self.jumps.peek().is_none()
    }

    fn next_before(&mut self, limit: u32) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        self.jumps.next_if(|(bci, _)| u32::from(**bci) < limit).map(|(bci, _)| u32::from(*bci))
    }
}

/// Can control get to the handler other than by an exception?
pub(crate) fn is_shared_handler(editor: &CodeEditor<'_, '_, '_>, handler: u32) -> bool {
    let scan = &editor.class.scratch.scan;
    handler == 0 || scan.is_target(handler) || scan.falls_in(handler)
}

/// Where a snippet at a handler's entry goes.
pub(crate) fn handler_place(editor: &CodeEditor<'_, '_, '_>, handler: u32) -> Result<Rank, EdgeKey> {
    if is_shared_handler(editor, handler) { Err(EdgeKey::Handler(handler)) } else { Ok(Rank::Handler) }
}
