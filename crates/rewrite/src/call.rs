//! Calls, as they stand in code.

use std::collections::HashMap;

use quipu_classfile::opcode::{
    INVOKEINTERFACE, INVOKESPECIAL, INVOKESTATIC, INVOKEVIRTUAL, InstructionClass,
};
use quipu_classfile::{ClassFile, Code, ConstantPool, Instruction};

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

/// A method that the VM calls for an `invokedynamic`, as pool indices.
pub(crate) struct Bootstrap {
    /// Its handle.
    pub method: u16,
    /// What it is given.
    pub arguments: Vec<u16>,
}

/// The bootstrap methods of a class, as far as their table makes sense.
pub(crate) fn bootstrap_methods(class: &ClassFile<'_>) -> Vec<Bootstrap> {
    let Some(table) = class.attributes().find(class.pool(), b"BootstrapMethods") else { return Vec::new() };
    let mut words =
        table.data.chunks_exact(2).map(|word| word.iter().fold(0, |n, &byte| n << 8 | u16::from(byte)));
    let count = words.next().unwrap_or(0);
    let mut found = Vec::new();
    for _ in 0..count {
        let (Some(method), Some(arguments)) = (words.next(), words.next()) else { break };
        found.push(Bootstrap { method, arguments: words.by_ref().take(usize::from(arguments)).collect() });
    }
    found
}
