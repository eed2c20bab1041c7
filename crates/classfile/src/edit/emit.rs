//! Writing the edited `Code` attribute.

use super::frame_table;
use super::layout::{EdgeKey, Layout, padding};
use super::this::Region;
use super::{CatchAll, CodeEditor};
use crate::class::Attribute;
use crate::code::Code;
use crate::error::{EditError, Error};
use crate::instruction::Instruction;
use crate::opcode::{self, InstructionClass, opcode};
use crate::read::Reader;
use crate::scan::Scan;

/// Writes the whole attribute, name and length included, at the end of `out`.
pub(crate) fn code_attribute(
    editor: &mut CodeEditor<'_, '_, '_>,
    out: &mut Vec<u8>,
    max_stack: u16,
    catch_all: Option<&CatchAll>,
    regions: &[Region],
) -> Result<(), EditError> {
    let code = editor.code;
    let scratch = &mut editor.class.scratch;
    let new_slots: usize = scratch.new_locals.iter().map(|t| t.slots()).sum();
    let max_locals =
        u16::try_from(usize::from(code.max_locals) + new_slots).map_err(|_| EditError::TooManyLocals)?;
    out.extend(editor.attribute.name_index.to_be_bytes());
    let length_at = out.len();
    out.extend([0; 4]);
    out.extend(max_stack.to_be_bytes());
    out.extend(max_locals.to_be_bytes());
    out.extend([0; 4]);
    let start = out.len();
    instructions(out, &code, &scratch.scan, &scratch.layout)?;
    stubs(out, start, &scratch.layout)?;
    if let Some(catch_all) = catch_all {
        for _ in 0..catch_all.copies() {
            out.extend_from_slice(scratch.layout.bytes(catch_all.snippet));
        }
    }
    let size = (out.len() - start) as u32;
    patch(out, start - 4, size);
    exceptions(out, &code, &scratch.layout, catch_all, regions)?;
    attributes(editor, out, catch_all)?;
    let length = u32::try_from(out.len() - length_at - 4).map_err(|_| EditError::FramesTooLarge)?;
    patch(out, length_at, length);
    Ok(())
}

fn patch(out: &mut [u8], at: usize, value: u32) {
    if let Some(field) = out.get_mut(at..at + 4) {
        field.copy_from_slice(&value.to_be_bytes());
    }
}

/// Copies runs of code, with snippets and relocated jumps in between.
fn instructions(out: &mut Vec<u8>, code: &Code<'_>, scan: &Scan, layout: &Layout) -> Result<(), EditError> {
    let start = out.len();
    let mut copied = 0usize;
    let mut insertions = layout.insertions.iter().peekable();
    let mut jumps = scan.jumps.iter().enumerate().peekable();
    loop {
        let jump = jumps.peek().map(|(_, bci)| **bci);
        let bci = match (insertions.peek().map(|i| i.bci.into()), jump) {
            (Some(a), Some(b)) => a.min(b),
            (Some(a), None) | (None, Some(a)) => a,
            (None, None) => break,
        };
        out.extend_from_slice(code.bytes.get(copied..bci as usize).unwrap_or_default());
        copied = bci as usize;
        while let Some(i) = insertions.next_if(|i| u32::from(i.bci) == bci) {
            out.extend_from_slice(layout.bytes(i.snippet));
        }
        if jump == Some(bci) {
            let long = jumps.next().is_some_and(|(i, _)| layout.long.get(i) == Some(&true));
            let instruction = Instruction::at(code.bytes, bci)?;
            let position = (out.len() - start) as u32;
            if opcode(instruction.opcode).class == InstructionClass::Switch {
                switch(out, &instruction, position, layout);
            } else {
                branch(out, &instruction, position, layout, long)?;
            }
            copied = instruction.end() as usize;
        }
    }
    out.extend_from_slice(code.bytes.get(copied..).unwrap_or_default());
    Ok(())
}

fn offset(from: u32, to: u32) -> i32 {
    (i64::from(to) - i64::from(from)) as i32
}

fn branch(
    out: &mut Vec<u8>,
    instruction: &Instruction<'_>,
    position: u32,
    layout: &Layout,
    long: bool,
) -> Result<(), EditError> {
    let op = instruction.opcode;
    let stub = layout.stub(EdgeKey::Branch(instruction.bci));
    let to = stub.unwrap_or_else(|| layout.label(instruction.branch_target().unwrap_or(0)));
    let distance = offset(position, to);
    if instruction.len() == 5 {
        out.push(op);
        out.extend(distance.to_be_bytes());
    } else if !long {
        let distance = i16::try_from(distance).map_err(|_| EditError::OffsetOverflow)?;
        out.push(op);
        out.extend(distance.to_be_bytes());
    } else if opcode(op).class == InstructionClass::Branch {
        out.extend([inverse(op), 0, 8, opcode::GOTO_W]);
        out.extend(offset(position + 3, to).to_be_bytes());
    } else {
        out.push(if op == opcode::JSR { opcode::JSR_W } else { opcode::GOTO_W });
        out.extend(distance.to_be_bytes());
    }
    Ok(())
}

/// The branch taken exactly when `op` is not.
fn inverse(op: u8) -> u8 {
    match op {
        // ifnull and ifnonnull are 0xc6 and 0xc7, all others pair up from 0x99.
        opcode::IFNULL | opcode::IFNONNULL => op ^ 1,
        _ => ((op + 1) ^ 1).wrapping_sub(1),
    }
}

fn switch(out: &mut Vec<u8>, instruction: &Instruction<'_>, position: u32, layout: &Layout) {
    let Some(switch) = instruction.switch() else { return };
    let bci = instruction.bci;
    let to = |key: EdgeKey, target: u32| {
        offset(position, layout.stub(key).unwrap_or_else(|| layout.label(target))).to_be_bytes()
    };
    out.push(instruction.opcode);
    out.extend(std::iter::repeat_n(0, usize::try_from(padding(position)).unwrap_or(0)));
    out.extend(to(EdgeKey::Default(bci), switch.default));
    let count = switch.len() as i32;
    match switch.low {
        Some(low) => {
            out.extend(low.to_be_bytes());
            out.extend(low.wrapping_add(count - 1).to_be_bytes());
        }
        None => out.extend(count.to_be_bytes()),
    }
    for (i, (key, target)) in switch.cases().enumerate() {
        if switch.low.is_none() {
            out.extend(key.to_be_bytes());
        }
        out.extend(to(EdgeKey::Case(bci, i as u32), target));
    }
}

/// Snippets on edges, each followed by a jump to where the edge went.
fn stubs(out: &mut Vec<u8>, start: usize, layout: &Layout) -> Result<(), EditError> {
    for (i, edge) in layout.edges.iter().enumerate() {
        out.extend_from_slice(layout.bytes(edge.snippet));
        if layout.edges.get(i + 1).is_some_and(|next| next.key == edge.key) {
            continue;
        }
        let distance = offset((out.len() - start) as u32, layout.label(edge.target));
        if layout.long.is_empty() {
            let distance = i16::try_from(distance).map_err(|_| EditError::OffsetOverflow)?;
            out.push(opcode::GOTO);
            out.extend(distance.to_be_bytes());
        } else {
            out.push(opcode::GOTO_W);
            out.extend(distance.to_be_bytes());
        }
    }
    Ok(())
}

fn exceptions(
    out: &mut Vec<u8>,
    code: &Code<'_>,
    layout: &Layout,
    catch_all: Option<&CatchAll>,
    regions: &[Region],
) -> Result<(), EditError> {
    let count = code.exceptions().len() + regions.len();
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
    let code = editor.code;
    let has_stack_maps = editor.class.class.has_stack_maps();
    let count_at = out.len();
    let mut count = code.attributes.count();
    let mut table_written = !has_stack_maps;
    out.extend(count.to_be_bytes());
    for attribute in code.attributes.iter() {
        let name = editor.class.class.pool().utf8(attribute.name_index)?;
        match name {
            b"StackMapTable" if has_stack_maps => {
                table_written = true;
                let start = begin(out, attribute.name_index);
                frame_table::write(editor, out, Some(attribute.data), catch_all)?;
                end(out, start)?;
            }
            b"LineNumberTable" => lines(out, &attribute, &editor.class.scratch.layout)?,
            b"LocalVariableTable" | b"LocalVariableTypeTable" => {
                variables(out, &attribute, &code, &editor.class.scratch.layout)?;
            }
            b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => {
                let start = out.len();
                if super::type_annotations::relocate(out, &attribute, &editor.class.scratch.layout).is_err() {
                    // The VM does not look inside until reflection asks; neither do we insist.
                    out.truncate(start);
                    copy(out, &attribute);
                }
            }
            _ => copy(out, &attribute),
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

fn begin(out: &mut Vec<u8>, name_index: u16) -> usize {
    out.extend(name_index.to_be_bytes());
    out.extend([0; 4]);
    out.len()
}

fn end(out: &mut [u8], start: usize) -> Result<(), EditError> {
    let length = u32::try_from(out.len() - start).map_err(|_| EditError::FramesTooLarge)?;
    patch(out, start - 4, length);
    Ok(())
}

fn copy(out: &mut Vec<u8>, attribute: &Attribute<'_>) {
    out.extend(attribute.name_index.to_be_bytes());
    out.extend((attribute.data.len() as u32).to_be_bytes());
    out.extend_from_slice(attribute.data);
}

/// New position of a line or variable range: code inserted at method entry belongs to what starts at 0.
pub(crate) fn range_start(layout: &Layout, bci: u16) -> u32 {
    if bci == 0 { 0 } else { layout.label(bci.into()) }
}

fn lines(out: &mut Vec<u8>, attribute: &Attribute<'_>, layout: &Layout) -> Result<(), EditError> {
    let start = begin(out, attribute.name_index);
    let mut r = Reader::new(attribute.data, attribute.offset);
    let count = r.u2()?;
    out.extend(count.to_be_bytes());
    for _ in 0..count {
        let (bci, line) = (r.u2()?, r.u2()?);
        out.extend((range_start(layout, bci) as u16).to_be_bytes());
        out.extend(line.to_be_bytes());
    }
    end(out, start)
}

fn variables(
    out: &mut Vec<u8>,
    attribute: &Attribute<'_>,
    code: &Code<'_>,
    layout: &Layout,
) -> Result<(), EditError> {
    let start = begin(out, attribute.name_index);
    let mut r = Reader::new(attribute.data, attribute.offset);
    let count = r.u2()?;
    out.extend(count.to_be_bytes());
    for _ in 0..count {
        let (bci, length) = (r.u2()?, r.u2()?);
        let (from, length) = range(layout, code.bytes.len(), bci, length)
            .ok_or_else(|| Error::malformed(attribute.offset, "variable outlives the code"))?;
        out.extend(from.to_be_bytes());
        out.extend(length.to_be_bytes());
        out.extend_from_slice(r.take(6)?);
    }
    end(out, start)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_has_its_inverse() {
        for (a, b) in [
            (opcode::IFEQ, opcode::IFNE),
            (opcode::IFLT, opcode::IFGE),
            (opcode::IFGT, opcode::IFLE),
            (opcode::IF_ICMPEQ, opcode::IF_ICMPNE),
            (opcode::IF_ICMPGT, opcode::IF_ICMPLE),
            (opcode::IF_ACMPEQ, opcode::IF_ACMPNE),
            (opcode::IFNULL, opcode::IFNONNULL),
        ] {
            assert_eq!((inverse(a), inverse(b)), (b, a));
        }
    }
}
