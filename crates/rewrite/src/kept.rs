//! Buffers that outlive a class. Classes are rewritten one after the other, so one set of buffers is kept; where it is
//! in use, new ones are made.

use std::sync::Mutex;

use quipu_classfile::{ClassFile, Error, Lists, Scratch};

/// No more than this is kept: a class of JDK 25 with a counter in each of its precise blocks takes at most 105 KB, and half of
/// them less than 1 KB.
const MOST: usize = 128 << 10;

static KEPT: Mutex<Option<Scratch>> = Mutex::new(None);
static LISTS: Mutex<Option<Lists>> = Mutex::new(None);

/// The buffers that are kept, or new ones.
pub(crate) fn take() -> Scratch {
    KEPT.try_lock().ok().and_then(|mut kept| kept.take()).unwrap_or_default()
}

/// Keeps buffers for the next class unless they are large.
pub(crate) fn keep(scratch: Scratch) {
    if scratch.memory() <= MOST
        && let Ok(mut kept) = KEPT.try_lock()
    {
        *kept = Some(scratch);
    }
}

/// Parses a class in memory of an earlier one.
///
/// # Errors
/// It is no class file.
pub fn parse(bytes: &[u8]) -> Result<ClassFile<'_>, Error> {
    let lists = LISTS.try_lock().ok().and_then(|mut lists| lists.take());
    ClassFile::parse_with(bytes, lists.unwrap_or_default())
}

/// Keeps the memory of a parsed class for the next.
pub fn keep_lists(class: ClassFile<'_>) {
    let lists = class.into_lists();
    if lists.memory() <= MOST
        && let Ok(mut kept) = LISTS.try_lock()
    {
        *kept = Some(lists);
    }
}

/// Keeps the memory of a rewritten class that is not needed any more.
pub fn keep_bytes(class: Vec<u8>) {
    if class.capacity() <= MOST
        && let Ok(mut kept) = KEPT.try_lock()
        && let Some(scratch) = kept.as_mut()
    {
        scratch.take_back(class);
    }
}
