//! Calls, as they stand in code.

use std::collections::HashMap;

use quipu_classfile::opcode::{
    INVOKEINTERFACE, INVOKESPECIAL, INVOKESTATIC, INVOKEVIRTUAL, InstructionClass,
};
use quipu_classfile::{Code, ConstantPool, Instruction};

/// A call as it stands in the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Call<'a> {
    /// Internal name of the class it names.
    pub owner: &'a [u8],
    /// Method name.
    pub name: &'a [u8],
    /// Descriptor.
    pub descriptor: &'a [u8],
    /// Whether the receiver's class decides what runs.
    pub is_virtual: bool,
    /// Whether it names an interface.
    pub is_interface: bool,
}

/// Numbers by what is called, and from where if that matters. One type for all such tables: the code of a table is larger
/// than what uses it.
pub(crate) type ByTarget<'a> = HashMap<Target<'a>, u32>;
/// What is called, and from where if that matters.
pub(crate) type Target<'a> = (Call<'a>, Option<u32>);

/// The instruction's call; `None` if it is none or is malformed.
pub(crate) fn call_of<'a>(instruction: &Instruction<'_>, pool: &ConstantPool<'a>) -> Option<Call<'a>> {
    let is_virtual = match instruction.opcode {
        INVOKEVIRTUAL | INVOKEINTERFACE => true,
        INVOKESTATIC | INVOKESPECIAL => false,
        _ => return None,
    };
    let member = pool.member(instruction.pool_index()?).ok()?;
    let is_interface = instruction.opcode == INVOKEINTERFACE;
    Some(Call {
        owner: member.owner,
        name: member.name,
        descriptor: member.descriptor,
        is_virtual,
        is_interface,
    })
}

/// Constructors that throw nothing and call nothing.
pub(crate) fn is_object_constructor(call: &Call<'_>) -> bool {
    call.owner == b"java/lang/Object" && call.name == b"<init>"
}

/// Whether code calls something, or has the VM do so.
pub(crate) fn makes_calls(code: &Code<'_>) -> bool {
    code.instructions().map_while(Result::ok).any(|i| {
        matches!(
            i.info().class,
            InstructionClass::Invoke | InstructionClass::Allocation | InstructionClass::StaticField
        )
    })
}
