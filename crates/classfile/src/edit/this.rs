//! Where in a constructor `this` is not yet an object.
//!
//! The verifier wants an exception handler that covers such code to declare `uninitializedThis`, and one that covers
//! other code not to. So a catch-all needs two copies of its handler. The call of `super()` or `this()` itself can be
//! in neither range: HotSpot checks its handlers with `this` initialised in the locals but not in the flags, which no
//! frame satisfies. An exception thrown by that call therefore leaves the method past the catch-all.

use super::CodeEditor;
use super::frame_table::{Captured, entry_locals};
use crate::error::EditError;
use crate::frames::FrameReader;
use crate::types::{Types, UNINITIALIZED_THIS};

/// A range of new positions for the catch-all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) uninitialized: bool,
}

fn push(regions: &mut Vec<Region>, region: Region) {
    match regions.last_mut() {
        _ if region.start >= region.end => {}
        Some(last) if last.end == region.start && last.uninitialized == region.uninitialized => {
            last.end = region.end
        }
        _ => regions.push(region),
    }
}

/// What the catch-all covers: everything after the entry snippet.
pub(crate) fn regions(
    editor: &mut CodeEditor<'_, '_, '_>,
    regions: &mut Vec<Region>,
) -> Result<(), EditError> {
    regions.clear();
    // Two are what most constructors need.
    regions.reserve_exact(2);
    let method = editor.method;
    let constructor = method.name() == b"<init>" && method.class().super_name().is_some();
    let whole = Region {
        start: editor.class.scratch.layout.entry_len,
        end: editor.class.scratch.layout.stubs_end,
        uninitialized: false,
    };
    // The old verifier merges what reaches a handler, and `athrow` needs no `this`.
    if !constructor || !method.class().has_stack_maps() {
        push(regions, whole);
        return Ok(());
    }
    let mut entry = Types::default();
    entry_locals(editor, &mut entry)?;
    let code = editor.class.code;
    let table = code.attributes.find(method.class().pool(), b"StackMapTable").map(|a| a.data);
    let mut locals = entry.clone();
    let mut reader = FrameReader::new(table, &mut locals, code.max_locals)?;
    let class = &mut *editor.class;
    let scratch = &mut class.scratch;
    let (layout, scan) = (&scratch.layout, &scratch.scan);
    let simulator = &mut scratch.simulator;
    simulator.precise = false;
    simulator.load(reader.locals, reader.stack, code.max_locals);
    let mut uninitialized = true;
    let mut start = whole.start;
    for bci in scan.starts() {
        let at_frame = reader.peek()? == Some(bci);
        if at_frame {
            reader.advance()?;
            simulator.load(reader.locals, reader.stack, code.max_locals);
            let now = simulator.holds_uninitialized_this();
            if now != uninitialized {
                push(regions, Region { start, end: layout.label(bci), uninitialized });
                (start, uninitialized) = (layout.label(bci), now);
            }
        } else if bci != 0 && !scan.falls_in(bci) {
            // HotSpot keeps no frames of classes it does not verify, so a retransformed one comes without any. Nothing
            // will check the handlers then.
            if table.is_none() {
                regions.clear();
                push(regions, whole);
                return Ok(());
            }
            return Err(EditError::MissingFrame { bci });
        }
        if uninitialized && simulator.locals.first().is_none_or(|t| t.tag != UNINITIALIZED_THIS) {
            return Err(EditError::UntrackedThis { bci });
        }
        if simulator.step(&code, bci, &mut class.pool, method.class().this_class())? {
            let call = layout.instruction(bci);
            push(regions, Region { start, end: call, uninitialized });
            (start, uninitialized) = (call + 3, false);
        }
    }
    push(regions, Region { start, end: layout.code_end, uninitialized });

    let captured = Captured::targets_of(layout, table, &entry, code.max_locals)?;
    for (i, edge) in layout.edges.iter().enumerate() {
        if edge.position == u32::MAX {
            continue;
        }
        let next = layout.edges.iter().skip(i + 1).find(|e| e.position != u32::MAX);
        let end = next.map_or(layout.stubs_end, |e| e.position);
        let uninitialized = match captured.get(edge.target) {
            Some(target) => target.locals.iter().any(|t| t.tag == UNINITIALIZED_THIS),
            None if table.is_none() => false,
            None => return Err(EditError::MissingFrame { bci: edge.target }),
        };
        push(regions, Region { start: edge.position, end, uninitialized });
    }
    Ok(())
}
