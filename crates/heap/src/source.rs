//! Where the bytes of a dump come from, and a cursor over them.
//!
//! A dump is read in windows, not mapped: pages of a map would count as this process's memory, and a file that is cut
//! while it is being read would end the process with a signal instead of an error.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::error::Stop;

/// Bytes that can be read at any place, by many threads at once.
pub trait Source: Sync {
    /// How many there are.
    fn size(&self) -> u64;

    /// Reads from a place on; how much was there.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;
}

impl Source for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.get(at..)).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

impl Source for &[u8] {
    fn size(&self) -> u64 {
        (**self).size()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        (**self).read_at(offset, into)
    }
}

impl Source for Vec<u8> {
    fn size(&self) -> u64 {
        self.as_slice().size()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.as_slice().read_at(offset, into)
    }
}

/// A file, as long as it was when it was opened.
#[derive(Debug)]
pub struct DumpFile {
    file: File,
    size: u64,
}

impl DumpFile {
    /// Reads from this file.
    pub fn new(file: File) -> io::Result<DumpFile> {
        let size = file.metadata()?.len();
        Ok(DumpFile { file, size })
    }
}

impl Source for DumpFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(into, offset)
    }
}

/// A window on a part of a dump that moves on with what is read.
pub(crate) struct Cursor<'s> {
    source: &'s dyn Source,
    window: Vec<u8>,
    /// Bytes of the window that are filled.
    filled: usize,
    /// Where in the window reading goes on.
    at: usize,
    /// Where in the file the window begins.
    begin: u64,
    /// Where in the file the part ends.
    end: u64,
    /// How much is read at a time.
    most: usize,
}

/// Large enough that reading it costs little more than copying, small enough to stay in the cache of a core.
const WINDOW: usize = 256 << 10;

impl<'s> Cursor<'s> {
    /// Over nothing yet; the window is used for one part after the other.
    pub fn new(source: &'s dyn Source) -> Cursor<'s> {
        Cursor::with_window(source, WINDOW)
    }

    /// The same for who reads here and there.
    pub fn with_window(source: &'s dyn Source, most: usize) -> Cursor<'s> {
        Cursor { source, window: Vec::new(), filled: 0, at: 0, begin: 0, end: 0, most }
    }

    /// Goes to a part of the file.
    pub fn go(&mut self, begin: u64, end: u64) {
        self.end = end.min(self.source.size());
        let inside = begin.checked_sub(self.begin).and_then(|at| usize::try_from(at).ok());
        match inside.filter(|&at| at <= self.filled) {
            Some(at) => self.at = at,
            None => (self.begin, self.at, self.filled) = (begin, 0, 0),
        }
    }

    /// Where in the file reading goes on.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.begin + self.at as u64
    }

    /// Whether the part has been read.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.offset() >= self.end
    }

    /// What is left of the part.
    pub fn left(&self) -> u64 {
        self.end.saturating_sub(self.offset())
    }

    /// The next bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&[u8], Stop> {
        if self.filled - self.at < count || count as u64 > self.left() {
            self.fill(count)?;
        }
        let at = self.at;
        self.at += count;
        Ok(&self.window[at..at + count])
    }

    /// As many of the next bytes as are at hand, in multiples of `unit`, at least one and at most `most`.
    pub fn take_some(&mut self, unit: usize, most: u64) -> Result<&[u8], Stop> {
        if self.filled - self.at < unit || unit as u64 > self.left() {
            self.fill(unit)?;
        }
        let at_hand = (self.filled - self.at).min(usize::try_from(self.left()).unwrap_or(usize::MAX));
        let units = ((at_hand / unit) as u64).min(most);
        self.take(units as usize * unit)
    }

    /// Leaves bytes out, without reading them if they are many.
    #[inline]
    pub fn skip(&mut self, count: u64) -> Result<(), Stop> {
        if count > self.left() {
            return Err(Stop::Short { offset: self.offset() });
        }
        match usize::try_from(count) {
            Ok(count) if count <= self.filled - self.at => self.at += count,
            _ => (self.begin, self.at, self.filled) = (self.offset() + count, 0, 0),
        }
        Ok(())
    }

    #[cold]
    fn fill(&mut self, count: usize) -> Result<(), Stop> {
        if count as u64 > self.left() {
            return Err(Stop::Short { offset: self.offset() });
        }
        self.begin += self.at as u64;
        self.window.copy_within(self.at..self.filled, 0);
        self.filled -= self.at;
        self.at = 0;
        // Not beyond the part: what comes next may be read by another thread.
        let wanted = usize::try_from(self.left()).unwrap_or(usize::MAX).min(self.most.max(count));
        if self.window.len() < wanted {
            self.window.resize(wanted, 0);
        }
        while self.filled < count {
            let from = self.begin + self.filled as u64;
            match self.source.read_at(from, &mut self.window[self.filled..wanted]) {
                Ok(0) => return Err(Stop::Short { offset: from }),
                Ok(more) => self.filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(Stop::Io { offset: from, source }),
            }
        }
        Ok(())
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    #[inline]
    pub fn u1(&mut self) -> Result<u8, Stop> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    #[inline]
    pub fn u2(&mut self) -> Result<u16, Stop> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    #[inline]
    pub fn u4(&mut self) -> Result<u32, Stop> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    #[inline]
    pub fn id(&mut self, size: IdSize) -> Result<u64, Stop> {
        match size {
            IdSize::Four => self.u4().map(u64::from),
            IdSize::Eight => Ok(u64::from_be_bytes(self.array()?)),
        }
    }
}

/// How many bytes an id has in a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdSize {
    /// A 32-bit VM's.
    Four,
    /// A 64-bit VM's.
    Eight,
}

impl IdSize {
    /// In bytes.
    pub fn bytes(self) -> usize {
        match self {
            IdSize::Four => 4,
            IdSize::Eight => 8,
        }
    }

    /// The id at the beginning of these bytes; 0, which no object has, if they are too few.
    #[inline]
    pub(crate) fn of(self, bytes: &[u8]) -> u64 {
        match self {
            IdSize::Four => bytes.first_chunk().map_or(0, |b| u64::from(u32::from_be_bytes(*b))),
            IdSize::Eight => bytes.first_chunk().map_or(0, |b| u64::from_be_bytes(*b)),
        }
    }
}
