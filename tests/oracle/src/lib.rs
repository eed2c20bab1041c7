//! The truth that exact profiles are tested against.
//!
//! A JVMTI agent, for `-Xint`: the interpreter itself reports every bytecode (`SingleStep`) and every method that is
//! entered or left, on the main thread, from `VMInit` on. From these events a calling context tree is built, and
//! written as text when the VM ends. It shares with the profiler one thing only, the definition of what is counted:
//! [`quipu_rewrite::Treatment`]. No code is rewritten.
//!
//! - `roles`: what is done with each method, from its class's bytes.
//! - `recorder`: the stack and the tree.
//! - `tree`: the contexts, and the file.
//! - `stepping`: why steps are missing while the VM resolves what an instruction names, and how to get them.
//! - `pins`: what has to be the same in the run that is compared.
//! - `agent`: where the VM calls in.
//!
//! With `forget=FIELD` or `mislead=FIELD` it does something else: `forgetting`, for tests of what happens where the VM says less of
//! itself, or something else than is thought.
#![allow(unsafe_code, reason = "an agent is called by the VM, with pointers")]

mod agent;
mod forgetting;
mod pins;
mod recorder;
mod roles;
mod stepping;
mod tree;
