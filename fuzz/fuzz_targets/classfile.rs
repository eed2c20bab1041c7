//! Any bytes: reading them, analysing them and applying every edit must not panic, and what is written must be
//! readable. Start from real classes: put some into `fuzz/corpus/classfile`.
#![no_main]

#[path = "../../crates/classfile/tests/support/exercise.rs"]
mod exercise;
#[path = "../../crates/classfile/tests/support/shapes.rs"]
mod shapes;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut rewriter = shapes::Rewriter::default();
    exercise::exercise(bytes, &mut rewriter);
});
