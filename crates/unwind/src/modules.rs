//! The libraries and programs that are mapped, and where each has its call frame information.

use std::ffi::{CStr, c_int, c_void};

/// A library, the program, or the kernel's own page of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// First address of its code.
    pub start: usize,
    /// The address behind the last.
    pub end: usize,
    /// What is added to addresses in its file.
    pub bias: usize,
    /// Where its table of call frame information is; 0 if it has none.
    pub frames: usize,
    /// Its file, as the linker has it; empty for the program itself.
    pub path: Vec<u8>,
}

/// All of them, at one moment.
#[derive(Debug, Default)]
pub struct Modules {
    sorted: Vec<Module>,
}

impl Modules {
    /// What is there now. Not for signal handlers.
    pub fn now() -> Modules {
        let mut modules = Modules::default();
        // SAFETY: the function has the type that is asked for, and gets the pointer that it expects.
        unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut modules).cast()) };
        modules.sorted.sort_by_key(|module| module.start);
        modules
    }

    /// The one whose code is at this address. For signal handlers.
    pub fn find(&self, address: usize) -> Option<&Module> {
        let behind = self.sorted.partition_point(|module| module.start <= address);
        self.sorted.get(behind.checked_sub(1)?).filter(|module| address < module.end)
    }

    /// All, by address.
    pub fn iter(&self) -> impl Iterator<Item = &Module> {
        self.sorted.iter()
    }
}

/// How often the linker has added or removed something: if that is the same, so are the modules.
pub fn linker_changes() -> u64 {
    let mut changes = 0u64;
    // SAFETY: as above.
    unsafe { libc::dl_iterate_phdr(Some(count), (&raw mut changes).cast()) };
    changes
}

unsafe extern "C" fn count(info: *mut libc::dl_phdr_info, _: usize, changes: *mut c_void) -> c_int {
    // SAFETY: the linker's entry, and the number that was passed with the function.
    unsafe { *changes.cast::<u64>() = (*info).dlpi_adds + (*info).dlpi_subs };
    1
}

unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, modules: *mut c_void) -> c_int {
    // SAFETY: the linker's entry with its headers and name, and the list that was passed with the function.
    unsafe {
        let info = &*info;
        let modules = &mut *modules.cast::<Modules>();
        let headers = match info.dlpi_phdr.is_null() {
            true => &[][..],
            false => std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)),
        };
        let bias = info.dlpi_addr as usize;
        let code = headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0)
            .map(|header| {
                let start = bias.wrapping_add(header.p_vaddr as usize);
                (start, start.wrapping_add(header.p_memsz as usize))
            });
        let frames = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME);
        let frames = frames.map_or(0, |header| bias.wrapping_add(header.p_vaddr as usize));
        let path = match info.dlpi_name.is_null() {
            true => &[][..],
            false => CStr::from_ptr(info.dlpi_name).to_bytes(),
        };
        for (start, end) in code {
            modules.sorted.push(Module { start, end, bias, frames, path: path.to_vec() });
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_code_is_in_one_of_them() {
        let modules = Modules::now();
        let here = Modules::now as fn() -> Modules as usize;
        let found = modules.find(here).expect("a module");
        assert!(found.frames != 0 && (found.start..found.end).contains(&here));
        assert_eq!(modules.find(1), None);
        assert!(modules.iter().count() > 1);
        assert_eq!(linker_changes(), linker_changes());
    }
}
