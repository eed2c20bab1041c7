//! Loaded classes.

use super::memory::{Allocation, CText};
use super::{Jvmti, jvmti};
use crate::jni::{Class, Env, MethodId, Object, Ref};
use crate::sys::{JBool, jclass, jmethodID};
use crate::{Cause, Error, Result};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;

impl Jvmti {
    /// Every class loaded, arrays included. One local reference each: use a frame ([`Env::with_frame`]).
    pub fn loaded_classes<'e>(self, _env: &Env<'e>) -> Result<Vec<Class<'e>>> {
        let (mut count, mut classes) = (0, null_mut::<jclass>());
        // SAFETY: the VM allocates `count` new local references to classes on this thread.
        unsafe {
            jvmti!(self, GetLoadedClasses, &mut count, &mut classes)?;
            Ok(references(Allocation::from_raw(self, classes, count)))
        }
    }

    /// The class's signature (`Ljava/lang/Object;`, `[I`).
    pub fn class_signature(self, class: Class<'_>) -> Result<CText> {
        let mut signature = null_mut();
        // SAFETY: a valid class; the VM allocates one text, and the null asks it to leave out the generic one.
        unsafe {
            jvmti!(self, GetClassSignature, class.raw(), &mut signature, null_mut())?;
            CText::from_raw(self, signature)
        }
        .ok_or(Error::new("GetClassSignature", Cause::Null))
    }

    /// How many bytes an object takes.
    pub fn object_size(self, object: Object<'_>) -> Result<i64> {
        let mut size = 0;
        // SAFETY: a valid object; the VM writes one number.
        unsafe { jvmti!(self, GetObjectSize, object.raw(), &mut size) }.map(|()| size)
    }

    /// The class's loader; `None` for the boot loader.
    pub fn class_loader<'e>(self, _env: &Env<'e>, class: Class<'_>) -> Result<Option<Object<'e>>> {
        let mut loader = null_mut();
        // SAFETY: a valid class; the VM writes null or a new local reference.
        unsafe {
            jvmti!(self, GetClassLoader, class.raw(), &mut loader)?;
            Ok(Ref::from_raw(loader))
        }
    }

    /// Whether the class may be retransformed.
    pub fn is_modifiable(self, class: Class<'_>) -> Result<bool> {
        let mut answer: JBool = 0;
        // SAFETY: a valid class; the VM writes one byte.
        unsafe { jvmti!(self, IsModifiableClass, class.raw(), &mut answer) }.map(|()| answer != 0)
    }

    /// Whether the class is an interface.
    pub fn is_interface(self, class: Class<'_>) -> Result<bool> {
        let mut answer: JBool = 0;
        // SAFETY: a valid class; the VM writes one byte.
        unsafe { jvmti!(self, IsInterface, class.raw(), &mut answer) }.map(|()| answer != 0)
    }

    /// Whether the class is an array's.
    pub fn is_array(self, class: Class<'_>) -> Result<bool> {
        let mut answer: JBool = 0;
        // SAFETY: a valid class; the VM writes one byte.
        unsafe { jvmti!(self, IsArrayClass, class.raw(), &mut answer) }.map(|()| answer != 0)
    }

    /// The class's `JVMTI_CLASS_STATUS_*` flags: linked, initialised, failed.
    pub fn class_status(self, class: Class<'_>) -> Result<i32> {
        let mut status = 0;
        // SAFETY: a valid class; the VM writes one int.
        unsafe { jvmti!(self, GetClassStatus, class.raw(), &mut status) }.map(|()| status)
    }

    /// The file the class was compiled from; JVMTI_ERROR_ABSENT_INFORMATION if it does not say.
    pub fn source_file_name(self, class: Class<'_>) -> Result<CText> {
        let mut name = null_mut();
        // SAFETY: a valid class; the VM allocates one text.
        unsafe {
            jvmti!(self, GetSourceFileName, class.raw(), &mut name)?;
            CText::from_raw(self, name)
        }
        .ok_or(Error::new("GetSourceFileName", Cause::Null))
    }

    /// The methods the class declares, initialisers included.
    pub fn class_methods(self, class: Class<'_>) -> Result<Vec<MethodId>> {
        let (mut count, mut methods) = (0, null_mut::<jmethodID>());
        // SAFETY: a valid class; the VM allocates `count` ids.
        unsafe {
            jvmti!(self, GetClassMethods, class.raw(), &mut count, &mut methods)?;
            let methods = Allocation::from_raw(self, methods, count);
            Ok(methods.iter().flat_map(|all| all.iter()).map(|id| MethodId::from_raw(*id)).collect())
        }
    }

    /// Sends loaded classes through the class-load hooks again, all of them in one VM operation, or none and an error.
    pub fn retransform_classes(self, classes: &[Class<'_>]) -> Result<()> {
        let call = "RetransformClasses";
        let count = i32::try_from(classes.len()).map_err(|_| Error::new(call, Cause::Argument))?;
        // SAFETY: `count` valid classes; `Ref` is transparent, so they lie there as plain references.
        unsafe { jvmti!(self, RetransformClasses, count, classes.as_ptr().cast()) }
    }

    /// Appends a jar to where the boot loader looks.
    pub fn add_to_bootstrap_class_loader_search(self, jar: &Path) -> Result<()> {
        let jar = c_path("AddToBootstrapClassLoaderSearch", jar)?;
        // SAFETY: the VM copies a C string.
        unsafe { jvmti!(self, AddToBootstrapClassLoaderSearch, jar.as_ptr()) }
    }

    /// Appends a jar to where the system loader looks.
    pub fn add_to_system_class_loader_search(self, jar: &Path) -> Result<()> {
        let jar = c_path("AddToSystemClassLoaderSearch", jar)?;
        // SAFETY: the VM copies a C string.
        unsafe { jvmti!(self, AddToSystemClassLoaderSearch, jar.as_ptr()) }
    }
}

fn c_path(call: &'static str, path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::new(call, Cause::Argument))
}

/// # Safety
/// The values are null, or new local references of kind `K`, valid in the scope `'e` of this thread.
pub(super) unsafe fn references<'e, K>(raw: Option<Allocation<jclass>>) -> Vec<Ref<'e, K>> {
    // SAFETY: the caller's promise.
    raw.iter().flat_map(|all| all.iter()).filter_map(|raw| unsafe { Ref::from_raw(*raw) }).collect()
}
