//! Any bytes: reading them, analysing them and applying every edit must not panic, and what is written must be
//! readable. Start from real classes: put some into `fuzz/corpus/classfile`.
#![no_main]

mod support {
    #[path = "../../../../crates/classfile/tests/support/exercise.rs"]
    pub mod exercise;
    #[path = "../../../../crates/classfile/tests/support/shapes.rs"]
    pub mod shapes;
}

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut rewriter = support::shapes::Rewriter::default();
    support::exercise::exercise(bytes, &mut rewriter);
});
