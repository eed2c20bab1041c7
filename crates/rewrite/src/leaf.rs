//! Leaves: methods in which nothing can throw and from which nothing is called, not even by the VM.
//!
//! They need no cursor, no published slot and no handler. Most calls of a Java program are calls of such methods, so
//! accessors must be recognised: `getfield` and `putfield` cannot fail on `this`, which is never null, if the field is
//! the class's own, which is loaded.

use quipu_classfile::opcode::{
    ALOAD_0, ASTORE, ASTORE_0, GETFIELD, INVOKESPECIAL, InstructionClass, PUTFIELD,
};
use quipu_classfile::{Code, ConstantPool, Instruction, Method, access, tag};

use crate::call::{call_of, is_object_constructor};

/// Whether nothing in the method can throw or call.
pub fn is_leaf(method: &Method<'_, '_>, code: &Code<'_>) -> bool {
    if method.is(access::SYNCHRONIZED) {
        return false;
    }
    let this_is_local_0 = !method.is(access::STATIC) && !overwrites_this(code);
    prefix_end(method, code, this_is_local_0, true) == code.bytes.len() as u32
}

/// The first instruction that may throw, call, or that some run of the method does not execute.
pub fn safe_prefix(method: &Method<'_, '_>, code: &Code<'_>) -> u32 {
    let this_is_local_0 = !method.is(access::STATIC) && !overwrites_this(code);
    prefix_end(method, code, this_is_local_0, false)
}

fn overwrites_this(code: &Code<'_>) -> bool {
    code.instructions()
        .map_while(Result::ok)
        .any(|i| i.opcode == ASTORE_0 || (i.effective() == ASTORE && i.local() == Some(0)))
}

fn prefix_end(method: &Method<'_, '_>, code: &Code<'_>, this_is_local_0: bool, branches: bool) -> u32 {
    let pool = method.class().pool();
    let class = method.class().name();
    // The two instructions before the current one.
    let mut before = [None, None];
    for instruction in code.instructions() {
        let Ok(instruction) = instruction else { return 0 };
        let harmless = match instruction.info().class {
            InstructionClass::Plain => true,
            InstructionClass::Return
            | InstructionClass::Branch
            | InstructionClass::Goto
            | InstructionClass::Switch => branches,
            InstructionClass::Constant => is_plain_constant(&instruction, pool),
            InstructionClass::InstanceField => {
                this_is_local_0 && own_field(&instruction, pool, class) && on_this(&instruction, &before)
            }
            InstructionClass::Invoke => {
                instruction.opcode == INVOKESPECIAL
                    && call_of(&instruction, pool).is_some_and(|call| is_object_constructor(&call))
            }
            _ => false,
        };
        if !harmless {
            return instruction.bci;
        }
        before = [before[1], Some(instruction)];
    }
    code.bytes.len() as u32
}

fn own_field(instruction: &Instruction<'_>, pool: &ConstantPool<'_>, class: &[u8]) -> bool {
    instruction
        .pool_index()
        .and_then(|index| pool.member(index).ok())
        .is_some_and(|field| field.owner == class)
}

/// `aload_0 getfield`, or `aload_0 <push one value> putfield`.
fn on_this(instruction: &Instruction<'_>, before: &[Option<Instruction<'_>>; 2]) -> bool {
    let is_this = |i: &Option<Instruction<'_>>| i.as_ref().is_some_and(|i| i.opcode == ALOAD_0);
    match instruction.opcode {
        GETFIELD => is_this(&before[1]),
        PUTFIELD => is_this(&before[0]) && before[1].as_ref().is_some_and(pushes_a_value),
        _ => false,
    }
}

fn pushes_a_value(instruction: &Instruction<'_>) -> bool {
    let info = instruction.info();
    matches!(info.slots, Some((0, 1 | 2)))
}

fn is_plain_constant(instruction: &Instruction<'_>, pool: &ConstantPool<'_>) -> bool {
    instruction
        .pool_index()
        .and_then(|index| pool.tag(index))
        .is_some_and(|tag| matches!(tag, tag::INTEGER | tag::FLOAT | tag::LONG | tag::DOUBLE))
}
