//! The tables in which HotSpot describes its own structures, made for the serviceability agent.

use super::Library;
use std::ffi::{CStr, c_char, c_void};

/// Where fields of HotSpot's structures are.
#[derive(Debug, Clone, Copy)]
pub struct Structs {
    first: *const u8,
    stride: usize,
    type_name: usize,
    field_name: usize,
    offset: usize,
    address: usize,
}

// SAFETY: the tables are constant.
unsafe impl Send for Structs {}
// SAFETY: as above.
unsafe impl Sync for Structs {}

impl Structs {
    /// The tables of this VM, if it has them.
    pub fn of(library: Library) -> Option<Structs> {
        // SAFETY: HotSpot exports these as 64-bit numbers and a pointer; they are constants.
        unsafe {
            let number = |name: &CStr| {
                let value = library.symbol(name)?.cast::<u64>().read();
                usize::try_from(value).ok()
            };
            Some(Structs {
                first: library.symbol(c"gHotSpotVMStructs")?.cast::<*const u8>().read(),
                stride: number(c"gHotSpotVMStructEntryArrayStride")?,
                type_name: number(c"gHotSpotVMStructEntryTypeNameOffset")?,
                field_name: number(c"gHotSpotVMStructEntryFieldNameOffset")?,
                offset: number(c"gHotSpotVMStructEntryOffsetOffset")?,
                address: number(c"gHotSpotVMStructEntryAddressOffset")?,
            })
        }
    }

    /// Offset of a field in a structure; fields of a base class may be listed under the base only.
    pub fn offset(&self, structure: &CStr, field: &CStr) -> Option<usize> {
        // SAFETY: the entry is one of the table's, which has a 64-bit number there.
        let offset = unsafe { self.entry(structure, field)?.add(self.offset).cast::<u64>().read_unaligned() };
        usize::try_from(offset).ok()
    }

    /// Address of a static field.
    pub fn address(&self, structure: &CStr, field: &CStr) -> Option<*const c_void> {
        // SAFETY: as above, with a pointer.
        let address = unsafe {
            self.entry(structure, field)?.add(self.address).cast::<*const c_void>().read_unaligned()
        };
        (!address.is_null()).then_some(address)
    }

    fn entry(&self, structure: &CStr, field: &CStr) -> Option<*const u8> {
        if self.first.is_null() || self.stride == 0 {
            return None;
        }
        let mut entry = self.first;
        loop {
            // SAFETY: the table ends with an entry without a type; every one before it has two C strings.
            unsafe {
                let name = |at: usize| entry.add(at).cast::<*const c_char>().read_unaligned();
                let (of, what) = (name(self.type_name), name(self.field_name));
                if of.is_null() || what.is_null() {
                    return None;
                }
                if CStr::from_ptr(of) == structure && CStr::from_ptr(what) == field {
                    return Some(entry);
                }
                entry = entry.add(self.stride);
            }
        }
    }
}
