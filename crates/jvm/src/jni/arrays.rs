//! Arrays of bytes and of objects.

use super::env::{Env, jni};
use super::refs::{Array, Class, Object, raw_or_null};
use crate::sys::jint;
use crate::{Cause, Error, Result};

impl<'e> Env<'e> {
    /// Makes a `byte[]` with these contents.
    pub fn new_byte_array(&self, bytes: &[u8]) -> Result<Object<'e>> {
        let call = "NewByteArray";
        let length = jint::try_from(bytes.len()).map_err(|_| Error::new(call, Cause::Argument))?;
        // SAFETY: the region copied is as long as the array just made and as `bytes`.
        unsafe {
            let array = jni!(self, v1_1.NewByteArray, length);
            let array: Object<'e> = self.wrap(call, array)?;
            jni!(self, v1_1.SetByteArrayRegion, array.raw(), 0, length, bytes.as_ptr().cast());
            Ok(array)
        }
    }

    /// The contents of a `byte[]`.
    ///
    /// # Safety
    /// The object is a `byte[]`.
    pub unsafe fn byte_array(&self, array: Object<'_>) -> Vec<u8> {
        // SAFETY: a byte array by the caller's promise; the buffer has the length the VM reports, which never changes.
        unsafe {
            let length = jni!(self, v1_1.GetArrayLength, array.raw());
            let mut bytes = vec![0_u8; usize::try_from(length).unwrap_or_default()];
            jni!(self, v1_1.GetByteArrayRegion, array.raw(), 0, length, bytes.as_mut_ptr().cast());
            bytes
        }
    }

    /// Makes an array of nulls.
    pub fn new_array(&self, element: Class<'_>, length: usize) -> Result<Array<'e>> {
        let call = "NewObjectArray";
        let length = jint::try_from(length).map_err(|_| Error::new(call, Cause::Argument))?;
        // SAFETY: a valid class and no initial element; the result is a new local reference.
        unsafe {
            let array = jni!(self, v1_1.NewObjectArray, length, element.raw(), std::ptr::null_mut());
            self.wrap(call, array)
        }
    }

    /// How many elements an array has.
    pub fn array_length(&self, array: Array<'_>) -> usize {
        // SAFETY: a valid array.
        usize::try_from(unsafe { jni!(self, v1_1.GetArrayLength, array.raw()) }).unwrap_or_default()
    }

    /// One element, `None` for null; an index outside the array is an exception, hence an error.
    pub fn array_get(&self, array: Array<'_>, index: usize) -> Result<Option<Object<'e>>> {
        let call = "GetObjectArrayElement";
        let index = jint::try_from(index).map_err(|_| Error::new(call, Cause::Argument))?;
        // SAFETY: a valid array, and the VM checks the index; the result is null or a new local reference.
        unsafe {
            let element = jni!(self, v1_1.GetObjectArrayElement, array.raw(), index);
            self.optional(call, element)
        }
    }

    /// Sets one element; the VM checks index and type.
    pub fn array_set(&self, array: Array<'_>, index: usize, value: Option<Object<'_>>) -> Result<()> {
        let call = "SetObjectArrayElement";
        let index = jint::try_from(index).map_err(|_| Error::new(call, Cause::Argument))?;
        // SAFETY: valid references; the VM throws for a wrong index or type.
        unsafe { jni!(self, v1_1.SetObjectArrayElement, array.raw(), index, raw_or_null(value)) };
        self.check(call)
    }
}
