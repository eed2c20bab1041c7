//! References to Java objects, and ids of methods and fields.

use crate::sys::{_jobject, jfieldID, jmethodID, jobject};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// What a reference is known to refer to.
pub mod kind {
    /// Any object.
    #[derive(Debug)]
    pub enum Object {}
    /// A `java.lang.Class`.
    #[derive(Debug)]
    pub enum Class {}
    /// A `java.lang.Thread`.
    #[derive(Debug)]
    pub enum Thread {}
    /// A `java.lang.String`.
    #[derive(Debug)]
    pub enum Text {}
    /// An array of objects.
    #[derive(Debug)]
    pub enum Array {}
    /// A `java.lang.Module`.
    #[derive(Debug)]
    pub enum Module {}
}

/// A reference that is never null, valid in the scope `'e` and on the thread that has it.
#[repr(transparent)]
pub struct Ref<'e, K> {
    raw: NonNull<_jobject>,
    scope: PhantomData<(&'e (), *mut K)>,
}

/// Any object.
pub type Object<'e> = Ref<'e, kind::Object>;
/// A class.
pub type Class<'e> = Ref<'e, kind::Class>;
/// A thread.
pub type Thread<'e> = Ref<'e, kind::Thread>;
/// A string.
pub type Text<'e> = Ref<'e, kind::Text>;
/// An array of objects.
pub type Array<'e> = Ref<'e, kind::Array>;
/// A module.
pub type Module<'e> = Ref<'e, kind::Module>;

impl<K> Clone for Ref<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Ref<'_, K> {}

impl<K> fmt::Debug for Ref<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ref({:p})", self.raw)
    }
}

impl<'e, K> Ref<'e, K> {
    /// Takes a reference the VM gave; `None` for null.
    ///
    /// # Safety
    /// `raw` is null, or a JNI reference to an object of kind `K` that stays valid throughout `'e` on this thread.
    pub unsafe fn from_raw(raw: jobject) -> Option<Self> {
        NonNull::new(raw).map(|raw| Self { raw, scope: PhantomData })
    }

    /// The reference as JNI wants it.
    pub fn raw(self) -> jobject {
        self.raw.as_ptr()
    }

    /// The same, seen as any object.
    pub fn object(self) -> Object<'e> {
        Ref { raw: self.raw, scope: PhantomData }
    }

    /// The same, seen as another kind.
    ///
    /// # Safety
    /// The object is of kind `L`.
    pub unsafe fn cast<L>(self) -> Ref<'e, L> {
        Ref { raw: self.raw, scope: PhantomData }
    }
}

/// The raw reference of an optional one: null for none.
pub(crate) fn raw_or_null<K>(reference: Option<Ref<'_, K>>) -> jobject {
    reference.map_or(std::ptr::null_mut(), Ref::raw)
}

/// A reference that keeps its object alive, on any thread, until it is given to [`Env::delete_global`].
///
/// Dropping it without that keeps the object for the life of the VM: freeing needs a thread's environment.
///
/// [`Env::delete_global`]: crate::Env::delete_global
pub struct Global<K> {
    raw: NonNull<_jobject>,
    kind: PhantomData<fn() -> K>,
}

impl<K> fmt::Debug for Global<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Global({:p})", self.raw)
    }
}

// SAFETY: JNI's global references are valid on every thread.
unsafe impl<K> Send for Global<K> {}
// SAFETY: as above; using one does not change it.
unsafe impl<K> Sync for Global<K> {}

impl<K> Global<K> {
    /// Takes a global reference; `None` for null.
    ///
    /// # Safety
    /// `raw` is null or a global reference to an object of kind `K`, owned by the caller and given up here.
    pub unsafe fn from_raw(raw: jobject) -> Option<Self> {
        NonNull::new(raw).map(|raw| Self { raw, kind: PhantomData })
    }

    /// A reference for use on this thread.
    pub fn get(&self) -> Ref<'_, K> {
        Ref { raw: self.raw, scope: PhantomData }
    }

    /// Gives up ownership, for a place that can only hold a pointer.
    pub fn into_raw(self) -> jobject {
        self.raw.as_ptr()
    }
}

/// A reference that does not keep its object alive, on any thread, until it is given to [`Env::delete_weak`].
///
/// [`Env::delete_weak`]: crate::Env::delete_weak
pub struct Weak<K> {
    raw: NonNull<_jobject>,
    kind: PhantomData<fn() -> K>,
}

impl<K> fmt::Debug for Weak<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Weak({:p})", self.raw)
    }
}

// SAFETY: JNI's weak global references are valid on every thread.
unsafe impl<K> Send for Weak<K> {}
// SAFETY: as above; using one does not change it.
unsafe impl<K> Sync for Weak<K> {}

impl<K> Weak<K> {
    /// Takes a weak global reference; `None` for null.
    ///
    /// # Safety
    /// `raw` is null or a weak global reference to an object of kind `K`, owned by the caller and given up here.
    pub unsafe fn from_raw(raw: jobject) -> Option<Self> {
        NonNull::new(raw).map(|raw| Self { raw, kind: PhantomData })
    }

    /// The reference as JNI wants it: the object may be gone, so only to ask whether it is.
    pub fn raw(&self) -> jobject {
        self.raw.as_ptr()
    }
}

/// A method, for as long as its class is loaded.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MethodId(jmethodID);

/// A field, for as long as its class is loaded.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FieldId(jfieldID);

// SAFETY: ids are plain numbers to us; the VM accepts them on every thread.
unsafe impl Send for MethodId {}
// SAFETY: as above.
unsafe impl Sync for MethodId {}
// SAFETY: as above.
unsafe impl Send for FieldId {}
// SAFETY: as above.
unsafe impl Sync for FieldId {}

impl MethodId {
    /// # Safety
    /// `raw` came from this VM, which has not unloaded the method's class while the id is used.
    pub unsafe fn from_raw(raw: jmethodID) -> Self {
        Self(raw)
    }

    /// The id as JNI and JVMTI want it.
    pub fn raw(self) -> jmethodID {
        self.0
    }
}

impl FieldId {
    /// # Safety
    /// `raw` came from this VM, which has not unloaded the field's class while the id is used.
    pub unsafe fn from_raw(raw: jfieldID) -> Self {
        Self(raw)
    }

    /// The id as JNI wants it.
    pub fn raw(self) -> jfieldID {
        self.0
    }

    /// Where HotSpot has the field in objects of the class: its ids of fields are that, above two bits.
    pub fn offset(self) -> usize {
        self.0 as usize >> 2
    }
}
