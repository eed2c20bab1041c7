//! The environment of one thread: exceptions, frames and references.

use super::refs::{Global, Object, Ref, Weak, kind};
use crate::sys::{JNI_OK, JNIEnv, jint, jobject, jthrowable};
use crate::{Cause, Error, Result};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// JNI on the current thread, for the scope `'e` in which the references it gives out stay valid: one native method or
/// callback, one attachment, one [`Env::with_frame`].
#[derive(Debug)]
pub struct Env<'e> {
    raw: NonNull<JNIEnv>,
    scope: PhantomData<(&'e (), *mut ())>,
}

/// Calls a JNI function by its name and the version that has it.
macro_rules! jni {
    ($env:expr, $version:ident.$function:ident $(, $argument:expr)* $(,)?) => {
        ((**$env.raw()).$version.$function)($env.raw() $(, $argument)*)
    };
}
pub(crate) use jni;

impl<'e> Env<'e> {
    /// Wraps what the VM passed to a callback; `None` for null.
    ///
    /// # Safety
    /// `raw` is null or this thread's environment, which stays attached throughout `'e`, and references made now live
    /// that long: no local frame ends within `'e`, and no other `Env` of this thread outlives one that does.
    pub unsafe fn from_raw(raw: *mut JNIEnv) -> Option<Self> {
        NonNull::new(raw).map(|raw| Self { raw, scope: PhantomData })
    }

    /// The pointer as JNI wants it.
    pub fn raw(&self) -> *mut JNIEnv {
        self.raw.as_ptr()
    }

    /// JNI's version in this VM: 0x0001_0008 for JDK 8, 0x0009_0000 for 9, and so on.
    pub fn version(&self) -> jint {
        // SAFETY: no arguments; may be called at any time on an attached thread.
        unsafe { jni!(self, v1_1.GetVersion) }
    }

    /// Whether Java code threw something that was not caught yet.
    pub fn exception_pending(&self) -> bool {
        // SAFETY: may be called with an exception pending.
        unsafe { jni!(self, v1_2.ExceptionCheck) }
    }

    /// Prints the pending exception with its stack trace to the target's stderr, which also clears it.
    pub fn describe_exception(&self) {
        // SAFETY: may be called with or without an exception pending.
        unsafe { jni!(self, v1_1.ExceptionDescribe) }
    }

    /// Forgets the pending exception, if there is one.
    pub fn clear_exception(&self) {
        // SAFETY: may be called with or without an exception pending.
        unsafe { jni!(self, v1_1.ExceptionClear) }
    }

    /// Makes a pending exception an error, and clears it.
    pub fn check(&self, call: &'static str) -> Result<()> {
        if !self.exception_pending() {
            return Ok(());
        }
        // SAFETY: an exception is pending, and these may be called then; the reference is deleted once, here.
        let text = unsafe {
            let thrown = jni!(self, v1_1.ExceptionOccurred);
            self.clear_exception();
            let text = self.describe(thrown);
            jni!(self, v1_1.DeleteLocalRef, thrown);
            text
        };
        Err(Error::new(call, Cause::Exception(text)))
    }

    /// The exception's `toString()`; when that throws as well, something that says so.
    ///
    /// # Safety
    /// `thrown` is null or a valid reference, and no exception is pending.
    unsafe fn describe(&self, thrown: jthrowable) -> String {
        const UNKNOWN: &str = "an exception that cannot describe itself";
        // SAFETY: the caller's promise, and the method id is looked up on the object's own class with the
        // descriptor it is then called with.
        unsafe {
            if thrown.is_null() {
                return UNKNOWN.to_owned();
            }
            let class = jni!(self, v1_1.GetObjectClass, thrown);
            let name = c"toString".as_ptr();
            let method = jni!(self, v1_1.GetMethodID, class, name, c"()Ljava/lang/String;".as_ptr());
            jni!(self, v1_1.DeleteLocalRef, class);
            let text = if method.is_null() {
                std::ptr::null_mut()
            } else {
                jni!(self, v1_1.CallObjectMethodA, thrown, method, std::ptr::null())
            };
            self.clear_exception();
            let Some(text) = Ref::<kind::Text>::from_raw(text) else { return UNKNOWN.to_owned() };
            let described = self.text(text);
            jni!(self, v1_1.DeleteLocalRef, text.raw());
            described
        }
    }

    /// Wraps what a call returned: a pending exception or a null are errors.
    ///
    /// # Safety
    /// `raw` is what JNI just returned on this thread: null, or a new local reference of kind `K`.
    pub(crate) unsafe fn wrap<K>(&self, call: &'static str, raw: jobject) -> Result<Ref<'e, K>> {
        self.check(call)?;
        // SAFETY: the caller's promise; new local references last until the scope's frame ends.
        unsafe { Ref::from_raw(raw) }.ok_or(Error::new(call, Cause::Null))
    }

    /// Runs `body` in a frame of its own: the references made in it are gone when it ends, so a loop or a walk over all
    /// classes does not fill the thread's table.
    pub fn with_frame<R>(
        &mut self,
        capacity: u16,
        body: impl for<'f> FnOnce(&mut Env<'f>) -> R,
    ) -> Result<R> {
        struct Frame(*mut JNIEnv);
        impl Drop for Frame {
            fn drop(&mut self) {
                // SAFETY: pops the frame pushed below, on the same thread; nothing made in it is kept.
                unsafe { _ = ((**self.0).v1_2.PopLocalFrame)(self.0, std::ptr::null_mut()) }
            }
        }
        // SAFETY: no references are passed; success is checked.
        let pushed = unsafe { jni!(self, v1_2.PushLocalFrame, jint::from(capacity)) };
        if pushed != JNI_OK {
            self.check("PushLocalFrame")?;
            return Err(Error::new("PushLocalFrame", Cause::Jni(pushed)));
        }
        let frame = Frame(self.raw());
        let mut inner = Env { raw: self.raw, scope: PhantomData };
        let result = body(&mut inner);
        drop(frame);
        Ok(result)
    }

    /// Makes a reference that outlives this scope and thread.
    pub fn new_global<K>(&self, reference: Ref<'_, K>) -> Result<Global<K>> {
        // SAFETY: `Ref` is valid; the new reference is owned by the result.
        let global = unsafe { Global::from_raw(jni!(self, v1_1.NewGlobalRef, reference.raw())) };
        global.ok_or(Error::new("NewGlobalRef", Cause::Null))
    }

    /// Another reference to the same object, valid in this scope.
    pub fn new_local<K>(&self, reference: Ref<'_, K>) -> Result<Ref<'e, K>> {
        // SAFETY: `Ref` is valid; the new one is this scope's, and of the same kind.
        let local = unsafe { Ref::from_raw(jni!(self, v1_2.NewLocalRef, reference.raw())) };
        local.ok_or(Error::new("NewLocalRef", Cause::Null))
    }

    /// Lets go of a global reference.
    pub fn delete_global<K>(&self, global: Global<K>) {
        // SAFETY: `Global` owns the reference, and is consumed.
        unsafe { jni!(self, v1_1.DeleteGlobalRef, global.into_raw()) }
    }

    /// Makes a reference that outlives this scope and thread, and lets the object go when nothing else keeps it.
    pub fn new_weak<K>(&self, reference: Ref<'_, K>) -> Result<Weak<K>> {
        // SAFETY: `Ref` is valid; the new reference is owned by the result.
        let weak = unsafe { Weak::from_raw(jni!(self, v1_2.NewWeakGlobalRef, reference.raw())) };
        if weak.is_none() {
            self.check("NewWeakGlobalRef")?;
        }
        weak.ok_or(Error::new("NewWeakGlobalRef", Cause::Null))
    }

    /// The object, kept alive in this scope; `None` if it is gone.
    pub fn upgrade<K>(&self, weak: &Weak<K>) -> Option<Ref<'e, K>> {
        // SAFETY: the weak reference is valid; the VM makes a local one of this scope, or null if the object is gone.
        unsafe { Ref::from_raw(jni!(self, v1_2.NewLocalRef, weak.raw())) }
    }

    /// Whether the object of a weak reference is gone.
    pub fn is_gone<K>(&self, weak: &Weak<K>) -> bool {
        // SAFETY: the weak reference is valid, and it is the same as null once its object is gone.
        unsafe { jni!(self, v1_1.IsSameObject, weak.raw(), std::ptr::null_mut()) }
    }

    /// The same of a reference that somebody else owns.
    ///
    /// # Safety
    /// `weak` is the pointer of a [`Weak`] that is not deleted meanwhile.
    pub unsafe fn is_gone_raw(&self, weak: jobject) -> bool {
        // SAFETY: the caller's promise.
        unsafe { jni!(self, v1_1.IsSameObject, weak, std::ptr::null_mut()) }
    }

    /// Lets go of a weak reference.
    pub fn delete_weak<K>(&self, weak: Weak<K>) {
        // SAFETY: `Weak` owns the reference, and is consumed.
        unsafe { jni!(self, v1_2.DeleteWeakGlobalRef, weak.raw()) }
    }

    /// Whether two references are to the same object.
    pub fn same<K, L>(&self, a: Ref<'_, K>, b: Ref<'_, L>) -> bool {
        // SAFETY: both are valid.
        unsafe { jni!(self, v1_1.IsSameObject, a.raw(), b.raw()) }
    }

    /// A direct `ByteBuffer` over memory of ours.
    ///
    /// # Safety
    /// `length` bytes at `address` stay mapped, and writable if Java writes to them, as long as Java can reach the buffer.
    pub unsafe fn new_direct_byte_buffer(&self, address: *mut u8, length: usize) -> Result<Object<'e>> {
        let call = "NewDirectByteBuffer";
        let length = i64::try_from(length).map_err(|_| Error::new(call, Cause::Argument))?;
        // SAFETY: the caller's promise.
        unsafe {
            let buffer = jni!(self, v1_4.NewDirectByteBuffer, address.cast(), length);
            self.wrap(call, buffer)
        }
    }
}
