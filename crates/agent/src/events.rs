//! Which events the VM tells of. Several engines may want the same one: it stays on until none does.

use std::sync::Mutex;

use quipu_jvm::{Capabilities, Capability, Error, Jvmti, sys};

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
    /// Objects that survive.
    Survivors,
    /// Methods below a root.
    Roots,
}

/// A bit for every listener, by event.
pub struct Events {
    wanted: Mutex<[u16; KINDS]>,
}

/// JVMTI's events have numbers below this, from [`FIRST`] on.
const KINDS: usize = 64;
const FIRST: sys::jvmtiEvent = sys::JVMTI_EVENT_VM_INIT;

impl Events {
    /// Nobody wants anything yet.
    pub const fn new() -> Events {
        Events { wanted: Mutex::new([0; KINDS]) }
    }

    /// Whether the listener wants to be told.
    pub fn is_wanted(&self, listener: Listener, event: sys::jvmtiEvent) -> bool {
        let at = usize::try_from(event.0.wrapping_sub(FIRST.0)).unwrap_or(usize::MAX);
        lock(&self.wanted).get(at).is_some_and(|listeners| listeners & 1 << listener as u8 != 0)
    }

    /// The listener wants to be told, or no more. It may say so more than once.
    pub fn set(
        &self,
        jvmti: Jvmti,
        listener: Listener,
        event: sys::jvmtiEvent,
        on: bool,
    ) -> Result<(), Error> {
        if on && event == sys::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK {
            // An environment that has seen class files without it never gets it again, and whoever comes later cannot rewrite.
            jvmti.add_capabilities(&Capabilities::of(&[Capability::CAN_RETRANSFORM_CLASSES]))?;
        }
        self.change(listener, event, on, |on| jvmti.set_event_mode(event, on, None))
    }

    /// Notes what a listener wants, and has the event switched if that makes a difference.
    fn change<E>(
        &self,
        listener: Listener,
        event: sys::jvmtiEvent,
        on: bool,
        switch: impl FnOnce(bool) -> Result<(), E>,
    ) -> Result<(), E> {
        let bit = 1 << listener as u16;
        let mut wanted = lock(&self.wanted);
        let at = usize::try_from(event.0.wrapping_sub(FIRST.0)).unwrap_or(usize::MAX);
        let Some(listeners) = wanted.get_mut(at) else { return switch(on) };
        let after = if on { *listeners | bit } else { *listeners & !bit };
        if (*listeners == 0) != (after == 0) {
            switch(after != 0)?;
        }
        *listeners = after;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the VM is told, request by request; nothing where it need not be told.
    fn told(requests: &[(Listener, bool)]) -> Vec<Option<bool>> {
        let events = Events::new();
        let told = requests.iter().map(|&(listener, on)| {
            let mut told = None;
            let switch = |on| -> Result<(), ()> {
                told = Some(on);
                Ok(())
            };
            events.change(listener, sys::JVMTI_EVENT_THREAD_START, on, switch).unwrap();
            told
        });
        told.collect()
    }

    #[test]
    fn an_event_stays_on_until_nothing_listens_to_it() {
        use Listener::{Stacks, Timeline};
        let requests = [(Stacks, true), (Timeline, true), (Stacks, false), (Timeline, false)];
        assert_eq!(told(&requests), [Some(true), None, None, Some(false)]);
    }

    #[test]
    fn who_asks_twice_is_noted_once() {
        use Listener::Stacks;
        let requests = [(Stacks, true), (Stacks, true), (Stacks, false), (Stacks, false)];
        assert_eq!(told(&requests), [Some(true), None, Some(false), None]);
    }

    /// One that the VM refused is not thought to be on.
    #[test]
    fn what_was_refused_is_asked_for_again() {
        let events = Events::new();
        let event = sys::JVMTI_EVENT_CLASS_PREPARE;
        assert_eq!(events.change(Listener::Pins, event, true, |_| Err("no")), Err("no"));
        let mut asked = false;
        events
            .change(Listener::Pins, event, true, |_| {
                asked = true;
                Ok::<(), ()>(())
            })
            .unwrap();
        assert!(asked);
    }
}
