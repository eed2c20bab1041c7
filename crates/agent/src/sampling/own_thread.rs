//! Threads of ours in the VM: Java code does not see them, signals to the process do not reach them, and they are not
//! sampled.

use std::ffi::c_void;
use std::sync::atomic::{AtomicI32, Ordering};

use quipu_jvm::sys::{JNIEnv, jvmtiEnv};
use quipu_jvm::{Env, Error};

use super::Engine;
use crate::guard::guarded;

/// What a thread does.
pub type Body = fn(&'static Engine, &mut Env<'_>);

const NORMAL_PRIORITY: i32 = 5;

/// The kernel's ids of the threads that run.
#[derive(Default)]
pub struct OwnThreads([AtomicI32; 2]);

impl OwnThreads {
    /// Whether the thread with this id is one of ours.
    pub fn contain(&self, tid: i32) -> bool {
        self.0.iter().any(|own| own.load(Ordering::Relaxed) == tid)
    }

    fn change(&self, from: i32, to: i32) {
        let _ = self
            .0
            .iter()
            .find(|own| own.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok());
    }
}

/// Starts a thread.
pub fn start(engine: &'static Engine, env: &Env<'_>, name: &str, body: Body) -> Result<(), Error> {
    let thread = env.new_thread(name)?;
    let argument = body as *mut c_void;
    // SAFETY: the function takes what it is given below, and does not unwind.
    unsafe { engine.jvmti.run_agent_thread(env, thread, Some(run), argument, NORMAL_PRIORITY) }
}

unsafe extern "system" fn run(_: *mut jvmtiEnv, env: *mut JNIEnv, argument: *mut c_void) {
    guarded((), || {
        // SAFETY: the VM passes this thread's environment, and what `start` gave it: a function of this type.
        let (env, body) = unsafe { (Env::from_raw(env), std::mem::transmute::<*mut c_void, Body>(argument)) };
        let (Some(mut env), Some(engine)) = (env, Engine::get()) else { return };
        block_signals();
        // SAFETY: a plain query.
        let tid = unsafe { libc::gettid() };
        engine.own_threads.change(0, tid);
        // The VM has told of it like of any other.
        engine.threads.remove(engine.arena, tid);
        body(engine, &mut env);
        engine.own_threads.change(tid, 0);
    });
}

/// Signals to the process are the program's; those that this thread's own instructions raise are the VM's.
fn block_signals() {
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
