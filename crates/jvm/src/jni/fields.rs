//! Reading and writing fields.

use super::env::{Env, jni};
use super::refs::{Class, FieldId, Object, Ref, raw_or_null};
use crate::sys::{jfieldID, jint, jlong};
use crate::{Cause, Error, Result};
use std::ffi::CStr;

/// Makes getters and setters for one primitive type.
macro_rules! fields {
    ($($what:literal $type:ty:
        $get_static:ident $GetStatic:ident, $set_static:ident $SetStatic:ident,
        $get:ident $Get:ident, $set:ident $Set:ident;)*) => {
        impl Env<'_> {
            $(
                #[doc = concat!("Reads a static field that holds ", $what, ".")]
                ///
                /// # Safety
                /// The field is a static one of `class`, of this type.
                pub unsafe fn $get_static(&self, class: Class<'_>, field: FieldId) -> $type {
                    // SAFETY: the caller's promise.
                    unsafe { jni!(self, v1_1.$GetStatic, class.raw(), field.raw()) }
                }

                #[doc = concat!("Sets a static field that holds ", $what, ".")]
                ///
                /// # Safety
                /// The field is a static one of `class`, of this type.
                pub unsafe fn $set_static(&self, class: Class<'_>, field: FieldId, value: $type) {
                    // SAFETY: the caller's promise.
                    unsafe { jni!(self, v1_1.$SetStatic, class.raw(), field.raw(), value) }
                }

                #[doc = concat!("Reads an object's field that holds ", $what, ".")]
                ///
                /// # Safety
                /// The object has the field, of this type.
                pub unsafe fn $get<K>(&self, object: Ref<'_, K>, field: FieldId) -> $type {
                    // SAFETY: the caller's promise.
                    unsafe { jni!(self, v1_1.$Get, object.raw(), field.raw()) }
                }

                #[doc = concat!("Sets an object's field that holds ", $what, ".")]
                ///
                /// # Safety
                /// The object has the field, of this type.
                pub unsafe fn $set<K>(&self, object: Ref<'_, K>, field: FieldId, value: $type) {
                    // SAFETY: the caller's promise.
                    unsafe { jni!(self, v1_1.$Set, object.raw(), field.raw(), value) }
                }
            )*
        }
    };
}

fields! {
    "an int" jint:
        static_int GetStaticIntField, set_static_int SetStaticIntField,
        int_field GetIntField, set_int_field SetIntField;
    "a long" jlong:
        static_long GetStaticLongField, set_static_long SetStaticLongField,
        long_field GetLongField, set_long_field SetLongField;
    "a boolean" bool:
        static_boolean GetStaticBooleanField, set_static_boolean SetStaticBooleanField,
        boolean_field GetBooleanField, set_boolean_field SetBooleanField;
}

impl<'e> Env<'e> {
    /// Looks up a static field; may initialise the class.
    pub fn static_field(&self, class: Class<'_>, name: &CStr, descriptor: &CStr) -> Result<FieldId> {
        // SAFETY: a valid class and C strings.
        let id =
            unsafe { jni!(self, v1_1.GetStaticFieldID, class.raw(), name.as_ptr(), descriptor.as_ptr()) };
        self.field_id("GetStaticFieldID", id)
    }

    /// Looks up an instance field; may initialise the class.
    pub fn field(&self, class: Class<'_>, name: &CStr, descriptor: &CStr) -> Result<FieldId> {
        // SAFETY: a valid class and C strings.
        let id = unsafe { jni!(self, v1_1.GetFieldID, class.raw(), name.as_ptr(), descriptor.as_ptr()) };
        self.field_id("GetFieldID", id)
    }

    fn field_id(&self, call: &'static str, id: jfieldID) -> Result<FieldId> {
        self.check(call)?;
        if id.is_null() {
            return Err(Error::new(call, Cause::Null));
        }
        // SAFETY: the VM just gave this id.
        Ok(unsafe { FieldId::from_raw(id) })
    }

    /// Reads a static field that holds an object; `None` for null.
    ///
    /// # Safety
    /// The field is a static one of `class`, of a reference type.
    pub unsafe fn static_object(&self, class: Class<'_>, field: FieldId) -> Option<Object<'e>> {
        // SAFETY: the caller's promise; the result is a new local reference.
        unsafe { Ref::from_raw(jni!(self, v1_1.GetStaticObjectField, class.raw(), field.raw())) }
    }

    /// Sets a static field that holds an object.
    ///
    /// # Safety
    /// The field is a static one of `class`, of a type the value is assignable to.
    pub unsafe fn set_static_object(&self, class: Class<'_>, field: FieldId, value: Option<Object<'_>>) {
        let value = raw_or_null(value);
        // SAFETY: the caller's promise.
        unsafe { jni!(self, v1_1.SetStaticObjectField, class.raw(), field.raw(), value) }
    }

    /// Reads an object's field that holds an object; `None` for null.
    ///
    /// # Safety
    /// The object has the field, of a reference type.
    pub unsafe fn object_field<K>(&self, object: Ref<'_, K>, field: FieldId) -> Option<Object<'e>> {
        // SAFETY: the caller's promise; the result is a new local reference.
        unsafe { Ref::from_raw(jni!(self, v1_1.GetObjectField, object.raw(), field.raw())) }
    }
}
