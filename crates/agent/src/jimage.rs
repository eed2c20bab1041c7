//! Class files of the running JDK, read through the `libjimage` it ships with (JDK 9 and newer).

use std::ffi::{CString, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::library::{Library, function};

type Open = unsafe extern "C" fn(*const c_char, *mut i32) -> *mut c_void;
type PackageToModule = unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_char;
type FindResource =
    unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char, *const c_char, *mut i64) -> i64;
type GetResource = unsafe extern "C" fn(*mut c_void, i64, *mut u8, i64) -> i64;

/// Larger class files do not exist in a JDK; the bound keeps a damaged image from exhausting memory.
const LARGEST_CLASS: i64 = 16 << 20;

/// The run-time image of a JDK.
pub struct RuntimeImage {
    image: *mut c_void,
    package_to_module: PackageToModule,
    find_resource: FindResource,
    get_resource: GetResource,
}

// SAFETY: the image is a read-only mapping; the caller serialises the calls with a mutex all the same.
unsafe impl Send for RuntimeImage {}

impl RuntimeImage {
    /// Opens `lib/modules` of a JDK; `None` if it has none or its library cannot be used.
    pub fn open(java_home: &Path) -> Option<RuntimeImage> {
        let library = Library::open(&java_home.join("lib/libjimage.so"))?;
        let modules = CString::new(java_home.join("lib/modules").as_os_str().as_bytes()).ok()?;
        // SAFETY: the types are those of jimage.hpp, which have not changed since JDK 9.
        unsafe {
            let open: Open = function!(library, c"JIMAGE_Open")?;
            let package_to_module: PackageToModule = function!(library, c"JIMAGE_PackageToModule")?;
            let find_resource: FindResource = function!(library, c"JIMAGE_FindResource")?;
            let get_resource: GetResource = function!(library, c"JIMAGE_GetResource")?;
            let mut error = 0;
            let image = open(modules.as_ptr(), &mut error);
            (!image.is_null()).then_some(RuntimeImage {
                image,
                package_to_module,
                find_resource,
                get_resource,
            })
        }
    }

    /// The class file of a class of the JDK, by internal name.
    pub fn class(&self, name: &[u8]) -> Option<Vec<u8>> {
        let slash = name.iter().rposition(|&b| b == b'/')?;
        let package = CString::new(name.get(..slash)?).ok()?;
        let mut file = name.to_vec();
        file.extend_from_slice(b".class");
        let file = CString::new(file).ok()?;
        // SAFETY: C strings that outlive the calls; the buffer has the size the library asked for.
        unsafe {
            let module = (self.package_to_module)(self.image, package.as_ptr());
            if module.is_null() {
                return None;
            }
            let mut size = 0;
            let location =
                (self.find_resource)(self.image, module, c"9.0".as_ptr(), file.as_ptr(), &mut size);
            if location == 0 || !(1..=LARGEST_CLASS).contains(&size) {
                return None;
            }
            let mut bytes = vec![0; usize::try_from(size).ok()?];
            let read = (self.get_resource)(self.image, location, bytes.as_mut_ptr(), size);
            (read == size).then_some(bytes)
        }
    }
}
