//! Numbers on the VM's objects: ours, and the VM's own.

use std::ptr::null_mut;

use super::classes::references;
use super::memory::Allocation;
use super::{Jvmti, jvmti};
use crate::Result;
use crate::jni::{Env, Object, Ref};
use crate::sys::jobject;

impl Jvmti {
    /// The number set on an object, 0 if none was; needs `CAN_TAG_OBJECTS`.
    pub fn tag<K>(self, object: Ref<'_, K>) -> Result<i64> {
        let mut tag = 0;
        // SAFETY: a valid object; the VM writes one long.
        unsafe { jvmti!(self, GetTag, object.raw(), &mut tag) }.map(|()| tag)
    }

    /// Sets a number on an object, which lasts as long as the object; needs `CAN_TAG_OBJECTS`.
    pub fn set_tag<K>(self, object: Ref<'_, K>, tag: i64) -> Result<()> {
        // SAFETY: a valid object.
        unsafe { jvmti!(self, SetTag, object.raw(), tag) }
    }

    /// The objects on which a number was set; needs `CAN_TAG_OBJECTS`.
    pub fn objects_with_tag<'e>(self, _env: &Env<'e>, tag: i64) -> Result<Vec<Object<'e>>> {
        let (mut count, mut objects) = (0, null_mut::<jobject>());
        // SAFETY: one number; the VM allocates `count` new local references on this thread, and is asked to leave out their tags.
        unsafe {
            jvmti!(self, GetObjectsWithTags, 1, &tag, &mut count, &mut objects, null_mut())?;
            Ok(references(Allocation::from_raw(self, objects, count)))
        }
    }

    /// An object's identity hash code.
    pub fn object_hash_code<K>(self, object: Ref<'_, K>) -> Result<i32> {
        let mut hash = 0;
        // SAFETY: a valid object; the VM writes one int.
        unsafe { jvmti!(self, GetObjectHashCode, object.raw(), &mut hash) }.map(|()| hash)
    }
}
