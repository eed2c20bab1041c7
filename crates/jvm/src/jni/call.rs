//! Calling Java.

use super::env::{Env, jni};
use super::refs::{Class, MethodId, Object, Ref};
use crate::sys::{jclass, jdouble, jint, jlong, jmethodID, jobject, jvalue};
use crate::{Cause, Error, Result};
use std::ffi::CStr;

/// Makes the static and the instance call for one result type.
macro_rules! calls {
    ($($what:literal $result:ty: $static:ident $StaticA:ident, $instance:ident $InstanceA:ident;)*) => {
        impl Env<'_> {
            $(
                #[doc = concat!("Calls a static method that returns ", $what, ".")]
                ///
                /// # Safety
                /// The method belongs to `class`, is static, and takes and returns just these types.
                pub unsafe fn $static(
                    &self, class: Class<'_>, method: MethodId, args: &[jvalue],
                ) -> Result<$result> {
                    // SAFETY: the caller's promise; `args` outlives the call.
                    let result = unsafe {
                        jni!(self, v1_1.$StaticA, class.raw(), method.raw(), args.as_ptr())
                    };
                    self.check(stringify!($StaticA)).map(|()| result)
                }

                #[doc = concat!("Calls a method on an object; it returns ", $what, ".")]
                ///
                /// # Safety
                /// The object has the method, which takes and returns just these types.
                pub unsafe fn $instance<K>(
                    &self, object: Ref<'_, K>, method: MethodId, args: &[jvalue],
                ) -> Result<$result> {
                    // SAFETY: the caller's promise; `args` outlives the call.
                    let result = unsafe {
                        jni!(self, v1_1.$InstanceA, object.raw(), method.raw(), args.as_ptr())
                    };
                    self.check(stringify!($InstanceA)).map(|()| result)
                }
            )*
        }
    };
}

calls! {
    "nothing" (): call_static_void CallStaticVoidMethodA, call_void CallVoidMethodA;
    "an int" jint: call_static_int CallStaticIntMethodA, call_int CallIntMethodA;
    "a long" jlong: call_static_long CallStaticLongMethodA, call_long CallLongMethodA;
    "a double" jdouble: call_static_double CallStaticDoubleMethodA, call_double CallDoubleMethodA;
    "a boolean" bool: call_static_boolean CallStaticBooleanMethodA, call_boolean CallBooleanMethodA;
}

impl<'e> Env<'e> {
    /// Looks up a static method; may initialise the class.
    pub fn static_method(&self, class: Class<'_>, name: &CStr, descriptor: &CStr) -> Result<MethodId> {
        // SAFETY: a valid class and C strings.
        let id =
            unsafe { jni!(self, v1_1.GetStaticMethodID, class.raw(), name.as_ptr(), descriptor.as_ptr()) };
        self.method_id("GetStaticMethodID", id)
    }

    /// Looks up an instance method or constructor (`<init>`); may initialise the class.
    pub fn method(&self, class: Class<'_>, name: &CStr, descriptor: &CStr) -> Result<MethodId> {
        // SAFETY: a valid class and C strings.
        let id = unsafe { jni!(self, v1_1.GetMethodID, class.raw(), name.as_ptr(), descriptor.as_ptr()) };
        self.method_id("GetMethodID", id)
    }

    fn method_id(&self, call: &'static str, id: jmethodID) -> Result<MethodId> {
        self.check(call)?;
        if id.is_null() {
            return Err(Error::new(call, Cause::Null));
        }
        // SAFETY: the VM just gave this id.
        Ok(unsafe { MethodId::from_raw(id) })
    }

    /// The method that a `java.lang.reflect.Method` or `Constructor` is of.
    ///
    /// # Safety
    /// The object is one of those.
    pub unsafe fn reflected_method(&self, object: Object<'_>) -> Result<MethodId> {
        // SAFETY: the caller's promise.
        let id = unsafe { jni!(self, v1_2.FromReflectedMethod, object.raw()) };
        if id.is_null() {
            self.check("FromReflectedMethod")?;
            return Err(Error::new("FromReflectedMethod", Cause::Null));
        }
        // SAFETY: the VM just gave this id.
        Ok(unsafe { MethodId::from_raw(id) })
    }

    /// Calls a static method that returns an object; `None` for null.
    ///
    /// # Safety
    /// The method belongs to `class`, is static, takes these types and returns an object.
    pub unsafe fn call_static_object(
        &self,
        class: Class<'_>,
        method: MethodId,
        args: &[jvalue],
    ) -> Result<Option<Object<'e>>> {
        // SAFETY: the caller's promise; `args` outlives the call.
        unsafe {
            let result = jni!(self, v1_1.CallStaticObjectMethodA, class.raw(), method.raw(), args.as_ptr());
            self.optional("CallStaticObjectMethodA", result)
        }
    }

    /// Calls a method on an object; it returns an object, `None` for null.
    ///
    /// # Safety
    /// The object has the method, which takes these types and returns an object.
    pub unsafe fn call_object<K>(
        &self,
        object: Ref<'_, K>,
        method: MethodId,
        args: &[jvalue],
    ) -> Result<Option<Object<'e>>> {
        // SAFETY: the caller's promise; `args` outlives the call.
        unsafe {
            let result = jni!(self, v1_1.CallObjectMethodA, object.raw(), method.raw(), args.as_ptr());
            self.optional("CallObjectMethodA", result)
        }
    }

    /// Makes an object with one of its constructors.
    ///
    /// # Safety
    /// The constructor is `class`'s own and takes these types.
    pub unsafe fn new_object(
        &self,
        class: Class<'_>,
        constructor: MethodId,
        args: &[jvalue],
    ) -> Result<Object<'e>> {
        // SAFETY: the caller's promise; `args` outlives the call.
        unsafe {
            let raw: jclass = class.raw();
            let object = jni!(self, v1_1.NewObjectA, raw, constructor.raw(), args.as_ptr());
            self.wrap("NewObjectA", object)
        }
    }

    /// # Safety
    /// `raw` is what JNI just returned on this thread: null or a new local reference.
    pub(super) unsafe fn optional(&self, call: &'static str, raw: jobject) -> Result<Option<Object<'e>>> {
        self.check(call)?;
        // SAFETY: the caller's promise.
        Ok(unsafe { Ref::from_raw(raw) })
    }
}
