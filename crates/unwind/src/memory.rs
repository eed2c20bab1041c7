//! Reads of memory that may not be there.
//!
//! Each read is one machine instruction at a known address. If it faults, the handler of SIGSEGV asks
//! [`Memory::recover`], which lets the thread go on as if the read had returned with nothing.

use std::ffi::c_void;

/// The memory of this process, wherever it is.
#[derive(Debug, Clone, Copy)]
pub struct Memory(());

impl Memory {
    /// Memory to read from.
    ///
    /// # Safety
    /// Handlers of SIGSEGV and SIGBUS call [`Memory::recover`] first, from now on and for good.
    pub const unsafe fn guarded() -> Memory {
        Memory(())
    }

    /// The word at an address; `None` if there is none.
    pub fn word(self, address: usize) -> Option<usize> {
        load(loads::word, address).map(|value| value as usize)
    }

    /// Four bytes.
    pub fn u32(self, address: usize) -> Option<u32> {
        load(loads::half, address).map(|value| value as u32)
    }

    /// Four bytes, signed.
    pub fn i32(self, address: usize) -> Option<i32> {
        self.u32(address).map(u32::cast_signed)
    }

    /// Two bytes.
    pub fn u16(self, address: usize) -> Option<u16> {
        load(loads::quarter, address).map(|value| value as u16)
    }

    /// One byte.
    pub fn u8(self, address: usize) -> Option<u8> {
        load(loads::byte, address).map(|value| value as u8)
    }

    /// Some bytes.
    pub fn bytes<const N: usize>(self, address: usize) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = self.u8(address.checked_add(i)?)?;
        }
        Some(bytes)
    }

    /// If the fault with this context was one of our reads, makes the thread go on behind it, and says so.
    ///
    /// # Safety
    /// `ucontext` is what the kernel passed to the handler of the fault.
    pub unsafe fn recover(ucontext: *mut c_void) -> bool {
        // SAFETY: the caller's promise.
        unsafe { loads::recover(ucontext.cast()) }
    }
}

/// What a read returns: in two registers, so nothing else is touched.
#[repr(C)]
struct Loaded {
    value: u64,
    there: u64,
}

type Load = unsafe extern "C" fn(usize) -> Loaded;

fn load(how: Load, address: usize) -> Option<u64> {
    // SAFETY: whoever has a `Memory` has promised that a fault is recovered from.
    let loaded = unsafe { how(address) };
    (loaded.there != 0).then_some(loaded.value)
}

#[cfg(target_arch = "x86_64")]
mod loads {
    use super::{Load, Loaded};

    /// The instruction that may fault is the first of each, so its address is the function's.
    #[unsafe(naked)]
    pub unsafe extern "C" fn word(_: usize) -> Loaded {
        std::arch::naked_asm!("mov rax, [rdi]", "mov edx, 1", "ret")
    }

    #[unsafe(naked)]
    pub unsafe extern "C" fn half(_: usize) -> Loaded {
        std::arch::naked_asm!("mov eax, [rdi]", "mov edx, 1", "ret")
    }

    #[unsafe(naked)]
    pub unsafe extern "C" fn quarter(_: usize) -> Loaded {
        std::arch::naked_asm!("movzx eax, word ptr [rdi]", "mov edx, 1", "ret")
    }

    #[unsafe(naked)]
    pub unsafe extern "C" fn byte(_: usize) -> Loaded {
        std::arch::naked_asm!("movzx eax, byte ptr [rdi]", "mov edx, 1", "ret")
    }

    /// Where a read that faulted goes on: it has touched no register and no stack.
    #[unsafe(naked)]
    unsafe extern "C" fn nothing(_: usize) -> Loaded {
        std::arch::naked_asm!("xor eax, eax", "xor edx, edx", "ret")
    }

    pub unsafe fn recover(ucontext: *mut libc::ucontext_t) -> bool {
        // SAFETY: the kernel's context of this thread, which it takes back when the handler returns.
        let registers = unsafe { &mut (*ucontext).uc_mcontext.gregs };
        let Some(pc) = registers.get_mut(libc::REG_RIP as usize) else { return false };
        let ours: [Load; 4] = [word, half, quarter, byte];
        if !ours.iter().any(|&load| load as usize == pc.cast_unsigned() as usize) {
            return false;
        }
        *pc = (nothing as Load as usize as u64).cast_signed();
        true
    }
}

/// Other machines have no guarded reads yet: nothing is there.
#[cfg(not(target_arch = "x86_64"))]
mod loads {
    use super::Loaded;

    pub unsafe extern "C" fn word(_: usize) -> Loaded {
        Loaded { value: 0, there: 0 }
    }

    pub use word as half;
    pub use word as quarter;
    pub use word as byte;

    pub unsafe fn recover(_: *mut libc::ucontext_t) -> bool {
        false
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
pub mod tests {
    use super::*;
    use std::sync::Once;

    extern "C" fn handler(signal: i32, _: *mut libc::siginfo_t, ucontext: *mut c_void) {
        // SAFETY: this is the handler; what is not ours ends the process when it faults again.
        unsafe {
            if !Memory::recover(ucontext) {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
    }

    /// Memory of a test, in which faults are recovered from.
    pub fn memory() -> Memory {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            // SAFETY: plain data, and a handler of the right signature.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handler as extern "C" fn(_, _, _) as usize;
                action.sa_flags = libc::SA_SIGINFO;
                for signal in [libc::SIGSEGV, libc::SIGBUS] {
                    assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
                }
            }
        });
        // SAFETY: just done.
        unsafe { Memory::guarded() }
    }

    #[test]
    fn what_is_there_is_read_and_what_is_not_is_nothing() {
        let memory = memory();
        let value = 0x1122_3344_5566_7788_usize;
        let at = &raw const value as usize;
        assert_eq!(memory.word(at), Some(value));
        assert_eq!(memory.u32(at), Some(0x5566_7788));
        assert_eq!(memory.u16(at), Some(0x7788));
        assert_eq!(memory.u8(at + 7), Some(0x11));
        for nowhere in [0, 8, 0xdead_0000_0000_0000, usize::MAX - 3] {
            assert_eq!(memory.word(nowhere), None);
            assert_eq!(memory.u32(nowhere), None);
            assert_eq!(memory.u16(nowhere), None);
            assert_eq!(memory.u8(nowhere), None);
        }
        assert_eq!(memory.word(at), Some(value));
    }
}
