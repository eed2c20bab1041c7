//! The VM's methods: their ids, which outlive them, and their bytecode.

use quipu_unwind::Memory;

use super::layout::Layout;

/// The id of a method, as JVMTI knows it; `None` if it has none, or this is no method.
pub fn id(memory: Memory, layout: &Layout, method: usize) -> Option<usize> {
    let constant = pointer(memory, method.checked_add(layout.method_const)?)?;
    let constants = pointer(memory, constant + layout.const_constants)?;
    let holder = pointer(memory, constants + layout.constants_holder)?;
    // An array of ids, with its length in the first.
    let ids = pointer(memory, holder + layout.holder_ids)?;
    let number = usize::from(memory.u16(constant + layout.const_number)?);
    if number >= memory.word(ids)? {
        return None;
    }
    pointer(memory, ids + (number + 1) * size_of::<usize>())
}

/// The id of what may be a method, found where one might be: it must lead back to the method.
pub fn id_of_suspect(memory: Memory, layout: &Layout, method: usize) -> Option<usize> {
    let id = id(memory, layout, method)?;
    (memory.word(id)? == method).then_some(id)
}

/// Where the bytecode of a method is, and how long; 0 for native methods.
pub fn bytecode(memory: Memory, layout: &Layout, method: usize) -> Option<(usize, usize)> {
    let constant = pointer(memory, method.checked_add(layout.method_const)?)?;
    let length = memory.u16(constant + layout.const_code_size)?;
    Some((constant + layout.const_method_size, usize::from(length)))
}

/// How many words of operands it can have on the stack.
pub fn max_stack(memory: Memory, layout: &Layout, method: usize) -> Option<usize> {
    let constant = pointer(memory, method.checked_add(layout.method_const)?)?;
    memory.u16(constant + layout.const_max_stack).map(usize::from)
}

/// What is at an address, if it can be a pointer.
fn pointer(memory: Memory, address: usize) -> Option<usize> {
    memory.word(address).filter(|&pointer| pointer >= 0x1000 && pointer % size_of::<usize>() == 0)
}
