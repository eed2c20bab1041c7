//! Imports of bytes that someone else made: typed errors, bounded work, no panic.

mod common;

use common::Numbers;
use flate2::{Compression, write::GzEncoder};
use quipu_formats::{Format, ImportError, Limits, Options, export, import};
use std::io::Write;

fn pprof_bytes() -> Vec<u8> {
    let mut out = Vec::new();
    export(&common::shop(300), Format::Pprof, &Options::default(), &mut out).unwrap();
    out
}

fn plain(gzip: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    std::io::copy(&mut flate2::read::GzDecoder::new(gzip), &mut out).unwrap();
    out
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Tight limits, so that a mutation that asks for much is refused and not merely slow.
const TIGHT: Limits = Limits { bytes: 1 << 20, nodes: 100_000, depth: 10_000, frames: 1_000_000 };

fn mutate(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    for _ in 0..1 + numbers.below(6) {
        let at = numbers.below(bytes.len() as u64) as usize;
        match numbers.below(5) {
            0 => bytes[at] ^= 1 << numbers.below(8),
            1 => bytes[at] = [0, 0x7f, 0x80, 0xff][numbers.below(4) as usize],
            2 => bytes.truncate(at.max(1)),
            3 => {
                let end = (at + numbers.below(64) as usize).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                bytes.extend(copy);
            }
            _ => drop(bytes.splice(at..at, [0xff; 9])),
        }
    }
}

#[test]
fn ten_thousand_mutated_pprof_messages() {
    let message = plain(&pprof_bytes());
    let mut numbers = Numbers(42);
    let (mut read, mut refused) = (0, 0);
    for round in 0..10_000 {
        let mut bytes = message.clone();
        mutate(&mut bytes, &mut numbers);
        let bytes = if round % 10 == 0 { gzip(&bytes) } else { bytes };
        match import::pprof(&bytes, &TIGHT) {
            Ok(_) => read += 1,
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().contains('\n'), "{error}");
            }
        }
    }
    assert!(read > 100 && refused > 100, "{read} read, {refused} refused");
}

#[test]
fn mutated_gzip_and_text() {
    let (compressed, mut numbers) = (pprof_bytes(), Numbers(7));
    let mut text = Vec::new();
    export(&common::shop(300), Format::Collapsed, &Options::default(), &mut text).unwrap();
    text.truncate(8_000);
    for _ in 0..2_000 {
        let (mut bytes, mut lines) = (compressed.clone(), text.clone());
        mutate(&mut bytes, &mut numbers);
        mutate(&mut lines, &mut numbers);
        let _ = import::pprof(&bytes, &TIGHT);
        let _ = import::collapsed(&lines[..], "samples", &TIGHT);
    }
}

#[test]
fn a_small_file_cannot_become_a_large_one() {
    let bomb = gzip(&vec![0u8; 100 << 20]);
    assert!(bomb.len() < 1 << 20);
    assert!(matches!(import::pprof(&bomb, &TIGHT), Err(ImportError::TooLarge { what: "bytes", .. })));
    // Also with room to spare, a ratio like this is refused or the zeros are no message.
    assert!(import::pprof(&bomb, &Limits::default()).is_err());

    let long = format!("{} 1\n", "a;".repeat(20_000));
    let error = import::collapsed(long.as_bytes(), "samples", &TIGHT).unwrap_err();
    assert_eq!(error.to_string(), "the input is too large: more than 10000 frames in one stack");
}

#[test]
fn errors_say_where() {
    let error = |text: &str| import::collapsed(text.as_bytes(), "samples", &TIGHT).unwrap_err().to_string();
    assert_eq!(error("a;b 1\nno count\n"), "line 2: the count is not a whole number");
    assert_eq!(error("word"), "line 1: a stack, a blank and a count are expected");
    assert_eq!(error("; 5"), "line 1: the stack is empty");
    assert_eq!(error("# only a comment\n\n"), "the input has no samples");
    assert_eq!(error("a -5"), "line 1: the count is not a whole number");
    let error = |bytes: &[u8]| import::pprof(bytes, &TIGHT).unwrap_err().to_string();
    assert_eq!(error(b""), "the input has no samples");
    assert!(
        error(b"\x12\xff\x01ab").starts_with("offset 0: not a pprof message"),
        "{}",
        error(b"\x12\xff\x01ab")
    );
    assert!(error(&pprof_bytes()[..40]).starts_with("the gzip data is damaged"));
    // One sample type, one sample that names location 9.
    let dangling = b"\x0a\x00\x12\x06\x0a\x01\x09\x12\x01\x05";
    assert_eq!(error(dangling), "the pprof message refers to location 9, which it does not have");
    let negative = b"\x0a\x00\x12\x0c\x12\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    assert!(error(negative).contains("negative"));
}

#[test]
fn other_tools_collapsed_stacks() {
    let text = "[main tid=12];java/lang/Thread.run_[j];a/B.c 5\n[pool-1 tid=13];java/lang/Thread.run 2.0\n";
    let profile = import::collapsed(text.as_bytes(), "samples.cpu", &Limits::default()).unwrap();
    let threads: Vec<_> = profile.threads().iter().map(|t| profile.str(t.name)).collect();
    assert_eq!(threads, ["main", "pool-1"]);
    assert_eq!(profile.method_name(1), "java.lang.Thread.run");
    assert_eq!(profile.metric("samples.cpu").unwrap().total(), 7);
    // A bracket that only some stacks start with is a frame.
    let profile =
        import::collapsed("[unknown];f 1\ng 2\n".as_bytes(), "samples", &Limits::default()).unwrap();
    assert_eq!(profile.threads().len(), 1);
    assert_eq!(profile.tree().len(), 4);
    assert!(profile.methods().iter().any(|m| profile.str(m.name) == "[unknown]"));
}
