//! The VM's flags, through the table that it keeps of them.

use super::Structs;
use std::ffi::{CStr, CString, c_char, c_void};

/// Flags that are texts. A VM that is starting reads most of them after it has loaded its agents.
#[derive(Debug, Clone, Copy)]
pub struct TextFlag(*mut *const c_char);

impl TextFlag {
    /// Finds a flag whose value is a text; `None` if this VM has no such flag. The caller knows its type: the table's way to
    /// tell it differs between releases.
    pub fn find(structs: &Structs, wanted: &CStr) -> Option<TextFlag> {
        // Older releases have a shorter name for it.
        [c"JVMFlag", c"Flag"].into_iter().find_map(|table| find(structs, table, wanted))
    }

    /// What it is now.
    pub fn get(self) -> Option<String> {
        // SAFETY: a flag of this type is null or a C string.
        unsafe {
            let text = self.0.read();
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    }

    /// Changes it, for good: the text is never freed.
    ///
    /// # Safety
    /// The VM is starting: no thread of it reads the flag.
    pub unsafe fn set(self, text: CString) {
        // SAFETY: the caller's promise.
        unsafe { self.0.write(text.into_raw()) };
    }
}

fn find(structs: &Structs, table: &CStr, wanted: &CStr) -> Option<TextFlag> {
    let (name, address) = (structs.offset(table, c"_name")?, structs.offset(table, c"_addr")?);
    let (first, count) = (structs.address(table, c"flags")?, structs.address(table, c"numFlags")?);
    let stride = structs.size(table).filter(|&stride| stride >= size_of::<usize>())?;
    // SAFETY: static variables of these types, and a table with so many entries, each with a name and an address, or with
    // nothing at all (the last).
    unsafe {
        let first = first.cast::<*const u8>().read();
        let count = count.cast::<usize>().read();
        if first.is_null() {
            return None;
        }
        let text = |entry: *const u8| entry.add(name).cast::<*const c_char>().read_unaligned();
        let mut entries = (0..count).map(|i| first.add(i * stride)).filter(|&entry| !text(entry).is_null());
        let found = entries.find(|&entry| CStr::from_ptr(text(entry)) == wanted)?;
        let value = found.add(address).cast::<*mut c_void>().read_unaligned();
        (!value.is_null()).then(|| TextFlag(value.cast()))
    }
}
