//! Walks over the heap. The VM stands still meanwhile.

use super::classes::references;
use super::memory::{Allocation, CText};
use super::{Jvmti, jvmti};
use crate::jni::{Class, Env, FieldId, MethodId};
use crate::sys::{
    JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT, JVMTI_HEAP_REFERENCE_FIELD, JVMTI_HEAP_REFERENCE_STACK_LOCAL,
    JVMTI_HEAP_REFERENCE_STATIC_FIELD, JVMTI_VISIT_ABORT, JVMTI_VISIT_OBJECTS, jclass, jfieldID, jint, jlong,
    jvmtiHeapCallbacks, jvmtiHeapReferenceInfo, jvmtiHeapReferenceKind,
};
use crate::{Cause, Error, Result};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

/// A reference from one object to another, or from a root.
#[derive(Debug)]
pub struct HeapReference {
    /// What kind of reference it is.
    pub kind: jvmtiHeapReferenceKind,
    /// The tag of the class of the object referred to.
    pub class_tag: i64,
    /// The tag of the class of the object that refers to it.
    pub referrer_class_tag: i64,
    /// The index of the field or element.
    pub index: Option<i32>,
    /// For a local variable: the tag of its thread, and the method.
    pub local: Option<(i64, MethodId)>,
    tag: *mut jlong,
    referrer: *mut jlong,
}

impl HeapReference {
    /// The tag of the object referred to.
    pub fn tag(&self) -> i64 {
        // SAFETY: the VM's pointer, valid during the callback. Both may be the same, so neither becomes a reference.
        if self.tag.is_null() { 0 } else { unsafe { self.tag.read() } }
    }

    /// Sets the tag of the object referred to.
    pub fn set_tag(&self, tag: i64) {
        if !self.tag.is_null() {
            // SAFETY: as above.
            unsafe { self.tag.write(tag) };
        }
    }

    /// The tag of the object that refers to it; `None` for a root.
    pub fn referrer_tag(&self) -> Option<i64> {
        // SAFETY: as above.
        (!self.referrer.is_null()).then(|| unsafe { self.referrer.read() })
    }

    /// Sets the tag of the object that refers to it.
    pub fn set_referrer_tag(&self, tag: i64) {
        if !self.referrer.is_null() {
            // SAFETY: as above.
            unsafe { self.referrer.write(tag) };
        }
    }
}

/// What is done with each reference; `false` ends the walk.
type EachReference<'c> = &'c mut dyn FnMut(&HeapReference) -> bool;
/// What is done with each object, given its class's tag: its own tag can be changed.
type EachObject<'c> = &'c mut dyn FnMut(i64, &mut i64) -> bool;

impl Jvmti {
    /// Goes through everything that can be reached from roots; needs `CAN_TAG_OBJECTS`. `each` runs while the VM stands
    /// still, so it may not call the VM.
    pub fn follow_references(self, mut each: EachReference<'_>) -> Result<()> {
        let callbacks =
            jvmtiHeapCallbacks { heap_reference_callback: Some(on_reference), ..Default::default() };
        let user = (&raw mut each).cast::<c_void>();
        // SAFETY: the callback is called during this call only, with the pointer to `each`.
        unsafe { jvmti!(self, FollowReferences, 0, null_mut(), null_mut(), &callbacks, user.cast_const()) }
    }

    /// Goes through all objects, garbage included; needs `CAN_TAG_OBJECTS`. The same holds for `each`.
    pub fn iterate_through_heap(self, mut each: EachObject<'_>) -> Result<()> {
        let callbacks = jvmtiHeapCallbacks { heap_iteration_callback: Some(on_object), ..Default::default() };
        let user = (&raw mut each).cast::<c_void>();
        // SAFETY: as above.
        unsafe { jvmti!(self, IterateThroughHeap, 0, null_mut(), &callbacks, user.cast_const()) }
    }

    /// The fields that a class declares, in the order in which heap walks count them.
    pub fn class_fields(self, class: Class<'_>) -> Result<Vec<FieldId>> {
        let (mut count, mut fields) = (0, null_mut::<jfieldID>());
        // SAFETY: a valid class; the VM allocates `count` ids.
        unsafe {
            jvmti!(self, GetClassFields, class.raw(), &mut count, &mut fields)?;
            let fields = Allocation::from_raw(self, fields, count);
            Ok(fields.iter().flat_map(|all| all.iter()).map(|id| FieldId::from_raw(*id)).collect())
        }
    }

    /// The name of a field.
    pub fn field_name(self, class: Class<'_>, field: FieldId) -> Result<CText> {
        let mut name = null_mut();
        // SAFETY: a valid class, and a field of it; the VM allocates one text, and is asked to leave out the others.
        unsafe {
            jvmti!(self, GetFieldName, class.raw(), field.raw(), &mut name, null_mut(), null_mut())?;
            CText::from_raw(self, name)
        }
        .ok_or(Error::new("GetFieldName", Cause::Null))
    }

    /// The interfaces that a class names.
    pub fn interfaces<'e>(self, _env: &Env<'e>, class: Class<'_>) -> Result<Vec<Class<'e>>> {
        let (mut count, mut interfaces) = (0, null_mut::<jclass>());
        // SAFETY: a valid class; the VM allocates `count` new local references to classes on this thread.
        unsafe {
            jvmti!(self, GetImplementedInterfaces, class.raw(), &mut count, &mut interfaces)?;
            Ok(references(Allocation::from_raw(self, interfaces, count)))
        }
    }
}

unsafe extern "system" fn on_reference(
    kind: jvmtiHeapReferenceKind,
    info: *const jvmtiHeapReferenceInfo,
    class_tag: jlong,
    referrer_class_tag: jlong,
    _: jlong,
    tag: *mut jlong,
    referrer: *mut jlong,
    _: jint,
    user: *mut c_void,
) -> jint {
    // SAFETY: the VM passes what the kind says; other kinds have no info.
    let (index, local) = unsafe {
        match kind {
            JVMTI_HEAP_REFERENCE_FIELD | JVMTI_HEAP_REFERENCE_STATIC_FIELD if !info.is_null() => {
                (Some((*info).field.index), None)
            }
            JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT if !info.is_null() => (Some((*info).array.index), None),
            JVMTI_HEAP_REFERENCE_STACK_LOCAL if !info.is_null() => {
                let local = (*info).stack_local;
                (
                    None,
                    (!local.method.is_null()).then(|| (local.thread_tag, MethodId::from_raw(local.method))),
                )
            }
            _ => (None, None),
        }
    };
    let reference = HeapReference { kind, class_tag, referrer_class_tag, index, local, tag, referrer };
    // SAFETY: `follow_references` passes a pointer to its closure, which it does not use meanwhile.
    let each = unsafe { &mut *user.cast::<EachReference<'_>>() };
    match catch_unwind(AssertUnwindSafe(|| each(&reference))) {
        Ok(true) => JVMTI_VISIT_OBJECTS,
        _ => JVMTI_VISIT_ABORT,
    }
}

unsafe extern "system" fn on_object(
    class_tag: jlong,
    _: jlong,
    tag: *mut jlong,
    _: jint,
    user: *mut c_void,
) -> jint {
    // SAFETY: the VM's pointer, for this callback only.
    let Some(tag) = (unsafe { tag.as_mut() }) else { return JVMTI_VISIT_OBJECTS };
    // SAFETY: `iterate_through_heap` passes a pointer to its closure, which it does not use meanwhile.
    let each = unsafe { &mut *user.cast::<EachObject<'_>>() };
    match catch_unwind(AssertUnwindSafe(|| each(class_tag, tag))) {
        Ok(true) => JVMTI_VISIT_OBJECTS,
        _ => JVMTI_VISIT_ABORT,
    }
}
