//! What the file of a program tells: whether it is of 32 bits, and whether it is a Java program that was compiled ahead of time.

use std::fs::File;
use std::path::Path;

use object::LittleEndian;
use object::elf::{ELFCLASS32, ELFMAG, FileHeader64};
use object::read::ReadCache;
use object::read::elf::FileHeader;

/// Where GraalVM puts the objects that a native image begins with.
const IMAGE_HEAP: &[u8] = b".svm_heap";

/// A kind of program that Quipu cannot measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmeasurable {
    /// Of 32 bits.
    ThirtyTwoBits,
    /// A native image of GraalVM's: machine code, without a JVM.
    NativeImage,
}

/// What keeps the program in a file from being measured; `None` if nothing does, or the file cannot be read.
pub fn unmeasurable(path: &Path) -> Option<Unmeasurable> {
    let mut file = File::open(path).ok()?;
    let mut identity = [0; 16];
    std::io::Read::read_exact(&mut file, &mut identity).ok()?;
    if !identity.starts_with(&ELFMAG) {
        return None;
    }
    if identity[4] == ELFCLASS32.0 {
        return Some(Unmeasurable::ThirtyTwoBits);
    }
    let data = &ReadCache::new(file);
    let header = FileHeader64::<LittleEndian>::parse(data).ok()?;
    let sections = header.sections(LittleEndian, data).ok()?;
    sections.section_by_name(LittleEndian, IMAGE_HEAP).map(|_| Unmeasurable::NativeImage)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program of 64 bits with one section beside the names of sections.
    fn program_with(section: &str) -> Vec<u8> {
        const HEADER: usize = 64;
        let names = format!("\0.shstrtab\0{section}\0");
        let sections = HEADER + names.len().next_multiple_of(8);
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        file.extend(2u16.to_le_bytes()); // an executable
        file.extend(62u16.to_le_bytes()); // for x86-64
        file.extend(1u32.to_le_bytes());
        file.extend([0; 16]); // neither an entry nor segments
        file.extend((sections as u64).to_le_bytes());
        file.extend([0; 4]);
        for half in [HEADER as u16, 0, 0, 64, 3, 1] {
            file.extend(half.to_le_bytes());
        }
        file.extend(names.as_bytes());
        file.resize(sections + 64, 0); // section 0 is empty
        for (name, kind, offset, size) in [(1u32, 3u32, HEADER, names.len()), (11, 1, 0, 0)] {
            file.extend(name.to_le_bytes());
            file.extend(kind.to_le_bytes());
            file.extend([0; 16]);
            file.extend((offset as u64).to_le_bytes());
            file.extend((size as u64).to_le_bytes());
            file.extend([0; 24]);
        }
        file
    }

    #[test]
    fn programs_tell_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            unmeasurable(&path)
        };
        assert_eq!(unmeasurable(&std::env::current_exe().unwrap()), None);
        assert_eq!(file("script", b"#!/bin/sh\nexec java\n"), None);
        assert_eq!(file("short", b"\x7fELF"), None);
        assert_eq!(file("cut off", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0"), None);
        assert_eq!(
            file("java", b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0"),
            Some(Unmeasurable::ThirtyTwoBits)
        );
        assert_eq!(file("native image", &program_with(".svm_heap")), Some(Unmeasurable::NativeImage));
        assert_eq!(file("other program", &program_with(".svm_help")), None);
    }
}
