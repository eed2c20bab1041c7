//! The VM's phase and properties.

use super::memory::CText;
use super::{Jvmti, jvmti};
use crate::sys::{self, jvmtiPhase};
use crate::{Cause, Error, Result};
use std::ffi::CStr;
use std::ptr::null_mut;

/// Where the VM is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// In `Agent_OnLoad`.
    OnLoad,
    /// Before the first Java code: no JNI, hardly any JVMTI.
    Primordial,
    /// JNI works, `main` has not started.
    Start,
    /// Everything works.
    Live,
    /// After the VM's death event.
    Dead,
}

impl Jvmti {
    /// Where the VM is in its life; `Dead` too for what no header names, as nothing may be called then.
    pub fn phase(self) -> Result<Phase> {
        let mut phase = jvmtiPhase(0);
        // SAFETY: the VM writes one int.
        unsafe { jvmti!(self, GetPhase, &mut phase) }?;
        Ok(match phase {
            sys::JVMTI_PHASE_ONLOAD => Phase::OnLoad,
            sys::JVMTI_PHASE_PRIMORDIAL => Phase::Primordial,
            sys::JVMTI_PHASE_START => Phase::Start,
            sys::JVMTI_PHASE_LIVE => Phase::Live,
            _ => Phase::Dead,
        })
    }

    /// A property the VM itself set or was given with `-D`; what Java code set later is not seen.
    pub fn system_property(self, name: &CStr) -> Result<String> {
        let mut value = null_mut();
        // SAFETY: a C string; the VM allocates one text.
        unsafe {
            jvmti!(self, GetSystemProperty, name.as_ptr(), &mut value)?;
            CText::from_raw(self, value)
        }
        .map(|value| value.to_string())
        .ok_or(Error::new("GetSystemProperty", Cause::Null))
    }
}
