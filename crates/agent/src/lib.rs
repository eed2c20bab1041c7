//! The agent: the library that is loaded into the target JVM.
//!
//! It is thin. It rewrites classes with [`quipu_rewrite`], keeps the profile in a [`quipu_arena`] file, and gives the
//! Java runtime the few native methods it needs. What it must never do:
//!
//! - panic or unwind into the VM: every callback is guarded, and code that can panic is denied by the lints below;
//! - run Java code that is instrumented, or take a lock on a way that is taken often;
//! - fail the target: when something cannot be done, it says so on standard error and the program runs on, unprofiled.

#![allow(
    unsafe_code,
    reason = "C entry points, callbacks of the VM, memory maps: each block says why it is sound"
)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod agents;
mod archives;
mod bytecodes;
mod calibration;
mod classes;
mod classpath;
mod constants;
mod control;
mod dialect;
mod engine;
mod engines;
mod entry;
mod events;
mod groups;
mod guard;
mod heap;
mod hook;
mod huge;
mod intrinsics;
mod jimage;
mod library;
mod listeners;
mod locks;
mod names;
mod natives;
mod not_included;
mod options;
mod own_thread;
mod pins;
mod presumed;
mod registry;
mod session;
mod sites;
mod stacks;
mod start;
mod steering;
mod tallies;
mod thread_field;
mod world;
