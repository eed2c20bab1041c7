//! Any bytes as a `.quipu` file, and any bytes as the sections of one with right checksums: an error, or a canonical
//! profile that is written and read again the same.
#![no_main]

#[path = "../../crates/profile/tests/support/exercise.rs"]
mod exercise;

use libfuzzer_sys::fuzz_target;
use quipu_profile::Profile;

const TAGS: [[u8; 4]; 13] = [
    *b"META", *b"STRS", *b"METH", *b"SHAP", *b"NMET", *b"THRD", *b"NSIT", *b"METR", *b"BLKS", *b"SAMP", *b"EVNT",
    *b"RUN ", *b"LABL",
];

/// Sections out of (tag, length, bytes) triples, closed as a file must be.
fn sections(mut bytes: &[u8]) -> Vec<exercise::Section> {
    let mut found = Vec::new();
    while let [tag, low, high, rest @ ..] = bytes {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (raw, after) = rest.split_at(length);
        found.push((TAGS[usize::from(*tag) % TAGS.len()], length as u64, raw.to_vec()));
        bytes = after;
    }
    found.push((*b"END ", 0, Vec::new()));
    found
}

fuzz_target!(|bytes: &[u8]| {
    let file = exercise::assemble(&sections(bytes), false);
    for bytes in [bytes, &file] {
        if let Ok(profile) = Profile::from_bytes(bytes) {
            exercise::check(&profile);
        }
    }
});
