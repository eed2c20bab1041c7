//! Events.

use super::{Allocation, Jvmti, jvmti};
use crate::Result;
use crate::jni::{Env, Thread};
use crate::sys::{
    JVMTI_DISABLE, JVMTI_ENABLE, jint, jvmtiEvent, jvmtiEventCallbacks, jvmtiExtensionEvent,
    jvmtiStartFunction,
};
use std::ffi::{CStr, c_void};
use std::ptr::{NonNull, null_mut};

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

    /// The index of an event that this VM has beside those of JVMTI, by its name; `None` if it has none of that name.
    pub fn extension_event(self, name: &CStr) -> Result<Option<jint>> {
        let (mut count, mut events) = (0, null_mut());
        // SAFETY: the VM writes a count and an array of so many, which is ours with everything in it.
        let events = unsafe {
            jvmti!(self, GetExtensionEvents, &mut count, &mut events)?;
            Allocation::from_raw(self, events, count)
        };
        let mut found = None;
        for event in events.iter().flat_map(|events| events.iter()) {
            // SAFETY: texts of the VM's, in memory that is ours.
            unsafe {
                if !event.id.is_null() && CStr::from_ptr(event.id) == name {
                    found = Some(event.extension_event_index);
                }
                let parameters = Allocation::from_raw(self, event.params, event.param_count);
                for parameter in parameters.iter().flat_map(|parameters| parameters.iter()) {
                    drop(Allocation::from_raw(self, parameter.name, 1));
                }
                drop(Allocation::from_raw(self, event.id, 1));
                drop(Allocation::from_raw(self, event.short_description, 1));
            }
        }
        Ok(found)
    }

    /// Has the VM call a function on such an event, or none.
    ///
    /// # Safety
    /// The function takes what the VM passes for this event, follows what JVMTI allows in it, never unwinds, and stays.
    pub unsafe fn set_extension_event(self, index: jint, callback: Option<*mut c_void>) -> Result<()> {
        // SAFETY: a function is an address; JVMTI declares a variable number of arguments, which are passed as any others.
        unsafe {
            let callback = std::mem::transmute::<Option<NonNull<c_void>>, jvmtiExtensionEvent>(
                callback.and_then(NonNull::new),
            );
            jvmti!(self, SetExtensionEventCallback, index, callback)
        }
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
