//! The virtual machine: where environments come from.

use super::env::Env;
use crate::sys::{
    self, JNI_EDETACHED, JNI_OK, JNI_VERSION_1_6, JNIEnv, JavaVM, JavaVMAttachArgs, jint, jvmtiEnv,
};
use crate::{Cause, Error, Jvmti, Result};
use std::ffi::{CStr, c_void};
use std::marker::PhantomData;
use std::ptr::{NonNull, null_mut};

/// The virtual machine of this process.
#[derive(Debug, Clone, Copy)]
pub struct Jvm(NonNull<JavaVM>);

// SAFETY: the invocation interface may be called from every thread.
unsafe impl Send for Jvm {}
// SAFETY: as above.
unsafe impl Sync for Jvm {}

impl Jvm {
    /// Wraps what `Agent_OnLoad` or `JNI_OnLoad` was given; `None` for null.
    ///
    /// # Safety
    /// `raw` is null or the process's `JavaVM`, which lives until the process ends or the agent is unloaded.
    pub unsafe fn from_raw(raw: *mut JavaVM) -> Option<Self> {
        NonNull::new(raw).map(Self)
    }

    /// The pointer as JNI wants it.
    pub fn raw(self) -> *mut JavaVM {
        self.0.as_ptr()
    }

    /// A new JVMTI environment, of the newest version this VM and we both know.
    pub fn jvmti(self) -> Result<Jvmti> {
        let versions = [
            sys::JVMTI_VERSION,
            sys::JVMTI_VERSION_21,
            sys::JVMTI_VERSION_19,
            sys::JVMTI_VERSION_11,
            sys::JVMTI_VERSION_9,
            sys::JVMTI_VERSION_1_2,
        ];
        let mut code = JNI_OK;
        for version in versions {
            match self.environment::<jvmtiEnv>(version) {
                // SAFETY: the VM just made this environment and gave it to us.
                Ok(raw) => return Ok(unsafe { Jvmti::from_raw(raw) }),
                Err(error) => code = error,
            }
        }
        Err(Error::new("GetEnv (JVMTI)", Cause::Jni(code)))
    }

    /// Runs `body` with this thread's environment; an error if the thread is not attached.
    pub fn with_env<R>(self, body: impl for<'f> FnOnce(&mut Env<'f>) -> R) -> Result<R> {
        let raw = self
            .environment::<JNIEnv>(JNI_VERSION_1_6)
            .map_err(|code| Error::new("GetEnv", Cause::Jni(code)))?;
        let mut env = from_vm(raw)?;
        Ok(body(&mut env))
    }

    /// Attaches this thread under a name, as a daemon (the VM ends without waiting for it). If it is attached already,
    /// the guard only lends its environment.
    pub fn attach_current_thread(self, name: &CStr) -> Result<Attached> {
        if let Ok(raw) = self.environment::<JNIEnv>(JNI_VERSION_1_6) {
            return Ok(Attached { vm: self, env: raw, detach: false, thread: PhantomData });
        }
        let call = "AttachCurrentThreadAsDaemon";
        let mut args =
            JavaVMAttachArgs { version: JNI_VERSION_1_6, name: name.as_ptr().cast_mut(), group: null_mut() };
        let mut env: *mut c_void = null_mut();
        // SAFETY: the VM is live, and both pointers are to locals of the types JNI asks for.
        let code = unsafe {
            let attach = (**self.raw()).v1_4.AttachCurrentThreadAsDaemon;
            attach(self.raw(), &mut env, (&raw mut args).cast())
        };
        match NonNull::new(env.cast()) {
            Some(env) if code == JNI_OK => Ok(Attached { vm: self, env, detach: true, thread: PhantomData }),
            _ => Err(Error::new(call, Cause::Jni(code))),
        }
    }

    fn environment<T>(self, version: jint) -> std::result::Result<NonNull<T>, jint> {
        let mut env: *mut c_void = null_mut();
        // SAFETY: the VM is live; it writes an interface of the version asked for, or null.
        let code = unsafe { ((**self.raw()).v1_2.GetEnv)(self.raw(), &mut env, version) };
        match NonNull::new(env.cast()) {
            Some(env) if code == JNI_OK => Ok(env),
            _ if code == JNI_OK => Err(JNI_EDETACHED),
            _ => Err(code),
        }
    }
}

fn from_vm<'e>(raw: NonNull<JNIEnv>) -> Result<Env<'e>> {
    // SAFETY: the VM says this is the current thread's environment; both users bound the scope by a closure or a guard
    // that does not outlive the attachment.
    unsafe { Env::from_raw(raw.as_ptr()) }.ok_or(Error::new("GetEnv", Cause::Null))
}

/// A thread that is attached while this lives.
#[derive(Debug)]
pub struct Attached {
    vm: Jvm,
    env: NonNull<JNIEnv>,
    detach: bool,
    thread: PhantomData<*mut ()>,
}

impl Attached {
    /// Runs `body` with the thread's environment, in a frame of its own: an attached thread has no Java caller whose
    /// return would free its references.
    pub fn with_env<R>(&mut self, body: impl for<'f> FnOnce(&mut Env<'f>) -> R) -> Result<R> {
        from_vm(self.env)?.with_frame(64, body)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        if self.detach {
            // SAFETY: this guard attached the thread, stays on it, and no reference outlives it.
            _ = unsafe { ((**self.vm.raw()).v1_1.DetachCurrentThread)(self.vm.raw()) };
        }
    }
}
