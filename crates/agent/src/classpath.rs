//! Class files on the application's class path, read before the VM loads them: directories, and jars through the
//! `libzip` that the JDK ships with and opens them with itself.

use std::ffi::{CString, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::library::{Library, function};

type Open = unsafe extern "C" fn(*const c_char, *mut *mut c_char) -> *mut c_void;
type FindEntry = unsafe extern "C" fn(*mut c_void, *const c_char, *mut i32, *mut i32) -> *mut c_void;
type ReadEntry = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut u8, *mut c_char) -> u8;

/// Larger class files do not exist; the bound keeps a damaged jar from exhausting memory.
const LARGEST_CLASS: u64 = 16 << 20;

/// Where a JDK has its libraries; JDK 8 has the architecture's name in it.
const LIBRARIES: [&str; 3] = ["lib", "lib/amd64", "lib/aarch64"];

/// The class path.
pub struct ClassPath(Vec<Entry>);

enum Entry {
    Directory(PathBuf),
    Jar(Jar),
}

struct Jar {
    zip: *mut c_void,
    find: FindEntry,
    read: ReadEntry,
}

// SAFETY: libzip locks a file while it reads it; the caller serialises the calls with a mutex all the same.
unsafe impl Send for Jar {}

impl ClassPath {
    /// Opens what a class path names, as far as it is there. What else it leads to, by jars' manifests, is not looked for.
    pub fn open(path: &str, java_home: &Path) -> ClassPath {
        let places = LIBRARIES.map(|folder| java_home.join(folder).join("libzip.so"));
        let library = places.iter().find(|path| path.is_file()).and_then(|path| Library::open(path));
        let open = |place: &str| -> Option<Entry> {
            let place = PathBuf::from(if place.is_empty() { "." } else { place });
            if place.is_dir() {
                return Some(Entry::Directory(place));
            }
            Jar::open(library.as_ref()?, &place).map(Entry::Jar)
        };
        ClassPath(path.split(':').filter_map(open).collect())
    }

    /// The class file of a class, by internal name.
    pub fn class(&self, name: &[u8]) -> Option<Vec<u8>> {
        let file = [name, b".class"].concat();
        self.0.iter().find_map(|entry| match entry {
            Entry::Directory(directory) => read(&directory.join(OsStr::from_bytes(&file))),
            Entry::Jar(jar) => jar.entry(&file),
        })
    }
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let small = std::fs::metadata(path).ok()?.len() <= LARGEST_CLASS;
    small.then(|| std::fs::read(path).ok()).flatten()
}

impl Jar {
    fn open(library: &Library, path: &Path) -> Option<Jar> {
        // Only what is there: libzip would keep in mind that it was not.
        let path = CString::new(path.is_file().then(|| path.as_os_str().as_bytes())?).ok()?;
        // SAFETY: the types are those of zip_util.h, which have not changed since JDK 8; the path outlives the call.
        unsafe {
            let open: Open = function!(library, c"ZIP_Open")?;
            let (find, read) = (function!(library, c"ZIP_FindEntry")?, function!(library, c"ZIP_ReadEntry")?);
            let mut message = std::ptr::null_mut();
            let zip = open(path.as_ptr(), &mut message);
            (!zip.is_null()).then_some(Jar { zip, find, read })
        }
    }

    fn entry(&self, file: &[u8]) -> Option<Vec<u8>> {
        let file = CString::new(file).ok()?;
        let (mut size, mut name_length) = (0, 0);
        // SAFETY: a C string that outlives the call, and two out-parameters.
        let entry = unsafe { (self.find)(self.zip, file.as_ptr(), &mut size, &mut name_length) };
        let size = u64::try_from(size).ok().filter(|size| (1..=LARGEST_CLASS).contains(size));
        let (Some(size), Ok(name_length), false) = (size, usize::try_from(name_length), entry.is_null())
        else {
            return None;
        };
        let mut bytes = vec![0; size as usize];
        let mut name: Vec<c_char> = vec![0; name_length + 1];
        // SAFETY: the buffers have the sizes the library asked for; it frees the entry.
        let read = unsafe { (self.read)(self.zip, entry, bytes.as_mut_ptr(), name.as_mut_ptr()) };
        (read != 0).then_some(bytes)
    }
}
