//! Virtual threads that park: they give their carrier back and do not come by `Unsafe.park`. HotSpot tells of that by events of its
//! own, an extension of JVMTI, before a virtual thread is taken from its carrier and after it was put on one. Others, for
//! which this is not the place, are taken from their carriers, too: those that sleep, yield, or wait for monitors. What tells
//! them apart is that a thread that parks has something to park for.

use std::ffi::{CStr, c_void};

use quipu_jvm::sys::{JNIEnv, jthread, jvmtiEnv, jvmtiEvent};
use quipu_jvm::{Env, Ref};

use super::parking;
use crate::guard::guarded;
use crate::session::Session;

const UNMOUNT: &CStr = c"com.sun.hotspot.events.VirtualThreadUnmount";
const MOUNT: &CStr = c"com.sun.hotspot.events.VirtualThreadMount";

type Told = unsafe extern "C" fn(*mut jvmtiEnv, *mut JNIEnv, jthread);

/// Virtual threads that park are told of from now on, or no more. Nothing if this VM has no virtual threads.
pub fn set(session: &Session, env: &Env<'_>, on: bool) -> Result<(), String> {
    /// The version of JNI in which virtual threads are no preview.
    const SINCE: i32 = 0x0015_0000;
    if env.version() < SINCE {
        return Ok(());
    }
    for (name, function) in
        [(UNMOUNT, unmounts as Told as *mut c_void), (MOUNT, mounted as Told as *mut c_void)]
    {
        let index = session.jvmti.extension_event(name).map_err(|e| e.to_string())?;
        let index = index.ok_or("this JVM does not tell when virtual threads park")?;
        // SAFETY: the functions take what the VM passes for these events, are guarded, and never go away.
        let set = unsafe { session.jvmti.set_extension_event(index, on.then_some(function)) };
        let told = set.and_then(|()| session.jvmti.set_event_mode(jvmtiEvent(index), on, None));
        told.map_err(|e| e.to_string())?;
    }
    Ok(())
}

unsafe extern "C" fn unmounts(_: *mut jvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment and a valid thread.
        if let (Some(mut env), Some(thread)) = unsafe { (Env::from_raw(env), Ref::from_raw(thread)) } {
            parking::began_virtual(&mut env, thread);
        }
    });
}

unsafe extern "C" fn mounted(_: *mut jvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    guarded((), || {
        // SAFETY: as above.
        if let (Some(env), Some(thread)) = unsafe { (Env::from_raw(env), Ref::from_raw(thread)) } {
            parking::ended_virtual(&env, thread);
        }
    });
}
