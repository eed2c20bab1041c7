//! Whatever is given for a jar: a sentence, or a result, and never a panic.
#![allow(missing_docs, reason = "tests say what they test by their names")]

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use quipu_classfile::BlockAnalysis;
use quipu_offline::{Error, InputFile, Instrumenter, Outcome, RUNTIME_PACKAGE, RuntimeOptions};
use quipu_rewrite::{Counting, Exact, Plan};

fn plan() -> Plan {
    let counting = Counting::Exact(Exact { folds: true, ..Exact::default() });
    Plan { counting, analysis: BlockAnalysis::Precise, ..Plan::new(RUNTIME_PACKAGE) }
}

fn instrument(jar: &[u8]) -> Result<(Vec<u8>, Outcome), Error> {
    Instrumenter { plan: plan(), jdk: None, progress: &() }.jar(jar)
}

/// A jar that is really there: the runtime's own.
fn real() -> Vec<u8> {
    quipu_offline::runtime::jar(&RuntimeOptions::default()).unwrap()
}

fn deflate(contents: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(contents).unwrap();
    encoder.finish().unwrap()
}

/// An archive with these entries: name, packed bytes, and what is said of their size and checksum.
fn archive(entries: &[(&str, &[u8], u32, u32)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for (name, packed, size, crc) in entries {
        let offset = out.len() as u32;
        let mut common = Vec::new();
        for half in [20u16, 0, 8] {
            common.extend_from_slice(&half.to_le_bytes());
        }
        for word in [0, *crc, packed.len() as u32, *size] {
            common.extend_from_slice(&word.to_le_bytes());
        }
        common.extend_from_slice(&(name.len() as u32).to_le_bytes());
        out.extend_from_slice(b"PK\x03\x04");
        out.extend_from_slice(&common);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(packed);
        directory.extend_from_slice(b"PK\x01\x02\x14\x00");
        directory.extend_from_slice(&common);
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&offset.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let offset = out.len() as u32;
    out.extend_from_slice(&directory);
    out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    for half in [entries.len() as u16; 2] {
        out.extend_from_slice(&half.to_le_bytes());
    }
    out.extend_from_slice(&(directory.len() as u32).to_le_bytes());
    out.extend_from_slice(&offset.to_le_bytes());
    out.extend_from_slice(&[0; 2]);
    out
}

fn packed(name: &'static str, contents: &[u8]) -> Vec<u8> {
    archive(&[(name, &deflate(contents), contents.len() as u32, crc32fast::hash(contents))])
}

#[test]
fn a_whole_archive_comes_back_as_it_was() {
    let jar = packed("a/b.txt", b"text");
    let (out, outcome) = instrument(&jar).unwrap();
    assert_eq!(out, jar);
    assert_eq!((outcome.classes, outcome.left.len()), (0, 0));
}

#[test]
fn truncated_jars_are_refused_in_a_sentence() {
    let jar = real();
    for end in (0..jar.len()).step_by(97) {
        let error = instrument(&jar[..end]).unwrap_err();
        assert!(!error.to_string().is_empty() && !error.to_string().contains('\n'), "{error}");
    }
    assert_eq!(instrument(b"").unwrap_err().to_string(), "is not a jar, or its end is missing");
}

#[test]
fn any_damage_is_survived() {
    let jar = real();
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize % below
    };
    let directory = jar.len() * 9 / 10;
    for round in 0..3_000 {
        let mut bad = jar.clone();
        for _ in 0..1 + random(4) {
            // Half of it where the offsets and lengths are.
            let at =
                if round % 2 == 0 { directory + random(jar.len() - directory) } else { random(jar.len()) };
            bad[at] = random(256) as u8;
        }
        if let Err(error) = instrument(&bad) {
            assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn names_that_point_outside_are_refused() {
    for name in ["../evil.txt", "a/../../evil.txt", "/etc/passwd", "a\\..\\b", "..", "a\0b"] {
        let error = instrument(&archive(&[(name, b"", 0, 0)])).unwrap_err().to_string();
        assert!(error.contains("points outside of the jar"), "{error}");
    }
    assert!(instrument(&archive(&[("a/..b/c..txt", b"\x03\0", 0, 0)])).is_ok());
}

#[test]
fn bombs_are_not_unpacked() {
    // A class of 2 GB in 2 MB, as it says itself.
    let zeros = deflate(&vec![0; 16 << 20]);
    let liar = archive(&[("A.class", &zeros, 2 << 30, 0)]);
    let error = instrument(&liar).unwrap_err();
    assert!(matches!(error, Error::Bomb { .. }), "{error}");
    // Many classes that together are too much.
    let names: Vec<String> = (0..40).map(|i| format!("A{i}.class")).collect();
    let many: Vec<(&str, &[u8], u32, u32)> =
        names.iter().map(|name| (name.as_str(), &zeros[..], 16 << 20, 0)).collect();
    let error = instrument(&archive(&many)).unwrap_err();
    assert!(matches!(error, Error::Bomb { .. }), "{error}");
    // One that is larger than it says is not believed, and not unpacked further.
    let (_, outcome) = instrument(&archive(&[("A.class", &zeros, 100, 0)])).unwrap();
    assert!(outcome.left[0].why.contains("not what its size"), "{:?}", outcome.left);
}

#[test]
fn entries_that_share_bytes_are_refused() {
    let mut jar = archive(&[("a.txt", b"\x03\0", 0, 0), ("b.txt", b"\x03\0", 0, 0)]);
    // The second entry's offset, in the directory's second record.
    let at = jar.len() - 22 - 5 - 4;
    jar[at..at + 4].copy_from_slice(&0u32.to_le_bytes());
    assert_eq!(instrument(&jar).unwrap_err().to_string(), "is damaged: entries overlap");
}

#[test]
fn jars_within_jars_have_an_end() {
    let mut jar = packed("a.txt", b"");
    for _ in 0..20 {
        jar = packed("inner.jar", &jar);
    }
    let error = instrument(&jar).unwrap_err();
    assert!(matches!(error, Error::TooDeep), "{error}");
}

#[test]
fn a_file_with_a_name_of_a_jar_or_class_is_left_alone() {
    let jar = archive(&[
        ("data.jar", &deflate(b"no jar"), 6, crc32fast::hash(b"no jar")),
        ("No.class", &deflate(b"no class"), 8, crc32fast::hash(b"no class")),
    ]);
    let (out, outcome) = instrument(&jar).unwrap();
    assert_eq!(out, jar);
    assert_eq!(outcome.left.len(), 1);
    assert_eq!(outcome.left[0].what, "No.class");
}

#[test]
fn what_is_no_class_is_said_so() {
    let with = Instrumenter { plan: plan(), jdk: None, progress: &() };
    let error = with.class(b"no class").unwrap_err().to_string();
    assert!(error.starts_with("is not a class file: "), "{error}");
    let (files, outcome) =
        with.directory(&[InputFile { name: "A.class".to_owned(), contents: b"?".to_vec() }]).unwrap();
    assert_eq!((files.len(), outcome.left.len()), (0, 1));
}
