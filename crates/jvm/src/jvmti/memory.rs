//! Memory the VM allocated for us, freed when dropped.

use super::{Jvmti, jvmti};
use crate::{Cause, Error, Result};
use quipu_classfile::mutf8;
use std::ffi::{CStr, c_char, c_uchar};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// An array in JVMTI's memory.
pub struct Allocation<T> {
    jvmti: Jvmti,
    start: NonNull<T>,
    count: usize,
}

impl<T> Allocation<T> {
    /// Takes what a JVMTI function returned through a count and a pointer. `None` if there is no memory at all, which
    /// an empty array may mean.
    ///
    /// # Safety
    /// `start` is null, or JVMTI memory of this environment's VM with `count` valid values of `T`, owned by no one else.
    pub(crate) unsafe fn from_raw(jvmti: Jvmti, start: *mut T, count: i32) -> Option<Self> {
        let count = usize::try_from(count).unwrap_or_default();
        NonNull::new(start).map(|start| Self { jvmti, start, count })
    }

    /// Gives the memory up to the VM: the new bytes of a class, for one.
    pub fn into_raw(self) -> *mut T {
        std::mem::ManuallyDrop::new(self).start.as_ptr()
    }
}

impl<T> Deref for Allocation<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `from_raw` was promised this many values, and they are ours until dropped.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl<T> DerefMut for Allocation<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.count) }
    }
}

impl<T> Drop for Allocation<T> {
    fn drop(&mut self) {
        // SAFETY: the memory came from JVMTI and is freed once. A failure leaves it allocated, which is all we can do.
        _ = unsafe { jvmti!(self.jvmti, Deallocate, self.start.as_ptr().cast()) };
    }
}

impl<T: fmt::Debug> fmt::Debug for Allocation<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A C string in JVMTI's memory, in modified UTF-8.
pub struct CText {
    memory: Allocation<c_char>,
}

impl CText {
    /// # Safety
    /// `start` is null, or a C string in JVMTI memory that is owned by no one else.
    pub(crate) unsafe fn from_raw(jvmti: Jvmti, start: *mut c_char) -> Option<Self> {
        // SAFETY: the caller's promise; the count is not used, the string ends at its NUL.
        unsafe { Allocation::from_raw(jvmti, start, 0) }.map(|memory| Self { memory })
    }

    /// The string as C has it.
    pub fn as_c_str(&self) -> &CStr {
        // SAFETY: `from_raw` was promised a C string, and it is ours until dropped.
        unsafe { CStr::from_ptr(self.memory.start.as_ptr()) }
    }

    /// The exact modified UTF-8, without the NUL.
    pub fn as_bytes(&self) -> &[u8] {
        self.as_c_str().to_bytes()
    }
}

impl fmt::Display for CText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&mutf8::decode(self.as_bytes()))
    }
}

impl fmt::Debug for CText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        mutf8::decode(self.as_bytes()).fmt(f)
    }
}

impl Jvmti {
    /// Bytes from one object that is sampled to the next, on average; needs
    /// `CAN_GENERATE_SAMPLED_OBJECT_ALLOC_EVENTS`.
    pub fn set_heap_sampling_interval(self, bytes: i32) -> Result<()> {
        // SAFETY: a plain number.
        unsafe { jvmti!(self, SetHeapSamplingInterval, bytes) }
    }

    /// A copy of `bytes` in JVMTI's memory, which is where a class-load hook must put the class it returns.
    pub fn allocate_copy(self, bytes: &[u8]) -> Result<Allocation<c_uchar>> {
        let size = i64::try_from(bytes.len());
        let size = size.map_err(|_| Error::new("Allocate", Cause::Argument))?;
        let mut start: *mut c_uchar = std::ptr::null_mut();
        // SAFETY: the VM writes a pointer to `size` bytes of its own, which cannot overlap ours.
        unsafe {
            jvmti!(self, Allocate, size, &mut start)?;
            let start = NonNull::new(start).ok_or(Error::new("Allocate", Cause::Null))?;
            start.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            Ok(Allocation { jvmti: self, start, count: bytes.len() })
        }
    }
}
