//! The runtime's classes as an older VM can use them.
//!
//! They are made of `Unsafe`, and of annotations that tell the JIT what to inline. These had other names once; the methods
//! are the same, and so is the machine code that comes of them. So there is one runtime, in class files that JDK 8 can read,
//! and names are changed in its constants where the VM knows others.

use std::ffi::{CStr, CString};

use quipu_classfile::ClassFile;
use quipu_jvm::{Class, Env, Error, Jvmti, jdk_version};

/// A name among the constants of our classes, and the one to put in its place.
type Names = [(&'static [u8], &'static [u8])];

const UNSAFE: &[u8] = b"jdk/internal/misc/Unsafe";

/// Before JDK 12.
const OBJECTS: &Names = &[(b"compareAndSetReference", b"compareAndSetObject")];

/// Before JDK 9, when there were no modules.
const ONE_PLACE: &Names = &[
    (UNSAFE, b"sun/misc/Unsafe"),
    (b"Ljdk/internal/misc/Unsafe;", b"Lsun/misc/Unsafe;"),
    (b"()Ljdk/internal/misc/Unsafe;", b"()Lsun/misc/Unsafe;"),
    (b"Ljdk/internal/vm/annotation/ForceInline;", b"Ljava/lang/invoke/ForceInline;"),
    (b"Ljdk/internal/vm/annotation/DontInline;", b"Ljava/lang/invoke/DontInline;"),
    (b"compareAndSetReference", b"compareAndSwapObject"),
];

/// Defines a class of the runtime in the boot loader.
pub fn define<'e>(env: &Env<'e>, jvmti: Jvmti, name: &CStr, bytes: &[u8]) -> Result<Class<'e>, Error> {
    match names(jvmti) {
        [] => env.define_class(name, None, bytes),
        // Our own classes can be read.
        names => env.define_class(name, None, &renamed(bytes, names).unwrap_or_default()),
    }
}

/// Asks whether the VM has all that the runtime calls of its `Unsafe`. Code that finds out when it runs would do so in the
/// middle of the program, with an error for which there is no room.
pub fn check(
    env: &Env<'_>,
    jvmti: Jvmti,
    classes: &[(&CStr, Vec<u8>)],
    probe: Class<'_>,
) -> Result<(), Error> {
    let names = names(jvmti);
    let renamed =
        |name: &'static [u8]| names.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| *new);
    let descriptor = CString::new(renamed(b"Ljdk/internal/misc/Unsafe;")).unwrap_or_default();
    let field = env.static_field(probe, c"U", &descriptor)?;
    // SAFETY: the field is this class's, and of this type.
    let Some(memory) = (unsafe { env.static_object(probe, field) }) else { return Ok(()) };
    let class = env.class_of(memory)?;
    look_up(classes, names, |name, descriptor| env.method(class, name, descriptor).map(|_| ()))
}

/// Asks for everything that classes call of `Unsafe`, by the names that the VM knows; the first answer that is an error.
fn look_up<E>(
    classes: &[(&CStr, Vec<u8>)],
    names: &Names,
    has: impl Fn(&CStr, &CStr) -> Result<(), E>,
) -> Result<(), E> {
    for member in classes.iter().filter_map(|(_, bytes)| ClassFile::parse(bytes).ok()).flat_map(used) {
        let name = names.iter().find(|(old, _)| *old == member[0]).map_or(&*member[0], |(_, new)| *new);
        let texts = (CString::new(name), CString::new(&*member[1]));
        if let (Ok(name), Ok(descriptor)) = texts {
            has(&name, &descriptor)?;
        }
    }
    Ok(())
}

/// Names and descriptors of what a class calls of `Unsafe`.
fn used(class: ClassFile<'_>) -> Vec<[Vec<u8>; 2]> {
    let pool = class.pool();
    let members = (1..pool.count()).filter_map(|index| pool.member(index).ok());
    let used = members.filter(|member| member.owner == UNSAFE && member.name != b"getUnsafe");
    used.map(|member| [member.name.to_vec(), member.descriptor.to_vec()]).collect()
}

/// The names that the VM knows others for.
fn names(jvmti: Jvmti) -> &'static Names {
    match jdk_version(jvmti).map_or(u32::MAX, |version| version.feature) {
        ..9 => ONE_PLACE,
        9..12 => OBJECTS,
        _ => &[],
    }
}

/// A class file with other constants; `None` if it cannot be read.
pub fn renamed(class: &[u8], names: &[(&[u8], &[u8])]) -> Option<Vec<u8>> {
    const UTF8: u8 = 1;
    let (head, mut rest) = class.split_at_checked(10)?;
    let mut out = head.to_vec();
    let count = u16::from_be_bytes([*head.get(8)?, *head.get(9)?]);
    let mut index = 1;
    while index < count {
        let (tag, behind) = rest.split_first()?;
        let size = match *tag {
            UTF8 => {
                let (length, behind) = behind.split_at_checked(2)?;
                let length = usize::from(u16::from_be_bytes(length.try_into().ok()?));
                let (text, behind) = behind.split_at_checked(length)?;
                let text = names.iter().find(|(old, _)| *old == text).map_or(text, |(_, new)| new);
                out.push(UTF8);
                out.extend(u16::try_from(text.len()).ok()?.to_be_bytes());
                out.extend(text);
                (rest, index) = (behind, index + 1);
                continue;
            }
            7 | 8 | 16 => 2,
            15 => 3,
            3 | 4 | 9..=12 | 18 => 4,
            // Longs and doubles take two places.
            5 | 6 => {
                index += 1;
                8
            }
            _ => return None,
        };
        let (constant, behind) = rest.split_at_checked(1 + size)?;
        out.extend(constant);
        (rest, index) = (behind, index + 1);
    }
    out.extend(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes;

    /// A VM without one of the methods is refused, whichever it is; that of its own release is asked for.
    #[test]
    fn a_vm_whose_unsafe_lacks_a_method_is_refused() {
        let classes = classes::RUNTIME.unpack();
        let all = std::cell::RefCell::new(std::collections::BTreeSet::new());
        let asked = look_up(&classes, ONE_PLACE, |name, descriptor| {
            all.borrow_mut().insert((name.to_owned(), descriptor.to_owned()));
            Ok::<(), CString>(())
        });
        assert_eq!(asked, Ok(()));
        let all = all.into_inner();
        assert!(all.len() > 5, "{all:?}");
        assert!(all.iter().any(|(name, _)| name.as_c_str() == c"compareAndSwapObject"), "{all:?}");
        assert!(!all.iter().any(|(name, _)| name.as_c_str() == c"compareAndSetReference"), "{all:?}");
        for missing in &all {
            let refused = look_up(&classes, ONE_PLACE, |name, descriptor| {
                let is_there = (name, descriptor) != (&*missing.0, &*missing.1);
                if is_there { Ok(()) } else { Err(name.to_owned()) }
            });
            assert_eq!(refused, Err(missing.0.clone()));
        }
    }

    #[test]
    fn no_name_of_newer_jdks_is_left() {
        for (name, bytes) in classes::RUNTIME.unpack() {
            let old = renamed(&bytes, ONE_PLACE).expect("a class file");
            let class = ClassFile::parse(&old).expect("a class file still");
            assert_eq!(class.name(), name.to_bytes());
            assert!(!old.windows(13).any(|text| text == b"jdk/internal/"), "{name:?}");
            if name == c"java/quipu/Cursors" {
                let calls = [b"compareAndSetReference".to_vec()];
                assert!(
                    used(ClassFile::parse(&bytes).expect("a class")).iter().any(|used| used[0] == calls[0])
                );
            }
            let back: Vec<_> = ONE_PLACE.iter().map(|(new, old)| (*old, *new)).collect();
            assert_eq!(renamed(&old, &back).as_deref(), Some(&*bytes));
        }
    }
}
