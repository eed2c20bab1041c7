//! Class files of the running JDK, read through the `libjimage` it ships with (JDK 9 and newer).

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::library::{Library, function};

type Open = unsafe extern "C" fn(*const c_char, *mut i32) -> *mut c_void;
type PackageToModule = unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_char;
type FindResource =
    unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char, *const c_char, *mut i64) -> i64;
type GetResource = unsafe extern "C" fn(*mut c_void, i64, *mut u8, i64) -> i64;
/// Image, module, version, package, name, extension, and what the visitor was given; whether to go on.
type Visitor = unsafe extern "C" fn(
    *mut c_void,
    *const c_char,
    *const c_char,
    *const c_char,
    *const c_char,
    *const c_char,
    *mut c_void,
) -> bool;
type ResourceIterator = unsafe extern "C" fn(*mut c_void, Visitor, *mut c_void);

/// The first JDK whose library wants the name before something else.
const NAMES_FIRST: u32 = 27;

/// Larger class files do not exist in a JDK; the bound keeps a damaged image from exhausting memory.
const LARGEST_CLASS: i64 = 16 << 20;

/// The run-time image of a JDK.
pub struct RuntimeImage {
    image: *mut c_void,
    modules: Modules,
    names_first: bool,
    find_resource: FindResource,
    get_resource: GetResource,
}

/// Which module a package is in.
enum Modules {
    Asked(PackageToModule),
    /// By package, as classes name it. JDK 26 and newer do not tell: what is in the image was looked through.
    Listed(HashMap<Box<[u8]>, CString>),
}

// SAFETY: the image is a read-only mapping; the caller serialises the calls with a mutex all the same.
unsafe impl Send for RuntimeImage {}

impl RuntimeImage {
    /// Opens `lib/modules` of a JDK; `None` if it has none or its library cannot be used.
    pub fn open(java_home: &Path, feature: u32) -> Option<RuntimeImage> {
        let library = Library::open(&java_home.join("lib/libjimage.so"))?;
        let modules = CString::new(java_home.join("lib/modules").as_os_str().as_bytes()).ok()?;
        // SAFETY: the types are those of jimage.hpp; `class` minds what changed in them with JDK 27.
        let image = unsafe {
            let open: Open = function!(library, c"JIMAGE_Open")?;
            let find_resource: FindResource = function!(library, c"JIMAGE_FindResource")?;
            let get_resource: GetResource = function!(library, c"JIMAGE_GetResource")?;
            let mut error = 0;
            let image = open(modules.as_ptr(), &mut error);
            if image.is_null() {
                return None;
            }
            let asked: Option<PackageToModule> = function!(library, c"JIMAGE_PackageToModule");
            let modules = match asked {
                Some(ask) => Modules::Asked(ask),
                None => Modules::Listed(listed(image, function!(library, c"JIMAGE_ResourceIterator")?)),
            };
            let names_first = feature >= NAMES_FIRST;
            Some(RuntimeImage { image, modules, find_resource, get_resource, names_first })
        };
        // A newer one may want to be asked in another way: what is not known of classes is then presumed.
        image.filter(|image| image.class(b"java/lang/Object").is_some())
    }

    /// The class file of a class of the JDK, by internal name.
    pub fn class(&self, name: &[u8]) -> Option<Vec<u8>> {
        let slash = name.iter().rposition(|&b| b == b'/')?;
        let package = name.get(..slash)?;
        let mut file = name.to_vec();
        file.extend_from_slice(b".class");
        let file = CString::new(file).ok()?;
        // SAFETY: C strings that outlive the calls; the buffer has the size the library asked for.
        unsafe {
            let module = match &self.modules {
                Modules::Asked(ask) => ask(self.image, CString::new(package).ok()?.as_ptr()),
                Modules::Listed(modules) => modules.get(package)?.as_ptr(),
            };
            if module.is_null() {
                return None;
            }
            let mut size = 0;
            // A version that nobody looks at and the name, or since JDK 27 the name and whether previews are wanted.
            let (third, fourth) = match self.names_first {
                true => (file.as_ptr(), std::ptr::null()),
                false => (c"9.0".as_ptr(), file.as_ptr()),
            };
            let location = (self.find_resource)(self.image, module, third, fourth, &mut size);
            if location == 0 || !(1..=LARGEST_CLASS).contains(&size) {
                return None;
            }
            let mut bytes = vec![0; usize::try_from(size).ok()?];
            let read = (self.get_resource)(self.image, location, bytes.as_mut_ptr(), size);
            (read == size).then_some(bytes)
        }
    }
}

/// The modules of all packages in an image.
///
/// # Safety
/// The image is open, and the function is that of its library.
unsafe fn listed(image: *mut c_void, iterate: ResourceIterator) -> HashMap<Box<[u8]>, CString> {
    let mut modules = HashMap::new();
    // SAFETY: the visitor is called before this returns, and knows what it is given.
    unsafe { iterate(image, visit, (&raw mut modules).cast()) };
    modules
}

/// Takes down the module of a resource's package.
unsafe extern "C" fn visit(
    _image: *mut c_void,
    module: *const c_char,
    _version: *const c_char,
    package: *const c_char,
    _name: *const c_char,
    _extension: *const c_char,
    modules: *mut c_void,
) -> bool {
    if module.is_null() || package.is_null() || modules.is_null() {
        return true;
    }
    let take_down = || {
        // SAFETY: C strings of the library, and what `listed` has handed over, which nobody else uses meanwhile.
        let (module, package, modules) = unsafe {
            let modules = &mut *modules.cast::<HashMap<Box<[u8]>, CString>>();
            (CStr::from_ptr(module), CStr::from_ptr(package).to_bytes(), modules)
        };
        if !modules.contains_key(package) {
            modules.insert(package.into(), module.to_owned());
        }
    };
    // An exception must not go through the library.
    catch_unwind(AssertUnwindSafe(take_down)).is_ok()
}
