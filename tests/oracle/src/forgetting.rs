//! A VM that does not describe all of its structures: fields of one name, or all, are taken out of its tables. Or one that nobody
//! knows, where a field is not what it was.

use std::ffi::{CStr, c_char};

use quipu_jvm::Jvm;
use quipu_jvm::hotspot::Library;

/// What is done with a field of the description.
enum Change {
    Forget,
    /// It is said to be where the next one is.
    Mislead,
}

/// Has the VM's description without fields of this name, or of any name if it is `*`; `None` if it has no description.
pub fn forget(vm: Jvm, field: &str) -> Option<()> {
    change(vm, field, &Change::Forget)
}

/// Has the VM's description with another place for fields of this name; `None` if it has no description.
pub fn mislead(vm: Jvm, field: &str) -> Option<()> {
    change(vm, field, &Change::Mislead)
}

fn change(vm: Jvm, field: &str, change: &Change) -> Option<()> {
    let library = Library::of(vm)?;
    // SAFETY: HotSpot exports these as 64-bit numbers and a pointer to entries, of which the last has no name. It does not
    // read them itself, and a copy that is never freed takes their place.
    unsafe {
        let number = |name: &CStr| Some(library.symbol(name)?.cast::<u64>().read() as usize);
        let stride = number(c"gHotSpotVMStructEntryArrayStride")?;
        let name = number(c"gHotSpotVMStructEntryFieldNameOffset")?;
        let offset = number(c"gHotSpotVMStructEntryOffsetOffset")?;
        let table = library.symbol(c"gHotSpotVMStructs")?.cast::<*const u8>();
        let (mut entry, mut kept) = (table.read(), Vec::new());
        loop {
            let text = entry.add(name).cast::<*const c_char>().read();
            let named =
                !text.is_null() && (field == "*" || CStr::from_ptr(text).to_bytes() == field.as_bytes());
            if !named || matches!(change, Change::Mislead) {
                kept.extend_from_slice(std::slice::from_raw_parts(entry, stride));
            }
            if named && let (Change::Mislead, Some(copy)) = (change, kept.len().checked_sub(stride)) {
                let place = kept.as_mut_ptr().add(copy + offset).cast::<u64>();
                place.write_unaligned(place.read_unaligned() + size_of::<usize>() as u64);
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
