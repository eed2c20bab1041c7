//! Threads of ours in the VM: Java code does not see them, signals to the process do not reach them, and they are not
//! sampled.

use std::ffi::c_void;
use std::sync::atomic::{AtomicI32, Ordering};

use quipu_jvm::sys::{JNIEnv, jvmtiEnv};
use quipu_jvm::{Env, Error, Jvmti};

use crate::guard::guarded;

/// What a thread does.
pub type Body = fn(&mut Env<'_>);

const NORMAL_PRIORITY: i32 = 5;

/// The kernel's ids of the threads that run.
static RUNNING: [AtomicI32; 8] = [const { AtomicI32::new(0) }; 8];

/// Whether the thread with this id is one of ours.
pub fn is_own(tid: i32) -> bool {
    RUNNING.iter().any(|own| own.load(Ordering::Relaxed) == tid)
}

/// Makes the current thread one of ours while `body` runs.
pub fn enter(body: impl FnOnce()) {
    let change = |from, to| {
        RUNNING.iter().any(|own| own.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok())
    };
    // SAFETY: a plain query.
    let tid = unsafe { libc::gettid() };
    change(0, tid);
    body();
    change(tid, 0);
}

/// Starts a thread of the VM.
pub fn start(jvmti: Jvmti, env: &Env<'_>, name: &str, body: Body) -> Result<(), Error> {
    let thread = env.new_thread(name)?;
    // SAFETY: the function takes what it is given below, and does not unwind.
    unsafe { jvmti.run_agent_thread(env, thread, Some(run), body as *mut c_void, NORMAL_PRIORITY) }
}

unsafe extern "system" fn run(_: *mut jvmtiEnv, env: *mut JNIEnv, argument: *mut c_void) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment, and what `start` gave it: a function of this type.
        let (env, body) = unsafe { (Env::from_raw(env), std::mem::transmute::<*mut c_void, Body>(argument)) };
        let Some(mut env) = env else { return };
        block_signals();
        enter(|| body(&mut env));
    });
}

/// Signals to the process are the program's; those that this thread's own instructions raise are the VM's.
pub fn block_signals() {
    // SAFETY: sets of signals are plain data; only this thread's mask changes.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP] {
            libc::sigdelset(&mut all, fault);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
    }
}
