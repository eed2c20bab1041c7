//! Writing the edited `Code` attribute.

use super::frame_table;
use super::layout::{EdgeKey, Layout};
use super::this::Region;
use super::{CatchAll, CodeEditor};
use super::{make_room, weave};
use crate::class::{Attribute, Attributes};
use crate::code::Code;
use crate::error::{EditError, Error};
use crate::pool::ConstantPool;
use crate::read::be16;

/// Writes the whole attribute, name and length included, at the end of `out`. Returns the length of the code.
pub(crate) fn code_attribute(
    editor: &mut CodeEditor<'_, '_, '_>,
    out: &mut Vec<u8>,
    max_stack: u16,
) -> Result<u32, EditError> {
    let code = editor.class.code;
    let scratch = &mut editor.class.scratch;
    let max_locals = u16::try_from(usize::from(code.max_locals) + scratch.new_locals.slots())
        .map_err(|_| EditError::TooManyLocals)?;
    let body = begin(out, editor.class.attribute.name_index);
    let ([a, b], [c, d]) = (max_stack.to_be_bytes(), max_locals.to_be_bytes());
    out.extend_from_slice(&[a, b, c, d, 0, 0, 0, 0]);
    let start = out.len();
    weave::code(
        out,
        editor.class.class.bytes(),
        &editor.class.attribute,
        &code,
        &scratch.scan,
        &mut scratch.layout,
    )?;
    let catch_all = editor.place_catch_all()?;
    if let Some(catch_all) = &catch_all {
        for _ in 0..catch_all.copies() {
            out.extend_from_slice(editor.class.scratch.layout.bytes(catch_all.snippet));
        }
    }
    let size = editor.check_size(out.len() - start)?;
    patch(out, start - 4, size);
    let scratch = &editor.class.scratch;
    exceptions(out, &code, &scratch.layout, catch_all.as_ref(), &scratch.regions)?;
    attributes(editor, out, catch_all.as_ref())?;
    end(out, body)?;
    Ok(size)
}

/// What an attribute is, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Code,
    Frames,
    Lines,
    Variables,
    TypeAnnotations,
    Other,
}

/// Kinds of attributes by the index of their name: methods of a class use the same few.
#[derive(Debug)]
pub(crate) struct Kinds([(u16, Kind); Kinds::KEPT]);

impl Default for Kinds {
    fn default() -> Self {
        // No name has index 0.
        Kinds([(0, Kind::Other); Self::KEPT])
    }
}

impl Kinds {
    const KEPT: usize = 8;

    /// The first attribute that is code.
    #[inline]
    pub(crate) fn code<'a>(
        &mut self,
        attributes: &Attributes<'a>,
        pool: &ConstantPool<'_>,
    ) -> Option<Attribute<'a>> {
        attributes.iter().find(|attribute| self.of(attribute.name_index, pool) == Ok(Kind::Code))
    }

    #[inline]
    fn of(&mut self, name_index: u16, pool: &ConstantPool<'_>) -> Result<Kind, Error> {
        match self.0.get(usize::from(name_index) % Self::KEPT) {
            Some(&(index, kind)) if index == name_index && index != 0 => Ok(kind),
            _ => self.find(name_index, pool),
        }
    }

    #[cold]
    fn find(&mut self, name_index: u16, pool: &ConstantPool<'_>) -> Result<Kind, Error> {
        let kind = match pool.utf8(name_index)? {
            b"Code" => Kind::Code,
            b"StackMapTable" => Kind::Frames,
            b"LineNumberTable" => Kind::Lines,
            b"LocalVariableTable" | b"LocalVariableTypeTable" => Kind::Variables,
            b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => Kind::TypeAnnotations,
            _ => Kind::Other,
        };
        if let Some(kept) = self.0.get_mut(usize::from(name_index) % Self::KEPT) {
            *kept = (name_index, kind);
        }
        Ok(kind)
    }
}

fn patch(out: &mut [u8], at: usize, value: u32) {
    if let Some(field) = out.get_mut(at..at + 4) {
        field.copy_from_slice(&value.to_be_bytes());
    }
}

/// Where it goes what snippets at handlers throw: to the handler if that takes all there is, else to those around it. Not to
/// their snippets, which could go on for ever.
fn guards(code: &Code<'_>, layout: &Layout) -> Vec<(u32, u32, u32, u16)> {
    let mut rows = Vec::new();
    for (start, end, target) in layout.guards() {
        if code.exceptions().any(|e| u32::from(e.handler) == target && e.catch_type == 0) {
            rows.push((start, end, target, 0));
            continue;
        }
        let around = code.exceptions().filter(|e| (u32::from(e.start)..u32::from(e.end)).contains(&target));
        rows.extend(around.map(|e| (start, end, e.handler.into(), e.catch_type)));
    }
    rows
}

fn exceptions(
    out: &mut Vec<u8>,
    code: &Code<'_>,
    layout: &Layout,
    catch_all: Option<&CatchAll>,
    regions: &[Region],
) -> Result<(), EditError> {
    let guards = guards(code, layout);
    let count = code.exceptions().len() + guards.len() + regions.len();
    out.extend(u16::try_from(count).map_err(|_| EditError::OffsetOverflow)?.to_be_bytes());
    let mut row = |start: u32, end: u32, handler: u32, catch_type: u16| -> Result<(), EditError> {
        for field in [start, end, handler] {
            out.extend(u16::try_from(field).map_err(|_| EditError::OffsetOverflow)?.to_be_bytes());
        }
        out.extend(catch_type.to_be_bytes());
        Ok(())
    };
    for e in code.exceptions() {
        let stub = layout.stub(EdgeKey::Handler(e.handler.into()));
        let handler = stub.unwrap_or_else(|| layout.label(e.handler.into()));
        row(layout.label(e.start.into()), layout.label(e.end.into()), handler, e.catch_type)?;
    }
    for (start, end, handler, catch_type) in guards {
        row(start, end, layout.label(handler), catch_type)?;
    }
    for region in regions {
        let handler = catch_all.map_or(0, |c| c.position(region.uninitialized));
        row(region.start, region.end, handler, 0)?;
    }
    Ok(())
}

fn attributes(
    editor: &mut CodeEditor<'_, '_, '_>,
    out: &mut Vec<u8>,
    catch_all: Option<&CatchAll>,
) -> Result<(), EditError> {
    let code = editor.class.code;
    let has_stack_maps = editor.class.class.has_stack_maps();
    let count_at = out.len();
    let mut count = code.attributes.count();
    let mut table_written = !has_stack_maps;
    out.extend(count.to_be_bytes());
    for attribute in code.attributes.iter() {
        // Three kinds are nearly all there is: to compare them takes less than to jump by kind.
        let kind = editor.class.kinds.of(attribute.name_index, editor.class.class.pool())?;
        if kind == Kind::Lines {
            lines(out, &attribute, &editor.class.scratch.layout)?;
        } else if kind == Kind::Frames && has_stack_maps {
            table_written = true;
            let start = begin(out, attribute.name_index);
            frame_table::write(editor, out, Some(attribute.data), catch_all)?;
            end(out, start)?;
        } else if kind == Kind::Variables {
            variables(out, &attribute, &code, &editor.class.scratch.layout)?;
        } else {
            others(out, &attribute, kind, &editor.class.scratch.layout);
        }
    }
    if !table_written && (catch_all.is_some() || !editor.class.scratch.layout.edges.is_empty()) {
        let name = editor.class.pool.utf8(b"StackMapTable")?;
        let start = begin(out, name);
        frame_table::write(editor, out, None, catch_all)?;
        end(out, start)?;
        count = count.checked_add(1).ok_or(EditError::OffsetOverflow)?;
    }
    if let Some(field) = out.get_mut(count_at..count_at + 2) {
        field.copy_from_slice(&count.to_be_bytes());
    }
    Ok(())
}

#[inline(never)]
fn others(out: &mut Vec<u8>, attribute: &Attribute<'_>, kind: Kind, layout: &Layout) {
    let start = out.len();
    // The VM does not look inside type annotations until reflection asks; neither do we insist on what is in there.
    if kind != Kind::TypeAnnotations || super::type_annotations::relocate(out, attribute, layout).is_err() {
        out.truncate(start);
        copy(out, attribute);
    }
}

fn begin(out: &mut Vec<u8>, name_index: u16) -> usize {
    let [hi, lo] = name_index.to_be_bytes();
    out.extend_from_slice(&[hi, lo, 0, 0, 0, 0]);
    out.len()
}

fn end(out: &mut [u8], start: usize) -> Result<(), EditError> {
    let length = u32::try_from(out.len() - start).map_err(|_| EditError::FramesTooLarge)?;
    patch(out, start - 4, length);
    Ok(())
}

fn copy(out: &mut Vec<u8>, attribute: &Attribute<'_>) {
    let ([a, b], [c, d, e, f]) =
        (attribute.name_index.to_be_bytes(), (attribute.data.len() as u32).to_be_bytes());
    make_room(out, 6 + attribute.data.len());
    out.extend_from_slice(&[a, b, c, d, e, f]);
    out.extend_from_slice(attribute.data);
}

/// New position of a line or variable range: code inserted at method entry belongs to what starts at 0.
pub(crate) fn range_start(layout: &Layout, bci: u16) -> u32 {
    if bci == 0 { 0 } else { layout.label(bci.into()) }
}

/// Copies an attribute that is a counted table of rows of `N` bytes, and changes the rows.
#[inline]
fn table<const N: usize>(
    out: &mut Vec<u8>,
    attribute: &Attribute<'_>,
    change: impl FnMut(&mut [u8; N]) -> Option<()>,
) -> Result<(), EditError> {
    let count = be16(attribute.data, 0).map_or(0, usize::from);
    copy(out, attribute);
    let start = out.len() - attribute.data.len();
    let rows = out.get_mut(start + 2..).map_or(&mut [][..], |rows| rows.as_chunks_mut().0);
    let rows = rows.get_mut(..count);
    rows.and_then(|rows| rows.iter_mut().try_for_each(change))
        .ok_or_else(|| Error::malformed(attribute.offset, "rows cut short or outside of the code").into())
}

fn lines(out: &mut Vec<u8>, attribute: &Attribute<'_>, layout: &Layout) -> Result<(), EditError> {
    if let Some(shift) = layout.positions.only_shift() {
        return table(out, attribute, |[hi, lo, _, _]| {
            let bci = u16::from_be_bytes([*hi, *lo]);
            [*hi, *lo] = if bci == 0 { [0; 2] } else { bci.wrapping_add(shift).to_be_bytes() };
            Some(())
        });
    }
    table(out, attribute, |[hi, lo, _, _]| {
        [*hi, *lo] = (range_start(layout, u16::from_be_bytes([*hi, *lo])) as u16).to_be_bytes();
        Some(())
    })
}

fn variables(
    out: &mut Vec<u8>,
    attribute: &Attribute<'_>,
    code: &Code<'_>,
    layout: &Layout,
) -> Result<(), EditError> {
    let only_shift = layout.positions.only_shift();
    table(out, attribute, |row: &mut [u8; 10]| {
        let (position, _) = row.split_first_chunk_mut::<4>()?;
        let [a, b, c, d] = *position;
        let old = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        let (from, length) = match only_shift {
            // What starts at 0 gets longer, all else is only moved.
            Some(shift) if usize::from(old.0) + usize::from(old.1) <= code.bytes.len() => match old {
                (0, 0) => old,
                (0, length) => (0, length.wrapping_add(shift)),
                (bci, length) => (bci.wrapping_add(shift), length),
            },
            _ => range(layout, code.bytes.len(), old.0, old.1)?,
        };
        let ([a, b], [c, d]) = (from.to_be_bytes(), length.to_be_bytes());
        *position = [a, b, c, d];
        Some(())
    })
}

/// A `start_pc, length` pair relocated; `None` if it leaves the code.
pub(crate) fn range(layout: &Layout, code_len: usize, bci: u16, length: u16) -> Option<(u16, u16)> {
    let last = u32::from(bci) + u32::from(length);
    if last as usize > code_len {
        return None;
    }
    let from = range_start(layout, bci);
    let to = if length == 0 { from } else { layout.label(last) };
    Some((u16::try_from(from).ok()?, u16::try_from(to.checked_sub(from)?).ok()?))
}
