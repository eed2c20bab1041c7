//! Libraries that the JDK ships with.

use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

/// A library that is loaded, for as long as the process lives.
pub struct Library(NonNull<c_void>);

impl Library {
    /// Loads it, or finds that the VM has.
    pub fn open(path: &Path) -> Option<Library> {
        let path = CString::new(path.as_os_str().as_bytes()).ok()?;
        // SAFETY: a C string that outlives the call; what the JDK's own libraries do when they are loaded is harmless.
        NonNull::new(unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) }).map(Library)
    }

    /// Address of a function.
    pub fn symbol(&self, name: &CStr) -> *mut c_void {
        // SAFETY: a handle of `dlopen`, and a C string.
        unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) }
    }
}

/// A function of a library, of the type the context wants; an `Option`. Must stand in `unsafe`: nobody checks the type.
macro_rules! function {
    ($library:expr, $name:expr) => {
        std::mem::transmute::<*mut std::ffi::c_void, Option<_>>($library.symbol($name))
    };
}
pub(crate) use function;
