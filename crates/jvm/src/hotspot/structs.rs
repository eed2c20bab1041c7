//! The tables in which HotSpot describes its own structures, made for the serviceability agent.

use super::Library;
use std::ffi::{CStr, c_char, c_void};

/// Where fields of HotSpot's structures are, how large they are, and what its constants stand for.
#[derive(Debug, Clone, Copy)]
pub struct Structs {
    fields: Table,
    field_name: usize,
    offset: usize,
    address: usize,
    types: Table,
    size: usize,
    constants: Table,
    value: usize,
}

/// An array of entries that begin with a name; the last has none.
#[derive(Debug, Clone, Copy)]
struct Table {
    first: *const u8,
    stride: usize,
    name: usize,
}

// SAFETY: the tables are constant.
unsafe impl Send for Structs {}
// SAFETY: as above.
unsafe impl Sync for Structs {}

impl Structs {
    /// The tables of this VM, if it has them.
    pub fn of(library: Library) -> Option<Structs> {
        // SAFETY: HotSpot exports these as 64-bit numbers and pointers; they are constants.
        unsafe {
            let number = |name: &CStr| {
                let value = library.symbol(name)?.cast::<u64>().read();
                usize::try_from(value).ok()
            };
            let table = |first: &CStr, stride: &CStr, name: &CStr| {
                let first = library.symbol(first)?.cast::<*const u8>().read();
                let (stride, name) = (number(stride)?, number(name)?);
                (!first.is_null() && stride != 0).then_some(Table { first, stride, name })
            };
            Some(Structs {
                fields: table(
                    c"gHotSpotVMStructs",
                    c"gHotSpotVMStructEntryArrayStride",
                    c"gHotSpotVMStructEntryTypeNameOffset",
                )?,
                field_name: number(c"gHotSpotVMStructEntryFieldNameOffset")?,
                offset: number(c"gHotSpotVMStructEntryOffsetOffset")?,
                address: number(c"gHotSpotVMStructEntryAddressOffset")?,
                types: table(
                    c"gHotSpotVMTypes",
                    c"gHotSpotVMTypeEntryArrayStride",
                    c"gHotSpotVMTypeEntryTypeNameOffset",
                )?,
                size: number(c"gHotSpotVMTypeEntrySizeOffset")?,
                constants: table(
                    c"gHotSpotVMIntConstants",
                    c"gHotSpotVMIntConstantEntryArrayStride",
                    c"gHotSpotVMIntConstantEntryNameOffset",
                )?,
                value: number(c"gHotSpotVMIntConstantEntryValueOffset")?,
            })
        }
    }

    /// Offset of a field in a structure; fields of a base class may be listed under the base only.
    pub fn offset(&self, structure: &CStr, field: &CStr) -> Option<usize> {
        // SAFETY: the entry is one of the table's, which has a 64-bit number there.
        let offset = unsafe { self.field(structure, field)?.add(self.offset).cast::<u64>().read_unaligned() };
        usize::try_from(offset).ok()
    }

    /// Address of a static field.
    pub fn address(&self, structure: &CStr, field: &CStr) -> Option<*const c_void> {
        // SAFETY: as above, with a pointer.
        let address = unsafe {
            self.field(structure, field)?.add(self.address).cast::<*const c_void>().read_unaligned()
        };
        (!address.is_null()).then_some(address)
    }

    /// Size of a structure.
    pub fn size(&self, structure: &CStr) -> Option<usize> {
        let entry = self.types.entries().find(|&(_, name)| name == structure)?.0;
        // SAFETY: as above, with a number of 64 bits.
        usize::try_from(unsafe { entry.add(self.size).cast::<u64>().read_unaligned() }).ok()
    }

    /// The feature release of the JDK that the VM is of. Before JDK 9 HotSpot had numbers of its own, 25 with JDK 8; what tells
    /// the two apart is that security updates had no number then.
    pub fn feature(&self) -> Option<i32> {
        const VERSION: &CStr = c"Abstract_VM_Version";
        let version = self.address(VERSION, c"_vm_major_version")?;
        if self.address(VERSION, c"_vm_security_version").is_none() {
            return Some(8);
        }
        // SAFETY: a number of the VM's, which it has written long ago.
        Some(unsafe { version.cast::<i32>().read() })
    }

    /// Value of a constant.
    pub fn constant(&self, name: &CStr) -> Option<i32> {
        let entry = self.constants.entries().find(|&(_, found)| found == name)?.0;
        // SAFETY: as above, with a number of 32 bits.
        Some(unsafe { entry.add(self.value).cast::<i32>().read_unaligned() })
    }

    fn field(&self, structure: &CStr, field: &CStr) -> Option<*const u8> {
        let mut entries = self.fields.entries();
        entries
            .find(|&(entry, name)| name == structure && text(entry, self.field_name) == Some(field))
            .map(|e| e.0)
    }
}

impl Table {
    fn entries(self) -> impl Iterator<Item = (*const u8, &'static CStr)> {
        (0..).map_while(move |i: usize| {
            // SAFETY: every entry before this one had a name, so this is one, perhaps the last.
            let entry = unsafe { self.first.add(i * self.stride) };
            Some((entry, text(entry, self.name)?))
        })
    }
}

/// The constant string an entry points to, so far into it.
fn text(entry: *const u8, at: usize) -> Option<&'static CStr> {
    // SAFETY: callers pass an entry and where it has a pointer to a constant string, or null.
    unsafe {
        let text = entry.add(at).cast::<*const c_char>().read_unaligned();
        (!text.is_null()).then(|| CStr::from_ptr(text))
    }
}
