//! Mutexes that cannot panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; a poisoned lock only says that a callback failed while it held it, and all data here is valid between calls.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
