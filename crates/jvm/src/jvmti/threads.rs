//! Threads and their stacks.

use super::classes::references;
use super::memory::{Allocation, CText};
use super::{Jvmti, jvmti};
use crate::jni::{Env, Object, Ref, Thread, raw_or_null};
use crate::sys::{jthread, jvmtiFrameInfo, jvmtiMonitorUsage, jvmtiThreadInfo};
use crate::{Cause, Error, Result};
use std::ffi::c_void;
use std::ptr::null_mut;

/// What a thread is.
#[derive(Debug)]
pub struct ThreadInfo<'e> {
    /// Its name.
    pub name: CText,
    /// 1 to 10.
    pub priority: i32,
    /// Whether the VM ends without waiting for it.
    pub is_daemon: bool,
    /// Its group; none when it has ended.
    pub group: Option<Object<'e>>,
    /// Its context class loader, if it has one.
    pub context_class_loader: Option<Object<'e>>,
}

impl Jvmti {
    /// The thread that calls.
    pub fn current_thread<'e>(self, _env: &Env<'e>) -> Result<Thread<'e>> {
        let mut thread = null_mut();
        // SAFETY: the VM writes null or a new local reference to a thread.
        unsafe {
            jvmti!(self, GetCurrentThread, &mut thread)?;
            Ref::from_raw(thread)
        }
        .ok_or(Error::new("GetCurrentThread", Cause::Null))
    }

    /// Every live platform thread.
    pub fn all_threads<'e>(self, _env: &Env<'e>) -> Result<Vec<Thread<'e>>> {
        let (mut count, mut threads) = (0, null_mut::<jthread>());
        // SAFETY: the VM allocates `count` new local references to threads on this thread.
        unsafe {
            jvmti!(self, GetAllThreads, &mut count, &mut threads)?;
            Ok(references(Allocation::from_raw(self, threads, count)))
        }
    }

    /// What a thread is, `None` for the one that calls.
    pub fn thread_info<'e>(self, _env: &Env<'e>, thread: Option<Thread<'_>>) -> Result<ThreadInfo<'e>> {
        let mut info = jvmtiThreadInfo {
            name: null_mut(),
            priority: 0,
            is_daemon: 0,
            thread_group: null_mut(),
            context_class_loader: null_mut(),
        };
        // SAFETY: a valid thread or null; the VM allocates the name and writes null or new local references.
        unsafe {
            jvmti!(self, GetThreadInfo, raw_or_null(thread), &mut info)?;
            Ok(ThreadInfo {
                name: CText::from_raw(self, info.name).ok_or(Error::new("GetThreadInfo", Cause::Null))?,
                priority: info.priority,
                is_daemon: info.is_daemon != 0,
                group: Ref::from_raw(info.thread_group),
                context_class_loader: Ref::from_raw(info.context_class_loader),
            })
        }
    }

    /// The thread that holds an object's monitor, if one does; needs `CAN_GET_MONITOR_INFO`.
    pub fn monitor_owner<'e, K>(self, _env: &Env<'e>, object: Ref<'_, K>) -> Result<Option<Thread<'e>>> {
        let mut usage = jvmtiMonitorUsage {
            owner: null_mut(),
            entry_count: 0,
            waiter_count: 0,
            waiters: null_mut(),
            notify_waiter_count: 0,
            notify_waiters: null_mut(),
        };
        // SAFETY: a valid object; the VM writes null or new local references, and allocates the two lists.
        unsafe {
            jvmti!(self, GetObjectMonitorUsage, object.raw(), &mut usage)?;
            drop(Allocation::from_raw(self, usage.waiters, usage.waiter_count));
            drop(Allocation::from_raw(self, usage.notify_waiters, usage.notify_waiter_count));
            Ok(Ref::from_raw(usage.owner))
        }
    }

    /// A thread's `JVMTI_THREAD_STATE_*` flags, `None` for the one that calls.
    pub fn thread_state(self, thread: Option<Thread<'_>>) -> Result<i32> {
        let mut state = 0;
        // SAFETY: a valid thread or null; the VM writes one int.
        unsafe { jvmti!(self, GetThreadState, raw_or_null(thread), &mut state) }.map(|()| state)
    }

    /// CPU time of the thread that calls, in nanoseconds; needs `CAN_GET_CURRENT_THREAD_CPU_TIME`.
    pub fn current_thread_cpu_time(self) -> Result<i64> {
        let mut nanos = 0;
        // SAFETY: the VM writes one long.
        unsafe { jvmti!(self, GetCurrentThreadCpuTime, &mut nanos) }.map(|()| nanos)
    }

    /// CPU time of a thread, in nanoseconds; needs `CAN_GET_THREAD_CPU_TIME`.
    pub fn thread_cpu_time(self, thread: Thread<'_>) -> Result<i64> {
        let mut nanos = 0;
        // SAFETY: a valid thread; the VM writes one long.
        unsafe { jvmti!(self, GetThreadCpuTime, thread.raw(), &mut nanos) }.map(|()| nanos)
    }

    /// Fills `frames` from the youngest frame on, after skipping `start` (from the oldest, if negative), and returns how
    /// many there were. `None` for the thread that calls.
    pub fn stack_trace(
        self,
        thread: Option<Thread<'_>>,
        start: i32,
        frames: &mut [jvmtiFrameInfo],
    ) -> Result<usize> {
        let most = i32::try_from(frames.len()).unwrap_or(i32::MAX);
        let (thread, frames) = (raw_or_null(thread), frames.as_mut_ptr());
        let mut count = 0;
        // SAFETY: a valid thread or null; the VM writes at most `most` frames and one int.
        unsafe { jvmti!(self, GetStackTrace, thread, start, most, frames, &mut count) }?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// A pointer of ours for a thread, null if none was set; `None` for the thread that calls.
    pub fn thread_local_storage(self, thread: Option<Thread<'_>>) -> Result<*mut c_void> {
        let mut data = null_mut();
        // SAFETY: a valid thread or null; the VM writes the pointer it was given.
        unsafe { jvmti!(self, GetThreadLocalStorage, raw_or_null(thread), &mut data) }.map(|()| data)
    }

    /// Sets that pointer; the VM only keeps it.
    #[allow(clippy::not_unsafe_ptr_arg_deref, reason = "nobody follows the pointer")]
    pub fn set_thread_local_storage(self, thread: Option<Thread<'_>>, data: *mut c_void) -> Result<()> {
        // SAFETY: a valid thread or null; the VM never follows the pointer.
        unsafe { jvmti!(self, SetThreadLocalStorage, raw_or_null(thread), data) }
    }
}
