//! The Java virtual machine as its native side sees it: JNI and JVMTI.
//!
//! Design constraints:
//!
//! - This code runs inside someone else's process. It never panics, and a function the VM lacks, a wrong phase or a
//!   thrown exception is an [`Error`] that names the call.
//! - It works from JDK 8 to the newest: the JVMTI table is generated from the newest `jvmti.h`, every slot is optional,
//!   and only the slot that is called is read (an older VM's table may end before a newer function).
//! - It is thin. [`sys`] has everything as C has it; the wrappers cover what Quipu uses, and carry no state.
//!
//! References are tied to the scope they are valid in: [`Ref<'e, K>`](Ref) lives as long as the [`Env<'e>`](Env) it
//! came from and stays on its thread; [`Global`] crosses threads; [`Env::with_frame`] bounds how many pile up. What the
//! VM does not check itself (argument types of a call, for one) stays `unsafe`, with the obligation written down.

#![allow(
    unsafe_code,
    reason = "the VM hands out pointers to tables of C functions; calling them cannot be checked by Rust"
)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod hotspot;
pub mod jni;
pub mod jvmti;
pub mod sys;

mod error;
mod version;

pub use error::{Cause, Error, Result};
pub use jni::{
    Array, Attached, Class, Env, FieldId, Global, Jvm, MethodId, Module, NativeMethod, Object, Ref, Text,
    Thread, Weak,
};
pub use jvmti::{Allocation, CText, Capabilities, HeapReference, Jvmti, MethodName, Phase, ThreadInfo};
pub use sys::Capability;
pub use version::{JdkVersion, feature_of, jdk_version};
