//! The VM's methods, read where they lie: their ids, their bytecode, their names and lines.
//!
//! All of it is read as if it might be gone, since it might: a class may be unloaded, and a version of a method freed,
//! while we look. What is found must lead back to where the search began.
//!
//! When a class is changed while its methods run, they go on in their *old versions*. One whose bytecode differs gets a
//! new number, for which there is no id; it is known by the id of the method that has its place now, which has the same
//! name and descriptor.

mod lines;
mod names;

use std::ffi::CStr;

use quipu_unwind::Memory;

use super::Structs;
pub use names::{MethodNames, Named};

const WORD: usize = size_of::<usize>();

/// Where things are in methods, and in what they belong to.
#[derive(Debug, Clone, Copy)]
pub struct MethodLayout {
    /// In `Method`.
    constant: usize,
    access: usize,
    /// In `ConstMethod`; bytecode begins where it ends.
    constant_size: usize,
    constants: usize,
    flags: usize,
    code_size: usize,
    name: usize,
    descriptor: usize,
    number: usize,
    max_stack: usize,
    has_lines: u32,
    /// In `ConstantPool`; its entries begin where it ends.
    constants_size: usize,
    holder: usize,
    source: Source,
    /// In `InstanceKlass`.
    ids: usize,
    methods: usize,
    class_name: usize,
    /// In `Array<Method*>` and `Symbol`.
    first_method: usize,
    text_length: usize,
    text: usize,
    /// What bytes of compressed numbers begin at.
    lowest_byte: u32,
    /// Whether ids are addresses of places that lead to the method; from JDK 26 on they are numbers.
    ids_are_places: bool,
}

/// Where the name of the source file is told: with the class, or since JDK 15 with its constants.
#[derive(Debug, Clone, Copy)]
enum Source {
    OfClass(usize),
    OfConstants(usize),
}

/// How a method is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Its id, as JVMTI has it.
    pub id: usize,
    /// Whether that is the id of the version that replaced it, whose bytecode is another.
    pub replaced: bool,
}

/// What a method leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Chain {
    constant: usize,
    constants: usize,
    holder: usize,
}

impl MethodLayout {
    /// Asks for everything; what is missing is told.
    pub fn of(structs: &Structs) -> Result<MethodLayout, String> {
        let text = |name: &CStr| name.to_string_lossy().into_owned();
        let offset = |structure: &'static CStr, field: &'static CStr| {
            let missing = || format!("{}::{}", text(structure), text(field));
            structs.offset(structure, field).ok_or_else(missing)
        };
        let size = |structure: &'static CStr| structs.size(structure).ok_or_else(|| text(structure));
        let feature = structs.feature().ok_or("Abstract_VM_Version::_vm_major_version")?;
        const SOURCE: &CStr = c"_source_file_name_index";
        let source = match structs.offset(c"InstanceKlass", SOURCE) {
            Some(field) => Source::OfClass(field),
            None => Source::OfConstants(offset(c"ConstantPool", SOURCE)?),
        };
        let has_lines =
            [c"ConstMethod::_has_linenumber_table", c"ConstMethodFlags::_misc_has_linenumber_table"];
        let has_lines = has_lines.into_iter().find_map(|name| structs.constant(name));
        Ok(MethodLayout {
            constant: offset(c"Method", c"_constMethod")?,
            access: offset(c"Method", c"_access_flags")?,
            constant_size: size(c"ConstMethod")?,
            constants: offset(c"ConstMethod", c"_constants")?,
            flags: offset(c"ConstMethod", c"_flags").or_else(|_| offset(c"ConstMethod", c"_flags._flags"))?,
            code_size: offset(c"ConstMethod", c"_code_size")?,
            name: offset(c"ConstMethod", c"_name_index")?,
            descriptor: offset(c"ConstMethod", c"_signature_index")?,
            number: offset(c"ConstMethod", c"_method_idnum")?,
            max_stack: offset(c"ConstMethod", c"_max_stack")?,
            has_lines: has_lines.ok_or("ConstMethod::_has_linenumber_table")?.cast_unsigned(),
            constants_size: size(c"ConstantPool")?,
            holder: offset(c"ConstantPool", c"_pool_holder")?,
            source,
            ids: offset(c"InstanceKlass", c"_methods_jmethod_ids")?,
            methods: offset(c"InstanceKlass", c"_methods")?,
            class_name: offset(c"Klass", c"_name")?,
            first_method: offset(c"Array<Method*>", c"_data")?,
            text_length: offset(c"Symbol", c"_length")?,
            text: offset(c"Symbol", c"_body")?,
            lowest_byte: u32::from(feature >= 20),
            ids_are_places: feature < 26,
        })
    }

    /// How a method is known; `None` if it is not, or this is no method.
    pub fn identify(&self, memory: Memory, method: usize) -> Option<Identity> {
        let chain = self.chain(memory, method)?;
        if let Some(id) = self.listed(memory, chain) {
            return Some(Identity { id, replaced: false });
        }
        let current = self.current_version(memory, chain)?;
        let id = self.listed(memory, self.chain(memory, current)?)?;
        Some(Identity { id, replaced: current != method })
    }

    /// How what may be a method is known, found where one might be: it must be one of its class, or have been.
    pub fn identify_suspect(&self, memory: Memory, method: usize) -> Option<Identity> {
        let found = self.identify(memory, method)?;
        if self.ids_are_places && memory.word(found.id) == Some(method) {
            return Some(found);
        }
        self.current_version(memory, self.chain(memory, method)?).map(|_| found)
    }

    /// Where the bytecode of a method is, and how long; 0 for native methods.
    pub fn bytecode(&self, memory: Memory, method: usize) -> Option<(usize, usize)> {
        let constant = pointer(memory, method.checked_add(self.constant)?)?;
        let length = memory.u16(constant + self.code_size)?;
        Some((constant + self.constant_size, usize::from(length)))
    }

    /// How many words of operands it can have on the stack.
    pub fn max_stack(&self, memory: Memory, method: usize) -> Option<usize> {
        let constant = pointer(memory, method.checked_add(self.constant)?)?;
        memory.u16(constant + self.max_stack).map(usize::from)
    }

    fn chain(&self, memory: Memory, method: usize) -> Option<Chain> {
        let constant = pointer(memory, method.checked_add(self.constant)?)?;
        let constants = pointer(memory, constant + self.constants)?;
        let holder = pointer(memory, constants + self.holder)?;
        Some(Chain { constant, constants, holder })
    }

    /// The id that the class has for the number of a method.
    fn listed(&self, memory: Memory, chain: Chain) -> Option<usize> {
        // An array of ids, with its length in the first.
        let ids = pointer(memory, chain.holder + self.ids)?;
        let number = usize::from(memory.u16(chain.constant + self.number)?);
        if number >= memory.word(ids)? {
            return None;
        }
        let id = memory.word(ids + (number + 1) * WORD).filter(|&id| id != 0)?;
        (!self.ids_are_places || is_pointer(id)).then_some(id)
    }

    /// The method of the class that has the same name and descriptor. Methods lie in the order of their names' addresses.
    fn current_version(&self, memory: Memory, chain: Chain) -> Option<usize> {
        let key = self.texts(memory, chain)?;
        let methods = pointer(memory, chain.holder + self.methods)?;
        let count = usize::try_from(memory.i32(methods)?).ok()?;
        let at = |i: usize| pointer(memory, methods + self.first_method + i * WORD);
        let texts = |i: usize| self.texts(memory, self.chain(memory, at(i)?)?);
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if texts(middle)?.0 < key.0 {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let namesakes =
            (low..count).map_while(|i| texts(i).filter(|found| found.0 == key.0).map(|found| (i, found)));
        namesakes.into_iter().find(|(_, found)| *found == key).and_then(|(i, _)| at(i))
    }

    /// Name and descriptor: there is one text of each kind, so the address says it all.
    fn texts(&self, memory: Memory, chain: Chain) -> Option<(usize, usize)> {
        let text = |field: usize| self.text_of(memory, chain, memory.u16(chain.constant + field)?);
        Some((text(self.name)?, text(self.descriptor)?))
    }

    /// A text among the constants.
    fn text_of(&self, memory: Memory, chain: Chain, index: u16) -> Option<usize> {
        pointer(memory, chain.constants + self.constants_size + usize::from(index) * WORD)
    }
}

/// What is at an address, if it can be a pointer.
fn pointer(memory: Memory, address: usize) -> Option<usize> {
    memory.word(address).filter(|&pointer| is_pointer(pointer))
}

fn is_pointer(word: usize) -> bool {
    word >= 0x1000 && word.is_multiple_of(WORD)
}
