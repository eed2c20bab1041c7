//! Probes that a library was built with (USDT): instructions that do nothing, at places that are told in notes of its file, with
//! a name and where its arguments are.
//!
//! Files are read as hostile bytes: every offset and length is checked, and what makes no sense is no probe.

use std::ffi::{CStr, CString, OsStr, c_int, c_void};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A place where a probe is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Who has put it there: `hotspot`.
    pub provider: String,
    /// What it is called.
    pub name: String,
    /// Where it is, in the addresses of the file.
    pub address: u64,
    /// The same as an offset in the file.
    pub offset: u64,
    /// Where its arguments are: `-8@%rbx 8@%r13`.
    pub arguments: String,
}

/// Probes of a file, in its order.
pub fn probes(path: &Path) -> Vec<Probe> {
    let Ok(file) = File::open(path) else { return Vec::new() };
    read(&|at, length| {
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    })
    .unwrap_or_default()
}

/// More than any part that is read of a library has.
const LARGEST: u64 = 1 << 24;

/// A section: where it is when it is loaded, where in the file, and how long.
#[derive(Clone, Copy)]
struct Section {
    name: u32,
    address: u64,
    offset: u64,
    size: u64,
}

fn read(part: &dyn Fn(u64, usize) -> Option<Vec<u8>>) -> Option<Vec<Probe>> {
    const MAGIC: &[u8] = b"\x7fELF\x02\x01";
    const LOADED: u32 = 1;
    let bytes = |at: u64, size: u64| part(at, usize::try_from(size).ok().filter(|_| size <= LARGEST)?);
    let header = bytes(0, 64)?;
    if !header.starts_with(MAGIC) {
        return None;
    }
    let table = |at: usize, size: usize, count: usize, least: u16| {
        let (size, count) = (u16_at(&header, size)?, u16_at(&header, count)?);
        let whole = bytes(u64_at(&header, at)?, u64::from(size) * u64::from(count))?;
        (size >= least).then(|| whole.chunks_exact(size.into()).map(<[u8]>::to_vec).collect::<Vec<_>>())
    };
    let sections = table(40, 58, 60, 64)?;
    let section = |entry: &Vec<u8>| {
        let [address, offset, size] = [16, 24, 32].map(|at| u64_at(entry, at));
        Some(Section { name: u32_at(entry, 0)?, address: address?, offset: offset?, size: size? })
    };
    let sections: Vec<Section> = sections.iter().filter_map(section).collect();
    let names = sections.get(usize::from(u16_at(&header, 62)?))?;
    let names = bytes(names.offset, names.size)?;
    let named = |wanted: &[u8]| {
        let is = |section: &&Section| text_at(&names, section.name as usize) == Some(wanted);
        sections.iter().find(is).copied()
    };
    let notes = named(b".note.stapsdt")?;
    let base = named(b".stapsdt.base").map(|base| base.address);
    let segments = table(32, 54, 56, 56)?;
    let segment = |entry: &Vec<u8>| {
        let [offset, address, size] = [8, 16, 32].map(|at| u64_at(entry, at));
        (u32_at(entry, 0)? == LOADED).then_some((offset?, address?, size?))
    };
    let segments: Vec<(u64, u64, u64)> = segments.iter().filter_map(segment).collect();
    let mut rest = &bytes(notes.offset, notes.size)?[..];
    let mut probes = Vec::new();
    while let Some((note, behind)) = note(rest) {
        rest = behind;
        probes.extend(note.and_then(|note| probe(note, base, &segments)));
    }
    Some(probes)
}

/// The contents of the first note, if it is one of a probe, and what lies behind it.
fn note(bytes: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    const OWNER: &[u8] = b"stapsdt\0";
    const PROBE: u32 = 3;
    let [owner, contents, kind] = [0, 4, 8].map(|at| u32_at(bytes, at));
    let (owner, contents) = (owner? as usize, contents? as usize);
    let begin = owner.checked_next_multiple_of(4)?.checked_add(12)?;
    let end = begin.checked_add(contents)?;
    let behind = end.checked_next_multiple_of(4)?;
    let is_probe = kind == Some(PROBE) && bytes.get(12..12 + owner.min(OWNER.len())) == Some(OWNER);
    let found = bytes.get(begin..end)?;
    Some((is_probe.then_some(found), bytes.get(behind..).unwrap_or_default()))
}

fn probe(note: &[u8], base: Option<u64>, segments: &[(u64, u64, u64)]) -> Option<Probe> {
    const TEXTS: usize = 24;
    let [place, based, semaphore] = [0, 8, 16].map(|at| u64_at(note, at));
    // One that has to be switched on by a counter of its own is none of those we know how to have.
    if semaphore? != 0 {
        return None;
    }
    // The file may have been moved since it was linked (prelink): a section that says nothing else shows by how much.
    let moved = base.map_or(0, |base| base.wrapping_sub(based.unwrap_or(base)));
    let address = place?.wrapping_add(moved);
    let within = |&&(_, begin, size): &&(u64, u64, u64)| address >= begin && address - begin < size;
    let (offset, begin, _) = *segments.iter().find(within)?;
    let mut texts = note.get(TEXTS..)?.split(|&byte| byte == 0);
    let mut text = || Some(String::from_utf8_lossy(texts.next()?).into_owned());
    let (provider, name, arguments) = (text()?, text()?, text()?);
    Some(Probe { provider, name, address, offset: offset.checked_add(address - begin)?, arguments })
}

fn text_at(bytes: &[u8], at: usize) -> Option<&[u8]> {
    bytes.get(at..)?.split(|&byte| byte == 0).next()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// A library that this process has loaded.
pub struct Loaded {
    /// Its file.
    pub path: PathBuf,
    /// What is added to its addresses.
    pub moved: u64,
}

/// Libraries that this process has loaded.
pub fn loaded() -> Vec<Loaded> {
    unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, all: *mut c_void) -> c_int {
        // SAFETY: the linker passes a valid `info`, and what was passed to it.
        let (info, all) = unsafe { (&*info, &mut *all.cast::<Vec<Loaded>>()) };
        if !info.dlpi_name.is_null() {
            // SAFETY: a C string of the linker's.
            let name = unsafe { CStr::from_ptr(info.dlpi_name) };
            let path = PathBuf::from(OsStr::from_bytes(name.to_bytes()));
            all.push(Loaded { path, moved: info.dlpi_addr });
        }
        0
    }
    let mut all: Vec<Loaded> = Vec::new();
    // SAFETY: the function takes what is passed.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut all).cast()) };
    all.retain(|library| !library.path.as_os_str().is_empty());
    all
}

/// The path as the kernel wants it, for good: each once.
pub(crate) fn kept(path: &Path) -> Option<&'static CStr> {
    static KEPT: Mutex<Vec<&'static CStr>> = Mutex::new(Vec::new());
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    let mut kept = KEPT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = kept.iter().copied().find(|known| **known == *path) {
        return Some(known);
    }
    let new: &'static CStr = Box::leak(path.into_boxed_c_str());
    kept.push(new);
    Some(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with a segment at 0x1000, which is at 0x400 in it, and these notes.
    fn file(notes: &[u8], base: u64) -> Vec<u8> {
        let names = b"\0.note.stapsdt\0.stapsdt.base\0.shstrtab\0";
        let mut bytes = vec![0u8; 0x400];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, b"\x7fELF\x02\x01\x01");
        put(32, &64u64.to_le_bytes());
        put(40, &128u64.to_le_bytes());
        for (at, value) in [(54, 56u16), (56, 1), (58, 64), (60, 4), (62, 3)] {
            put(at, &value.to_le_bytes());
        }
        put(64, &1u32.to_le_bytes());
        for (at, value) in [(72, 0x400u64), (80, 0x1000), (96, 0x800)] {
            put(at, &value.to_le_bytes());
        }
        let sections = [
            (1u32, 0u64, 0x400u64, notes.len() as u64),
            (15, base, 0, 1),
            (29, 0, 0x200, names.len() as u64),
        ];
        for (i, (name, address, offset, size)) in sections.into_iter().enumerate() {
            let at = 128 + 64 * (i + 1);
            put(at, &name.to_le_bytes());
            for (field, value) in [(16, address), (24, offset), (32, size)] {
                put(at + field, &value.to_le_bytes());
            }
        }
        put(0x200, names);
        bytes.extend(notes);
        bytes
    }

    fn a_note(place: u64, semaphore: u64, texts: &[u8]) -> Vec<u8> {
        let mut note = Vec::new();
        for word in [8, 24 + texts.len() as u32, 3] {
            note.extend(word.to_le_bytes());
        }
        note.extend(b"stapsdt\0");
        for word in [place, 0x3000, semaphore] {
            note.extend(word.to_le_bytes());
        }
        note.extend(texts);
        note.resize(note.len().next_multiple_of(4), 0);
        note
    }

    fn parse(bytes: &[u8]) -> Option<Vec<Probe>> {
        read(&|at, length| {
            let at = usize::try_from(at).ok()?;
            Some(bytes.get(at..at.checked_add(length)?)?.to_vec())
        })
    }

    #[test]
    fn notes_name_probes_and_where_they_are() {
        let mut notes = a_note(0x1234, 0, b"hotspot\0gc__begin\0-4@%eax\0");
        notes.extend(a_note(0x1300, 8, b"hotspot\0switched\0\0"));
        notes.extend(a_note(0x9000, 0, b"hotspot\0nowhere\0\0"));
        notes.extend(a_note(0x1400, 0, b"hotspot\0gc__end\0\0"));
        let probe = |name: &str, address: u64, arguments: &str| Probe {
            provider: "hotspot".to_owned(),
            name: name.to_owned(),
            address,
            offset: address - 0x1000 + 0x400,
            arguments: arguments.to_owned(),
        };
        let expected = [probe("gc__begin", 0x1234, "-4@%eax"), probe("gc__end", 0x1400, "")];
        assert_eq!(parse(&file(&notes, 0x3000)).unwrap(), expected);
        let moved = [probe("gc__begin", 0x1244, "-4@%eax"), probe("gc__end", 0x1410, "")];
        assert_eq!(parse(&file(&notes, 0x3010)).unwrap(), moved, "linked elsewhere");
    }

    #[test]
    fn whatever_is_in_a_file_it_is_read_without_harm() {
        let good = file(&a_note(0x1234, 0, b"hotspot\0gc__begin\0-4@%eax\0"), 0x3000);
        for length in 0..good.len() {
            parse(&good[..length]);
        }
        for at in 0..good.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut bad = good.clone();
                bad[at] = value;
                parse(&bad);
                let mut worse = bad;
                let end = worse.len().min(at + 8);
                worse[at..end].fill(0xff);
                parse(&worse);
            }
        }
    }

    #[test]
    fn this_process_has_libraries() {
        let libraries = loaded();
        assert!(libraries.iter().any(|library| library.path.to_string_lossy().contains("libc")));
        let [one, same] = [(); 2].map(|()| kept(Path::new("/some/lib.so")).unwrap());
        assert!(std::ptr::eq(one, same));
    }
}
