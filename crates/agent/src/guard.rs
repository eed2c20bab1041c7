//! The edge between the VM and this library: nothing may unwind across it.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `body`; should it panic all the same, the VM sees `otherwise`.
pub fn guarded<R>(otherwise: R, body: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}
