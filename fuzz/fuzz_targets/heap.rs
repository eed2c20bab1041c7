//! Any bytes as a heap dump, and any bytes as what is in one: answers or errors, never a panic.
#![no_main]

#[path = "../../crates/heap/tests/support/exercise.rs"]
mod exercise;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = exercise::exercise(bytes);
    let mut whole = b"JAVA PROFILE 1.0.2\0".to_vec();
    whole.extend([0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
    whole.extend(bytes);
    let _ = exercise::exercise(&whole);
});
