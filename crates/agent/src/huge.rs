//! Methods that inserted code makes longer than HotSpot compiles: they would be interpreted as long as it is there, ten times
//! slower and more. While classes are rewritten, the VM is told to compile methods of any length.
//!
//! `quipu run` says so on the command line. Here it is said to a VM that was attached to, or that got its agent otherwise.

use std::sync::atomic::{AtomicBool, Ordering};

use quipu_jvm::Jvm;
use quipu_jvm::hotspot::{Library, Structs, SwitchFlag};
use quipu_rewrite::LONGEST_COMPILED;

/// Whether long methods are compiled because of us.
static ALLOWED: AtomicBool = AtomicBool::new(false);

/// Has methods of any length compiled from now on. If the VM does not let itself be told, the length that rewritten ones may
/// have: longer ones are better left alone.
pub fn allow(vm: Jvm) -> Option<u32> {
    let Some(flag) = flag(vm) else { return (!is_said_at_start()).then_some(LONGEST_COMPILED) };
    if flag.get() {
        ALLOWED.store(true, Ordering::Release);
        // SAFETY: the VM looks at it whenever it is about to compile a method, and can do with either.
        unsafe { flag.set(false) };
    }
    None
}

/// Puts back what was there. No rewritten code is there any more.
pub fn forbid(vm: Jvm) {
    if let Some(flag) = flag(vm).filter(|_| ALLOWED.swap(false, Ordering::AcqRel)) {
        // SAFETY: as above.
        unsafe { flag.set(true) };
    }
}

/// Whether the VM was started so. For VMs that do not show what they were told.
fn is_said_at_start() -> bool {
    const SAID: &[u8] = b"-XX:-DontCompileHugeMethods";
    ["/proc/self/cmdline", "/proc/self/environ"]
        .iter()
        .any(|place| std::fs::read(place).is_ok_and(|said| said.windows(SAID.len()).any(|part| part == SAID)))
}

fn flag(vm: Jvm) -> Option<SwitchFlag> {
    SwitchFlag::find(&Library::of(vm).and_then(Structs::of)?, c"DontCompileHugeMethods")
}
