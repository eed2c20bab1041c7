//! Zip files, as far as jars use them: read from bytes that were not checked before, and written so that an entry that was
//! not changed keeps every byte: name, time, attributes, packed data.
//!
//! What is not kept is how an entry says its sizes (data descriptors, Zip64 fields of small entries). What stands
//! before the first entry, such as the script of an executable jar, is kept.

mod read;

use std::borrow::Cow;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use crate::error::Error;

const LOCAL: u32 = 0x0403_4B50;
const CENTRAL: u32 = 0x0201_4B50;
const END: u32 = 0x0605_4B50;
const END_64: u32 = 0x0606_4B50;
const LOCATOR_64: u32 = 0x0706_4B50;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const ENCRYPTED: u16 = 1;
const SIZES_BEHIND: u16 = 8;

/// An archive in memory.
#[derive(Debug)]
pub struct Archive<'a> {
    /// What stands before the first entry.
    pub prefix: &'a [u8],
    /// The entries, in the order of the directory.
    pub entries: Vec<Entry<'a>>,
    comment: &'a [u8],
}

/// An entry.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    /// Its name, as it stands there.
    pub name: Cow<'a, [u8]>,
    made_by: u16,
    flags: u16,
    method: u16,
    time: u32,
    crc: u32,
    size: u32,
    internal: u16,
    external: u32,
    packed: Cow<'a, [u8]>,
    extra: Vec<u8>,
    local_extra: Vec<u8>,
    comment: &'a [u8],
    /// Where it begins and ends in the file.
    range: (usize, usize),
}

/// How much may still be unpacked.
#[derive(Debug)]
pub struct Budget {
    left: AtomicU64,
    limit: u64,
}

impl Budget {
    /// For an input of this size: classes are rarely packed to less than a fifth.
    pub fn for_input(bytes: usize) -> Budget {
        let limit = (256 << 20) + 64 * bytes as u64;
        Budget { left: AtomicU64::new(limit), limit }
    }

    fn take(&self, bytes: u64) -> Result<(), Error> {
        let taken =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        taken.map(drop).map_err(|_| Error::Bomb { limit: self.limit })
    }
}

impl Archive<'static> {
    /// An archive without entries.
    pub fn empty() -> Archive<'static> {
        Archive { prefix: &[], entries: Vec::new(), comment: &[] }
    }
}

impl<'a> Archive<'a> {
    /// The archive's bytes.
    pub fn write(&self) -> Result<Vec<u8>, Error> {
        let mut out = self.prefix.to_vec();
        let mut directory = Vec::new();
        for entry in &self.entries {
            let offset = u32::try_from(out.len()).map_err(|_| Error::TooLarge("more than 4 GB"))?;
            entry.write(&mut out, &mut directory, offset)?;
        }
        let offset = out.len();
        out.extend_from_slice(&directory);
        let (offset, size) = match (u32::try_from(offset), u32::try_from(directory.len())) {
            (Ok(offset), Ok(size)) => (offset, size),
            _ => return Err(Error::TooLarge("more than 4 GB")),
        };
        let count = u16::try_from(self.entries.len()).unwrap_or(u16::MAX);
        if count == u16::MAX {
            let at = out.len() as u64;
            put32(&mut out, END_64);
            put64(&mut out, 44);
            put16s(&mut out, &[45, 45]);
            put64(&mut out, 0);
            for n in [self.entries.len() as u64, self.entries.len() as u64, size.into(), offset.into()] {
                put64(&mut out, n);
            }
            put32(&mut out, LOCATOR_64);
            put32(&mut out, 0);
            put64(&mut out, at);
            put32(&mut out, 1);
        }
        put32(&mut out, END);
        put16s(&mut out, &[0, 0, count, count]);
        put32(&mut out, size);
        put32(&mut out, offset);
        put16s(&mut out, &[self.comment.len() as u16]);
        out.extend_from_slice(self.comment);
        Ok(out)
    }
}

impl Entry<'_> {
    /// A new entry, packed, of a fixed age: the same input gives the same bytes.
    pub fn new(name: Vec<u8>, contents: &[u8]) -> Result<Entry<'static>, Error> {
        // The first day a zip file can name.
        const FIRST_DAY: u32 = 0x0021_0000;
        let mut entry = Entry {
            name: name.into(),
            made_by: 20,
            flags: 1 << 11,
            method: DEFLATED,
            time: FIRST_DAY,
            crc: 0,
            size: 0,
            internal: 0,
            external: 0,
            packed: Cow::Borrowed(&[]),
            extra: Vec::new(),
            local_extra: Vec::new(),
            comment: &[],
            range: (0, 0),
        };
        entry.replace(contents)?;
        Ok(entry)
    }

    /// The name, for people.
    pub fn display_name(&self) -> String {
        String::from_utf8_lossy(&self.name).into_owned()
    }

    /// What is in it, unpacked.
    pub fn contents(&self, budget: &Budget) -> Result<Vec<u8>, Error> {
        let wrong = |why: String| Error::Entry { name: self.display_name(), why };
        if self.flags & ENCRYPTED != 0 {
            return Err(wrong("is encrypted".to_owned()));
        }
        budget.take(self.size.into())?;
        let contents = match self.method {
            STORED => self.packed.to_vec(),
            DEFLATED => {
                let mut contents = Vec::new();
                // One byte more than promised is enough to know that the promise is broken.
                let most = u64::from(self.size) + 1;
                DeflateDecoder::new(&*self.packed)
                    .take(most)
                    .read_to_end(&mut contents)
                    .map_err(|e| wrong(format!("cannot be unpacked: {e}")))?;
                contents
            }
            method => return Err(wrong(format!("is packed by method {method}, which no JVM can read"))),
        };
        if contents.len() as u64 != u64::from(self.size) || crc32fast::hash(&contents) != self.crc {
            return Err(wrong("is not what its size and checksum say".to_owned()));
        }
        Ok(contents)
    }

    /// Puts something else in; what was not packed stays so.
    pub fn replace(&mut self, contents: &[u8]) -> Result<(), Error> {
        self.size = u32::try_from(contents.len()).map_err(|_| Error::TooLarge("more than 4 GB"))?;
        self.crc = crc32fast::hash(contents);
        if self.method == STORED {
            self.packed = contents.to_vec().into();
            return Ok(());
        }
        self.method = DEFLATED;
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        let packed = encoder.write_all(contents).and_then(|()| encoder.finish());
        self.packed = packed.map_err(|_| Error::TooLarge("no memory"))?.into();
        Ok(())
    }

    fn write(&self, out: &mut Vec<u8>, directory: &mut Vec<u8>, offset: u32) -> Result<(), Error> {
        let packed = u32::try_from(self.packed.len()).map_err(|_| Error::TooLarge("more than 4 GB"))?;
        let flags = self.flags & !SIZES_BEHIND;
        let common = |to: &mut Vec<u8>, extra: &[u8]| {
            put16s(to, &[20, flags, self.method]);
            for n in [self.time, self.crc, packed, self.size] {
                put32(to, n);
            }
            put16s(to, &[self.name.len() as u16, extra.len() as u16]);
        };
        put32(out, LOCAL);
        common(out, &self.local_extra);
        for part in [&*self.name, &self.local_extra, &self.packed] {
            out.extend_from_slice(part);
        }
        put32(directory, CENTRAL);
        put16s(directory, &[self.made_by]);
        common(directory, &self.extra);
        put16s(directory, &[self.comment.len() as u16, 0, self.internal]);
        put32(directory, self.external);
        put32(directory, offset);
        for part in [&*self.name, &self.extra, self.comment] {
            directory.extend_from_slice(part);
        }
        Ok(())
    }
}

fn put16s(out: &mut Vec<u8>, numbers: &[u16]) {
    out.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
}

fn put32(out: &mut Vec<u8>, n: u32) {
    out.extend_from_slice(&n.to_le_bytes());
}

fn put64(out: &mut Vec<u8>, n: u64) {
    out.extend_from_slice(&n.to_le_bytes());
}
