//! Finding, defining and relating classes.

use super::env::{Env, jni};
use super::refs::{Class, Module, Object, Ref, Text, Thread, raw_or_null};
use crate::sys::{JNI_OK, JNI_VERSION_9, JNI_VERSION_19, JNINativeMethod, jvalue};
use crate::{Cause, Error, Result};
use std::ffi::{CStr, c_void};

/// A native method's name, descriptor and code.
#[derive(Debug, Clone, Copy)]
pub struct NativeMethod<'a> {
    /// Its name in the class.
    pub name: &'a CStr,
    /// Its descriptor.
    pub descriptor: &'a CStr,
    /// The C function.
    pub function: *mut c_void,
}

impl<'e> Env<'e> {
    /// Finds a class by its internal name (`java/lang/Object`), in the loader of the calling Java code, or in the system
    /// loader when there is none.
    pub fn find_class(&self, name: &CStr) -> Result<Class<'e>> {
        // SAFETY: a C string; the result is a new local reference to a class.
        unsafe {
            let class = jni!(self, v1_1.FindClass, name.as_ptr());
            self.wrap("FindClass", class)
        }
    }

    /// Defines a class in a loader, `None` for the boot loader.
    pub fn define_class(&self, name: &CStr, loader: Option<Object<'_>>, bytes: &[u8]) -> Result<Class<'e>> {
        let call = "DefineClass";
        let length = i32::try_from(bytes.len()).map_err(|_| Error::new(call, Cause::Argument))?;
        let loader = raw_or_null(loader);
        // SAFETY: the VM reads `length` bytes and checks what they say; the result is a new local reference.
        unsafe {
            let bytes = bytes.as_ptr().cast();
            let class = jni!(self, v1_1.DefineClass, name.as_ptr(), loader, bytes, length);
            self.wrap(call, class)
        }
    }

    /// An object's class.
    pub fn class_of<K>(&self, object: Ref<'_, K>) -> Result<Class<'e>> {
        // SAFETY: a valid object; the result is a new local reference to a class.
        unsafe {
            let class = jni!(self, v1_1.GetObjectClass, object.raw());
            self.wrap("GetObjectClass", class)
        }
    }

    /// A class's superclass; `None` for `Object` and interfaces.
    pub fn superclass(&self, class: Class<'_>) -> Option<Class<'e>> {
        // SAFETY: a valid class; the result is null or a new local reference to a class.
        unsafe { Ref::from_raw(jni!(self, v1_1.GetSuperclass, class.raw())) }
    }

    /// Whether the object could be cast to the class.
    pub fn is_instance<K>(&self, object: Ref<'_, K>, class: Class<'_>) -> bool {
        // SAFETY: both are valid.
        unsafe { jni!(self, v1_1.IsInstanceOf, object.raw(), class.raw()) }
    }

    /// Whether two references are to the same object.
    pub fn is_same<A, B>(&self, one: Ref<'_, A>, other: Ref<'_, B>) -> bool {
        // SAFETY: both are valid.
        unsafe { jni!(self, v1_1.IsSameObject, one.raw(), other.raw()) }
    }

    /// Whether a value of `class` could be cast to `target`.
    pub fn is_assignable(&self, class: Class<'_>, target: Class<'_>) -> bool {
        // SAFETY: both are valid.
        unsafe { jni!(self, v1_1.IsAssignableFrom, class.raw(), target.raw()) }
    }

    /// Binds native methods to code.
    ///
    /// # Safety
    /// Each function has the signature its descriptor asks for, behind the two arguments of every native method, and
    /// stays loaded as long as the class.
    pub unsafe fn register_natives(&self, class: Class<'_>, methods: &[NativeMethod<'_>]) -> Result<()> {
        let call = "RegisterNatives";
        let count = i32::try_from(methods.len()).map_err(|_| Error::new(call, Cause::Argument))?;
        let table: Vec<JNINativeMethod> = methods
            .iter()
            .map(|method| JNINativeMethod {
                name: method.name.as_ptr().cast_mut(),
                signature: method.descriptor.as_ptr().cast_mut(),
                fnPtr: method.function,
            })
            .collect();
        // SAFETY: `count` entries with C strings that outlive the call; the functions are the caller's promise.
        let code = unsafe { jni!(self, v1_1.RegisterNatives, class.raw(), table.as_ptr(), count) };
        self.check(call)?;
        if code == JNI_OK { Ok(()) } else { Err(Error::new(call, Cause::Jni(code))) }
    }

    /// The module a class is in; JDK 9 and newer.
    pub fn module_of(&self, class: Class<'_>) -> Result<Module<'e>> {
        if self.version() < JNI_VERSION_9 {
            return Err(Error::new("GetModule", Cause::Unavailable));
        }
        // SAFETY: the table has this function, as just checked; the result is a new local reference to a module.
        unsafe {
            let module = jni!(self, v9.GetModule, class.raw());
            self.wrap("GetModule", module)
        }
    }

    /// Whether a thread is virtual; never before JDK 19.
    pub fn is_virtual(&self, thread: Thread<'_>) -> bool {
        // SAFETY: the table has this function, as checked first; the thread is valid.
        self.version() >= JNI_VERSION_19 && unsafe { jni!(self, v19.IsVirtualThread, thread.raw()) }
    }

    /// A new `java.lang.Thread` in the current thread's group, not started: what `Jvmti::run_agent_thread` takes.
    pub fn new_thread(&self, name: &str) -> Result<Thread<'e>> {
        let class = self.find_class(c"java/lang/Thread")?;
        let constructor = self.method(class, c"<init>", c"(Ljava/lang/String;)V")?;
        let name: Text<'_> = self.new_text(name)?;
        // SAFETY: this constructor takes one string, and makes a thread.
        unsafe {
            let thread = self.new_object(class, constructor, &[jvalue { l: name.raw() }])?;
            Ok(thread.cast())
        }
    }
}
