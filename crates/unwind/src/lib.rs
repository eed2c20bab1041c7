//! The machine's side of a stack: from the registers of an interrupted thread to those of its callers.
//!
//! Design constraints:
//!
//! - It runs in signal handlers: nothing is allocated, locked or called that may do either, and every loop is bounded.
//! - It trusts nothing it reads. A thread may be stopped anywhere, so every address is read through [`Memory`], which
//!   says no where there is no memory.
//! - It costs nothing until it is used. Libraries carry tables that say how to leave each function (`.eh_frame`); those
//!   are read where they lie, a few dozen bytes for each frame, and not turned into tables of our own.
//!
//! It knows nothing of any virtual machine. Numbers of registers are those of x86-64; on other machines no memory is
//! there to read, so no frame has a caller.

#![allow(
    unsafe_code,
    reason = "reads whatever a register points to, and asks the dynamic linker for its list of modules"
)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod cfi;
mod memory;
mod modules;
mod registers;

pub use cfi::caller;
pub use memory::Memory;
pub use modules::{Module, Modules, linker_changes};
pub use registers::{Registers, dwarf};
