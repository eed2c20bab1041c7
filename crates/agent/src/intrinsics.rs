//! Deterministic mode: methods that the JIT must not replace by its own code.
//!
//! What is replaced is opaque, so nothing in it is counted, and most of it does what its bytecode does. These leave
//! something else behind than their bytecode, which code that is counted can see: what that does would depend on what was
//! compiled when. `tests/e2e/tests/exact/intrinsics.rs` finds them in the JDK's class files and calls all there are.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use quipu_jvm::Jvm;
use quipu_jvm::hotspot::{Library, Structs, TextFlag};

use crate::session::Session;

/// The VM's names, of all releases: names that a VM does not know mean nothing to it.
const DIFFERENT: [&str; 19] = [
    // Digests make their work array when they first run as bytecode, and clear it if it is there.
    "_md5_implCompress",
    "_sha_implCompress",
    "_sha2_implCompress",
    "_sha5_implCompress",
    "_sha3_implCompress",
    "_double_keccak",
    "_quad_keccak",
    "_digestBase_implCompressMB",
    // Do as much at once as they have registers for, and leave the rest to their callers.
    "_base64_decodeBlock",
    "_chacha20Block",
    "_counterMode_AESCrypt",
    "_galoisCounterMode_AESCrypt",
    "_vectorizedMismatch",
    // Equal but for a multiple of the modulus, which may be taken off later.
    "_montgomeryMultiply",
    "_montgomerySquare",
    "_intpoly_montgomeryMult_P256",
    // Leave elements in another order in between: what is compared later differs.
    "_arraySort",
    "_arrayPartition",
    // May say less than there are; how much less depends on the processor.
    "_countPositives",
];

static PINNED: AtomicBool = AtomicBool::new(false);

/// Has the bytecode of these run in every tier. The VM is starting, and its compilers are not there yet.
pub fn pin(vm: Jvm) {
    let flag = Library::of(vm)
        .and_then(Structs::of)
        .and_then(|structs| TextFlag::find(&structs, c"DisableIntrinsic"));
    let Some(flag) = flag else { return };
    let given = flag.get().filter(|names| !names.is_empty());
    let names: Vec<&str> = given.as_deref().into_iter().chain(DIFFERENT).collect();
    if let Ok(names) = CString::new(names.join(",")) {
        // SAFETY: the VM is starting.
        unsafe { flag.set(names) };
        PINNED.store(true, Relaxed);
    }
}

/// Tells the reader, also if the VM has no such flag, or does not say where it is.
pub fn note(session: &Session) {
    if PINNED.load(Relaxed) {
        session.note("pin.intrinsics with effects of their own", "run as bytecode");
    } else {
        session.note(
            "not pinned",
            "intrinsics with effects of their own (digests, ciphers, Base64): this VM does not say where its flag \
             DisableIntrinsic is, so counts may depend on what was compiled when",
        );
    }
}
