//! Events.

use super::{Jvmti, jvmti};
use crate::Result;
use crate::jni::{Env, Thread};
use crate::sys::{JVMTI_DISABLE, JVMTI_ENABLE, jint, jvmtiEvent, jvmtiEventCallbacks, jvmtiStartFunction};
use std::ffi::c_void;

impl Jvmti {
    /// Says what to call on events. An older VM takes the part of the table it knows.
    ///
    /// # Safety
    /// Every callback may be called from any thread from now on, follows what JVMTI allows in it, and never unwinds.
    pub unsafe fn set_event_callbacks(self, callbacks: &jvmtiEventCallbacks) -> Result<()> {
        const SIZE: jint = size_of::<jvmtiEventCallbacks>() as jint;
        // SAFETY: the VM copies at most `SIZE` bytes; the callbacks are the caller's promise.
        unsafe { jvmti!(self, SetEventCallbacks, callbacks, SIZE) }
    }

    /// Switches an event on or off, on one thread or (`None`) on all.
    pub fn set_event_mode(self, event: jvmtiEvent, enable: bool, thread: Option<Thread<'_>>) -> Result<()> {
        let mode = if enable { JVMTI_ENABLE } else { JVMTI_DISABLE };
        let thread = crate::jni::raw_or_null(thread);
        // SAFETY: a valid thread or null, for all.
        unsafe { jvmti!(self, SetEventNotificationMode, mode, event, thread) }
    }

    /// Has `CompiledMethodLoad` or `DynamicCodeGenerated` reported for code that exists already.
    pub fn generate_events(self, event: jvmtiEvent) -> Result<()> {
        // SAFETY: the VM checks the event; callbacks run as they would at any time.
        unsafe { jvmti!(self, GenerateEvents, event) }
    }

    /// Starts a Java thread (see [`Env::new_thread`]) that runs native code; a daemon, not visible to Java queries.
    ///
    /// # Safety
    /// `body` may be called with `argument` on another thread, at any later time, and never unwinds.
    pub unsafe fn run_agent_thread(
        self,
        _env: &Env<'_>,
        thread: Thread<'_>,
        body: jvmtiStartFunction,
        argument: *mut c_void,
        priority: jint,
    ) -> Result<()> {
        // SAFETY: a valid thread; the rest is the caller's promise.
        unsafe { jvmti!(self, RunAgentThread, thread.raw(), body, argument, priority) }
    }
}
