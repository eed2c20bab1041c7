//! Writing code with snippets in between, and finding out where everything goes, in one pass.
//!
//! Jumps are copied as they were. When the pass is over all positions are known, and the jumps get their new
//! distances. A jump that does not reach gets its long form, and the pass is repeated; that takes code of 32 KB.

use super::layout::{EdgeKey, Held, Insertion, Layout, Span, padding};
use super::make_room;
use super::pen::{Pen, SPARE};
use super::positions::Positions;
use crate::class::Attribute;
use crate::code::Code;
use crate::error::EditError;
use crate::instruction::{Instruction, branch_target_at, length_at};
use crate::opcode::{self, InstructionClass, opcode};
use crate::scan::Scan;

/// Where in a `Code` attribute the code begins: after name, length, sizes of stack and locals, and its own length.
pub(crate) const CODE_AT: usize = 14;

/// Writes the code and its stubs at the end of `out`.
pub(crate) fn code(
    out: &mut Vec<u8>,
    class: &[u8],
    attribute: &Attribute<'_>,
    code: &Code<'_>,
    scan: &Scan,
    layout: &mut Layout,
) -> Result<(), EditError> {
    // Runs are copied from the class: behind the code there are bytes to spare.
    let old = class.get(attribute.offset + CODE_AT..).unwrap_or_default();
    layout.sort();
    let most = layout.longest(code, scan);
    // Far above what can be shrunk to a method by fewer long jumps than expected.
    if most > 1 << 20 {
        return Err(EditError::TooLarge { size: u32::try_from(most).unwrap_or(u32::MAX) });
    }
    let start = out.len();
    make_room(out, most as usize + SPARE);
    out.resize(start + most as usize + SPARE, 0);
    let mut pen = Pen::new(out.get_mut(start..).unwrap_or_default());
    loop {
        pass(&mut pen, old, code, scan, layout);
        layout.place_stubs(pen.position());
        if layout.stubs_end > 65_535 {
            return Err(EditError::TooLarge { size: layout.stubs_end });
        }
        let stubs_reach = stubs(&mut pen, layout);
        let jumps_reach = relocate(&mut pen, code, scan, layout)?;
        if stubs_reach && jumps_reach {
            break;
        }
        layout.long.resize(scan.jumps.len().max(1), false);
        pen.restart();
    }
    let end = start + layout.stubs_end as usize;
    out.truncate(end);
    Ok(())
}

/// Copies runs of code, with snippets in between.
#[inline(never)]
fn pass(pen: &mut Pen<'_>, old: &[u8], code: &Code<'_>, scan: &Scan, layout: &mut Layout) {
    if scan.switches != 0 || !layout.long.is_empty() {
        return pass_with_jumps(pen, old, code, scan, layout);
    }
    let Layout { insertions, snippets, positions, .. } = layout;
    positions.begin(code, insertions.len());
    let mut copied = 0;
    for insertion in &*insertions {
        let bci = insertion.bci() as usize;
        pen.copy(old, copied, bci);
        copied = bci;
        insert(pen, snippets, positions, *insertion);
    }
    pen.copy(old, copied, code.bytes.len());
}

/// The same where jumps may get another length.
#[inline(never)]
fn pass_with_jumps(pen: &mut Pen<'_>, old: &[u8], code: &Code<'_>, scan: &Scan, layout: &mut Layout) {
    let Layout { insertions, snippets, positions, long, .. } = layout;
    positions.begin(code, insertions.len() + scan.jumps.len());
    let mut insertions = insertions.iter().copied().peekable();
    let mut copied = 0;
    for (i, &bci) in scan.jumps.iter().enumerate() {
        while let Some(insertion) = insertions.next_if(|insertion| insertion.bci() <= u32::from(bci)) {
            pen.copy(old, copied, insertion.bci() as usize);
            copied = insertion.bci() as usize;
            insert(pen, snippets, positions, insertion);
        }
        let bci = usize::from(bci);
        pen.copy(old, copied, bci);
        copied = bci + length_at(code.bytes, bci).unwrap_or(1);
        copy_jump(pen, code, bci, copied, long.get(i) == Some(&true));
        positions.step(copied, (pen.position() as u16).wrapping_sub(copied as u16));
    }
    for insertion in insertions {
        pen.copy(old, copied, insertion.bci() as usize);
        copied = insertion.bci() as usize;
        insert(pen, snippets, positions, insertion);
    }
    pen.copy(old, copied, code.bytes.len());
}

/// Writes a snippet.
#[inline(always)]
fn insert(pen: &mut Pen<'_>, snippets: &[u8], positions: &mut Positions, insertion: Insertion) {
    match insertion.held() {
        Held::Short(bytes, len) => pen.put_some(bytes, len),
        Held::Kept(span) => snippet(pen, snippets, span),
    }
    // What branches to the instruction goes to the snippet unless that is above the label.
    let bci = insertion.bci();
    let moved = bci + u32::from(!insertion.is_above_label());
    positions.step(moved as usize, (pen.position() as u16).wrapping_sub(bci as u16));
}

#[inline]
fn snippet(pen: &mut Pen<'_>, snippets: &[u8], span: Span) {
    let start = usize::from(span.start);
    pen.copy(snippets, start, start + usize::from(span.len));
}

/// Writes a jump in the form it needs, without its distances.
fn copy_jump(pen: &mut Pen<'_>, code: &Code<'_>, bci: usize, next: usize, is_long: bool) {
    let op = code.bytes.get(bci).copied().unwrap_or(0);
    match opcode(op).class {
        InstructionClass::Switch => {
            let operands = (bci & !3) + 4;
            let padding = padding(pen.position());
            pen.put([op]);
            pen.put_some([0; 3], padding);
            pen.copy(code.bytes, operands, next);
        }
        _ if next - bci == 3 && !is_long => pen.put([op, 0, 0]),
        InstructionClass::Branch => pen.put([inverse(op), 0, 8, opcode::GOTO_W, 0, 0, 0, 0]),
        InstructionClass::Jsr => pen.put([opcode::JSR_W, 0, 0, 0, 0]),
        _ => pen.put([opcode::GOTO_W, 0, 0, 0, 0]),
    }
}

/// The branch taken exactly when `op` is not.
fn inverse(op: u8) -> u8 {
    match op {
        // ifnull and ifnonnull are 0xc6 and 0xc7, all others pair up from 0x99.
        opcode::IFNULL | opcode::IFNONNULL => op ^ 1,
        _ => ((op + 1) ^ 1).wrapping_sub(1),
    }
}

/// Snippets on edges, each followed by a jump to where the edge went. False if one does not reach.
fn stubs(pen: &mut Pen<'_>, layout: &Layout) -> bool {
    let mut all_reach = true;
    for (i, edge) in layout.edges.iter().enumerate() {
        snippet(pen, &layout.snippets, edge.snippet);
        if layout.edges.get(i + 1).is_some_and(|next| next.key == edge.key) {
            continue;
        }
        let distance = offset(pen.position(), layout.label(edge.target));
        if layout.long.is_empty() {
            let [hi, lo] = (distance as i16).to_be_bytes();
            pen.put([opcode::GOTO, hi, lo]);
            all_reach &= i16::try_from(distance).is_ok();
        } else {
            let [a, b, c, d] = distance.to_be_bytes();
            pen.put([opcode::GOTO_W, a, b, c, d]);
        }
    }
    all_reach
}

fn offset(from: u32, to: u32) -> i32 {
    (i64::from(to) - i64::from(from)) as i32
}

/// Gives all jumps their distances. False if some do not reach: those are marked as long.
fn relocate(pen: &mut Pen<'_>, code: &Code<'_>, scan: &Scan, layout: &mut Layout) -> Result<bool, EditError> {
    let mut all_reach = true;
    for (i, &bci) in scan.jumps.iter().enumerate() {
        // Its second byte is moved as far as the first, and by all that is inserted before it.
        let position = layout.label(u32::from(bci) + 1) - 1;
        let op = code.bytes.get(usize::from(bci)).copied().unwrap_or(0);
        let class = opcode(op).class;
        if class == InstructionClass::Switch {
            switch(pen, &Instruction::at(code.bytes, bci.into())?, position, layout);
            continue;
        }
        let length = usize::from(opcode(op).length);
        let target = branch_target_at(code.bytes, bci.into(), length).unwrap_or(0);
        let to = layout.stub(EdgeKey::Branch(bci.into())).unwrap_or_else(|| layout.label(target));
        let distance = offset(position, to);
        let is_long = layout.long.get(i) == Some(&true);
        if length != 3 {
            pen.patch(position + 1, distance.to_be_bytes());
        } else if !is_long && let Ok(distance) = i16::try_from(distance) {
            pen.patch(position + 1, distance.to_be_bytes());
        } else if !is_long {
            layout.long.resize(scan.jumps.len(), false);
            if let Some(long) = layout.long.get_mut(i) {
                *long = true;
            }
            all_reach = false;
        } else if class == InstructionClass::Branch {
            // The `goto_w` after the inverted condition.
            pen.patch(position + 4, offset(position + 3, to).to_be_bytes());
        } else {
            pen.patch(position + 1, distance.to_be_bytes());
        }
    }
    Ok(all_reach)
}

fn switch(pen: &mut Pen<'_>, instruction: &Instruction<'_>, position: u32, layout: &Layout) {
    let Some(switch) = instruction.switch() else { return };
    let bci = instruction.bci;
    let to = |key: EdgeKey, target: u32| {
        offset(position, layout.stub(key).unwrap_or_else(|| layout.label(target))).to_be_bytes()
    };
    let operands = position + 1 + u32::from(padding(position));
    pen.patch(operands, to(EdgeKey::Default(bci), switch.default));
    // After the default come the lowest and highest key and the distances, or a count and pairs of key and distance.
    let stride = if switch.low.is_some() { 4 } else { 8 };
    for ((i, (_, target)), at) in (0..).zip(switch.cases()).zip((operands + 12..).step_by(stride)) {
        pen.patch(at, to(EdgeKey::Case(bci, i), target));
    }
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
