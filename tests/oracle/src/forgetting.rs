//! A VM that does not describe all of its structures: fields of one name, or all, are taken out of its tables.

use std::ffi::{CStr, c_char};

use quipu_jvm::Jvm;
use quipu_jvm::hotspot::Library;

/// Has the VM's description without fields of this name, or of any name if it is `*`; `None` if it has no description.
pub fn forget(vm: Jvm, field: &str) -> Option<()> {
    let library = Library::of(vm)?;
    // SAFETY: HotSpot exports these as 64-bit numbers and a pointer to entries, of which the last has no name. It does not
    // read them itself, and a copy that is never freed takes their place.
    unsafe {
        let number = |name: &CStr| Some(library.symbol(name)?.cast::<u64>().read() as usize);
        let stride = number(c"gHotSpotVMStructEntryArrayStride")?;
        let name = number(c"gHotSpotVMStructEntryFieldNameOffset")?;
        let table = library.symbol(c"gHotSpotVMStructs")?.cast::<*const u8>();
        let (mut entry, mut kept) = (table.read(), Vec::new());
        loop {
            let text = entry.add(name).cast::<*const c_char>().read();
            if text.is_null() || field != "*" && CStr::from_ptr(text).to_bytes() != field.as_bytes() {
                kept.extend_from_slice(std::slice::from_raw_parts(entry, stride));
            }
            if text.is_null() {
                break;
            }
            entry = entry.add(stride);
        }
        table.write(kept.leak().as_ptr());
    }
    Some(())
}
