//! JNI and JVMTI as C declares them.
//!
//! JNI comes from `jni-sys`, whose function tables are unions with one view per version (`v1_6`, `v9`, …): a field
//! reached through a view exists in every VM of that version or newer. JVMTI is generated; see `gen/README.md`.

#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    missing_debug_implementations,
    clippy::type_complexity,
    reason = "C's own names, documented by the JVMTI specification"
)]
#[rustfmt::skip]
mod table;

#[cfg(test)]
#[allow(clippy::unnecessary_cast, reason = "generated: constants of several integer types become one")]
#[rustfmt::skip]
mod layout;

#[cfg(test)]
mod layout_test;

pub use jni_sys::*;
pub use table::*;

/// C's `jboolean` where the VM writes it into our memory. A `bool` may only ever hold 0 or 1; this may hold anything.
pub type JBool = u8;

/// The JNI function table, by the name `jvmti.h` uses.
#[allow(non_camel_case_types, reason = "C's own name")]
pub type jniNativeInterface = JNINativeInterface_;
