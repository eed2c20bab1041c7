//! What Quipu has in Java for others to use, compiled, as jars: the API for profiling agents (`java/api`), and the
//! listeners that test frameworks find on the class path and benchmarks are given (`java/junit`, `java/jmh`).
//!
//! Jars are made here, without compression and without times, so that they are the same bytes each time.
#![forbid(unsafe_code)]

/// Names and bytes of the API's class files.
pub const CLASSES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/classes.rs"));

/// Names and bytes of the listeners' class files.
const LISTENERS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/listeners.rs"));

/// The JMH profiler, whose name is its class.
const JMH: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/jmh.rs"));

/// How the JUnit Platform finds its listener, and what chooses tests.
const SERVICES: &[(&str, &[u8])] = &[
    ("META-INF/services/org.junit.platform.launcher.TestExecutionListener", b"quipu.junit.TestListener\n"),
    ("META-INF/services/org.junit.platform.launcher.PostDiscoveryFilter", b"quipu.junit.Only\n"),
];

const MANIFEST: (&str, &[u8]) = ("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\r\n\r\n");

/// Midnight of 1 January 1980, where the format's calendar begins.
const TIME_AND_DATE: u32 = 0x0021_0000;

/// The jar to compile agents against.
pub fn jar() -> Vec<u8> {
    pack(CLASSES.iter())
}

/// The jar with the listeners, `@Budget` and the JMH profiler.
pub fn listeners() -> Vec<u8> {
    pack(SERVICES.iter().chain(LISTENERS).chain(JMH))
}

fn pack<'a>(files: impl Iterator<Item = &'a (&'a str, &'a [u8])>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    let mut entries = 0u16;
    for (name, bytes) in std::iter::once(&MANIFEST).chain(files) {
        let at = out.len() as u32;
        let mut common = Vec::new();
        // Version 1.0, no flags, stored.
        push16(&mut common, &[10, 0, 0]);
        push32(&mut common, &[TIME_AND_DATE, crc32(bytes), bytes.len() as u32, bytes.len() as u32]);
        push16(&mut common, &[name.len() as u16, 0]);
        push32(&mut out, &[0x0403_4B50]);
        out.extend_from_slice(&common);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(bytes);
        push32(&mut directory, &[0x0201_4B50]);
        push16(&mut directory, &[10]);
        directory.extend_from_slice(&common);
        // No comment, first disk, no attributes.
        push16(&mut directory, &[0, 0, 0]);
        push32(&mut directory, &[0, at]);
        directory.extend_from_slice(name.as_bytes());
        entries += 1;
    }
    let at = out.len() as u32;
    out.extend_from_slice(&directory);
    push32(&mut out, &[0x0605_4B50]);
    push16(&mut out, &[0, 0, entries, entries]);
    push32(&mut out, &[directory.len() as u32, at]);
    push16(&mut out, &[0]);
    out
}

fn push16(out: &mut Vec<u8>, numbers: &[u16]) {
    out.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
}

fn push32(out: &mut Vec<u8>, numbers: &[u32]) {
    out.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
}

/// The checksum of ZIP files, bit by bit: a few kilobytes are checked once.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_known_one() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn jars_have_every_class_and_no_other() {
        for (jar, classes) in [(jar(), CLASSES), (listeners(), LISTENERS)] {
            for (name, bytes) in classes {
                assert!(bytes.starts_with(&[0xCA, 0xFE, 0xBA, 0xBE]), "{name}");
                assert!(jar.windows(name.len()).filter(|window| *window == name.as_bytes()).count() >= 2);
            }
        }
        assert_eq!(CLASSES.len(), 7);
        assert!(LISTENERS.iter().all(|(name, _)| name.starts_with("quipu/")), "stubs stay outside");
        assert_eq!(JMH.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["quipu.class"]);
    }
}
