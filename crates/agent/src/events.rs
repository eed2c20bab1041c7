//! Which events the VM tells of. Several engines may want the same one: it stays on until none does.

use std::sync::Mutex;

use quipu_jvm::{Error, Jvmti, sys};

use crate::locks::lock;

/// What wants to be told of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Listener {
    /// Rewritten classes.
    Instrumentation,
    /// Stacks of threads.
    Stacks,
    /// Objects that are made.
    Allocation,
    /// Waits for locks.
    Locks,
    /// What took place when.
    Timeline,
    /// What is the same in every run.
    Pins,
    /// Threads that tests start.
    Tests,
}

/// A bit for every listener, by event.
pub struct Events {
    wanted: Mutex<[u8; KINDS]>,
}

/// JVMTI's events have numbers below this, from [`FIRST`] on.
const KINDS: usize = 64;
const FIRST: sys::jvmtiEvent = sys::JVMTI_EVENT_VM_INIT;

impl Events {
    /// Nobody wants anything yet.
    pub const fn new() -> Events {
        Events { wanted: Mutex::new([0; KINDS]) }
    }

    /// The listener wants to be told, or no more. It may say so more than once.
    pub fn set(
        &self,
        jvmti: Jvmti,
        listener: Listener,
        event: sys::jvmtiEvent,
        on: bool,
    ) -> Result<(), Error> {
        let bit = 1 << listener as u8;
        let mut wanted = lock(&self.wanted);
        let at = usize::try_from(event.0.wrapping_sub(FIRST.0)).unwrap_or(usize::MAX);
        let Some(listeners) = wanted.get_mut(at) else {
            return jvmti.set_event_mode(event, on, None);
        };
        let after = if on { *listeners | bit } else { *listeners & !bit };
        if (*listeners == 0) != (after == 0) {
            jvmti.set_event_mode(event, after != 0, None)?;
        }
        *listeners = after;
        Ok(())
    }
}
