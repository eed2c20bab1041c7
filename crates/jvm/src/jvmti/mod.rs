//! JVMTI: one environment, and what Quipu asks of it.

mod capabilities;
mod classes;
mod events;
mod heap;
mod memory;
mod methods;
mod modules;
mod properties;
mod tags;
mod threads;

pub use capabilities::Capabilities;
pub use heap::HeapReference;
pub use memory::{Allocation, CText};
pub use methods::MethodName;
pub use properties::Phase;
pub use threads::ThreadInfo;

use crate::sys::jvmtiEnv;
use crate::{Error, Result};
use std::ptr::NonNull;

/// A JVMTI environment. Copied freely; it lives until the VM ends or [`Jvmti::dispose`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jvmti(NonNull<jvmtiEnv>);

// SAFETY: JVMTI environments may be used from every thread.
unsafe impl Send for Jvmti {}
// SAFETY: as above.
unsafe impl Sync for Jvmti {}

/// Calls a JVMTI function by its C name. Only its own slot is read: the table of an older VM may be shorter than ours.
macro_rules! jvmti {
    ($jvmti:expr, $function:ident $(, $argument:expr)* $(,)?) => {
        match (&raw const (**$jvmti.raw()).$function).read() {
            Some(function) => {
                $crate::Error::check(stringify!($function), function($jvmti.raw() $(, $argument)*))
            }
            None => Err($crate::Error::new(stringify!($function), $crate::Cause::Unavailable)),
        }
    };
}
use jvmti;

impl Jvmti {
    /// Wraps an environment the VM passed to a callback.
    ///
    /// # Safety
    /// `raw` is an environment of this process's VM that is not disposed of while the result or a copy is in use.
    pub unsafe fn from_raw(raw: NonNull<jvmtiEnv>) -> Self {
        Self(raw)
    }

    /// The pointer as JVMTI wants it.
    pub fn raw(self) -> *mut jvmtiEnv {
        self.0.as_ptr()
    }

    /// Ends the environment: no more events, capabilities given back, memory freed later by the VM.
    ///
    /// # Safety
    /// No copy of this handle is used afterwards, and nothing made with it ([`Allocation`]) is alive.
    pub unsafe fn dispose(self) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { jvmti!(self, DisposeEnvironment) }
    }

    /// The version this VM implements, as `JVMTI_VERSION` has it; 0x3019_0000 for JDK 25.
    pub fn version(self) -> Result<i32> {
        let mut version = 0;
        // SAFETY: the VM writes one int.
        unsafe { jvmti!(self, GetVersionNumber, &mut version) }.map(|()| version)
    }

    /// The VM's own name for an error code.
    pub fn error_name(self, error: &Error) -> Option<String> {
        let crate::Cause::Jvmti(code) = error.cause else { return None };
        let mut name = std::ptr::null_mut();
        // SAFETY: the VM allocates the name and gives it to us.
        unsafe {
            jvmti!(self, GetErrorName, code, &mut name).ok()?;
            Some(CText::from_raw(self, name)?.to_string())
        }
    }
}
