//! Any bytes as an arena: an error, or a profile. Put arenas that killed targets left into `fuzz/corpus/arena`.
#![no_main]

#[path = "../../crates/collector/tests/support/exercise.rs"]
mod exercise;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    exercise::exercise(bytes);
});
