//! Buffers that outlive a class. Classes are rewritten one after the other, so one set of buffers is kept; whoever finds it
//! in use makes new ones.

use std::sync::Mutex;

use quipu_classfile::Scratch;

/// No more than this is kept: a class of JDK 25 with a counter in each of its precise blocks takes at most 105 KB, and half of
/// them less than 1 KB.
const MOST: usize = 128 << 10;

static KEPT: Mutex<Option<Scratch>> = Mutex::new(None);

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
