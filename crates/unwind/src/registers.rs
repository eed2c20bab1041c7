//! Registers of a frame, by the numbers that DWARF gives them.

use std::ffi::c_void;

use crate::Memory;

/// Numbers of registers (x86-64).
pub mod dwarf {
    /// Accumulator.
    pub const RAX: u8 = 0;
    /// Callee-saved.
    pub const RBX: u8 = 3;
    /// Frame pointer, where code keeps one.
    pub const RBP: u8 = 6;
    /// Stack pointer.
    pub const RSP: u8 = 7;
    /// Callee-saved.
    pub const R13: u8 = 13;
    /// Where the return address is said to be.
    pub const RETURN: u8 = 16;
    /// How many there are.
    pub const COUNT: usize = 17;
}

/// Where the kernel keeps them.
#[cfg(target_arch = "x86_64")]
const ORDER: [i32; 16] = [
    libc::REG_RAX,
    libc::REG_RDX,
    libc::REG_RCX,
    libc::REG_RBX,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_RBP,
    libc::REG_RSP,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// Registers of one frame.
#[derive(Debug, Clone, Copy, Default)]
pub struct Registers {
    /// Where the frame is in its code; for a caller, where it goes on.
    pub pc: usize,
    /// The others; what is not callee-saved is only known of the youngest frame.
    pub general: [usize; 16],
    /// Whether this is where the thread was interrupted: the instruction at `pc` has not been executed.
    pub youngest: bool,
}

impl Registers {
    /// Those of an interrupted thread.
    ///
    /// # Safety
    /// `ucontext` is what the kernel passed to a signal handler.
    #[cfg(target_arch = "x86_64")]
    pub unsafe fn of(ucontext: *const c_void) -> Registers {
        // SAFETY: the caller's promise.
        let saved = unsafe { &(*ucontext.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        let value =
            |register: i32| saved.get(register as usize).map_or(0, |value| value.cast_unsigned() as usize);
        Registers { pc: value(libc::REG_RIP), general: ORDER.map(value), youngest: true }
    }

    /// Those of a frame that a signal interrupted, which the kernel saved at this address.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn saved(memory: Memory, ucontext: usize) -> Option<Registers> {
        let saved = ucontext.checked_add(std::mem::offset_of!(libc::ucontext_t, uc_mcontext.gregs))?;
        let value = |register: i32| memory.word(saved + register as usize * size_of::<usize>());
        let mut registers = Registers { pc: value(libc::REG_RIP)?, youngest: true, ..Registers::default() };
        for (slot, register) in registers.general.iter_mut().zip(ORDER) {
            *slot = value(register)?;
        }
        Some(registers)
    }

    /// Other machines' are not known yet.
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn saved(_: Memory, _: usize) -> Option<Registers> {
        None
    }

    /// Other machines' registers are not known yet.
    ///
    /// # Safety
    /// None.
    #[cfg(not(target_arch = "x86_64"))]
    pub unsafe fn of(_: *const c_void) -> Registers {
        Registers::default()
    }

    /// One of them.
    pub fn get(&self, register: u8) -> Option<usize> {
        self.general.get(usize::from(register)).copied()
    }

    /// The stack pointer.
    pub fn sp(&self) -> usize {
        self.get(dwarf::RSP).unwrap_or(0)
    }

    /// The frame pointer.
    pub fn fp(&self) -> usize {
        self.get(dwarf::RBP).unwrap_or(0)
    }

    /// Where the instruction lies that the frame is at: a call may be the last of its function.
    pub fn place(&self) -> usize {
        if self.youngest { self.pc } else { self.pc.wrapping_sub(1) }
    }
}
