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
        address(structs, wanted).map(|flag| TextFlag(flag.cast()))
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

/// Flags that are on or off.
#[derive(Debug, Clone, Copy)]
pub struct SwitchFlag(*mut u8);

// SAFETY: a variable of the VM's, which any thread may read, and write as `set` says.
unsafe impl Send for SwitchFlag {}

impl SwitchFlag {
    /// Finds a flag that is on or off; `None` if this VM has no such flag. The caller knows its type.
    pub fn find(structs: &Structs, wanted: &CStr) -> Option<SwitchFlag> {
        address(structs, wanted).map(|flag| SwitchFlag(flag.cast()))
    }

    /// Whether it is on.
    pub fn get(self) -> bool {
        // SAFETY: a flag of this type is one byte, which others may change.
        unsafe { self.0.read_volatile() != 0 }
    }

    /// Changes it. Code that has been compiled stays as it is.
    ///
    /// # Safety
    /// The VM can do with either value at any moment.
    pub unsafe fn set(self, on: bool) {
        // SAFETY: the caller's promise.
        unsafe { self.0.write_volatile(on.into()) };
    }
}

/// Where a flag has its value.
fn address(structs: &Structs, wanted: &CStr) -> Option<*mut c_void> {
    // Older releases have a shorter name for the table.
    [c"JVMFlag", c"Flag"].into_iter().find_map(|table| find(structs, table, wanted))
}

fn find(structs: &Structs, table: &CStr, wanted: &CStr) -> Option<*mut c_void> {
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
        (!value.is_null()).then_some(value)
    }
}
