//! The edited class as far as it is written.

use super::pen::SPARE;
use crate::class::ClassFile;
use crate::error::EditError;

/// New bytes for parts of a class.
///
/// As long as parts are replaced in the order in which they stand, `bytes` *is* the new class up to the last of them,
/// but for the new constants, which are known last. Otherwise it is a heap of parts that are put together in the end.
#[derive(Debug, Default)]
pub(crate) struct Output {
    bytes: Vec<u8>,
    parts: Vec<Part>,
    /// The old class up to the first position is in `bytes` up to the second, which is their end unless something was
    /// replaced out of order.
    reached: (usize, usize),
}

/// The range of the old class that a part replaces, and where it is in `bytes`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    old_start: u32,
    old_end: u32,
    start: u32,
    end: u32,
}

/// How much longer than before something is expected to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    /// Code.
    pub(crate) code: usize,
    /// What goes with it: a guess.
    pub(crate) tables: usize,
    /// New constants so far.
    pub(crate) pool: usize,
}

impl Output {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.parts.clear();
        self.reached = (0, 0);
    }

    /// Takes the memory of an edited class.
    pub(crate) fn take_back(&mut self, class: Vec<u8>) {
        if self.bytes.capacity() < class.capacity() {
            self.bytes = class;
        }
    }

    /// Bytes kept for the next class.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity() + size_of::<Part>() * self.parts.capacity()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Replaces a range of the old class by what `write` adds to the end of a buffer, unless that fails.
    pub(crate) fn replace<T>(
        &mut self,
        class: &ClassFile<'_>,
        old_start: usize,
        old_end: usize,
        growth: Growth,
        write: impl FnOnce(&mut Vec<u8>) -> Result<T, EditError>,
    ) -> Result<T, EditError> {
        let (part, mut bytes) = self.begin(class, old_start, old_end, growth);
        let written = write(&mut bytes);
        self.end(class, part, bytes, written)
    }

    /// Begins to replace a range of the old class. To be added to the end of the buffer, which goes back to
    /// [`Output::end`].
    pub(crate) fn begin(
        &mut self,
        class: &ClassFile<'_>,
        old_start: usize,
        old_end: usize,
        growth: Growth,
    ) -> (Part, Vec<u8>) {
        let (copied, at) = self.reached;
        if at == self.bytes.len() && copied <= old_start {
            let old = class.bytes();
            // For all that is left, not only for the part.
            let needed = old.len() - copied + growth.code + growth.pool + SPARE;
            if self.bytes.capacity() - self.bytes.len() < needed {
                let grown = growth.code + growth.tables;
                let expected = self.expected(old.len(), old_start, old_end, grown);
                // A buffer that grows is needed twice for a moment; so only as much of the old one as is in use.
                self.bytes.shrink_to_fit();
                self.bytes.reserve_exact(needed + growth.tables + expected);
            }
            self.bytes.extend_from_slice(old.get(copied..old_start).unwrap_or_default());
            self.reached = (old_start, self.bytes.len());
        }
        let start = self.bytes.len() as u32;
        let part = Part { old_start: old_start as u32, old_end: old_end as u32, start, end: start };
        (part, std::mem::take(&mut self.bytes))
    }

    /// What was begun is written, or could not be.
    pub(crate) fn end<T>(
        &mut self,
        class: &ClassFile<'_>,
        mut part: Part,
        bytes: Vec<u8>,
        written: Result<T, EditError>,
    ) -> Result<T, EditError> {
        self.bytes = bytes;
        let end = u32::try_from(self.bytes.len());
        let written = written.and_then(|written| match end {
            Ok(end) => {
                part.end = end;
                Ok(written)
            }
            Err(_) => Err(EditError::OffsetOverflow),
        });
        if written.is_err() {
            self.bytes.truncate(part.start as usize);
            return written;
        }
        if self.parts.last().is_some_and(|last| last.old_start >= part.old_start) {
            self.parts.retain(|other| other.old_start != part.old_start);
        }
        if self.parts.capacity() == 0 {
            self.parts.reserve_exact(class.methods().len());
        }
        self.parts.push(part);
        if self.reached == (part.old_start as usize, part.start as usize) {
            self.reached = (part.old_end as usize, part.end as usize);
        }
        written
    }

    /// How much more than what is known of the rest of the class may take: as much for its length as what was written since
    /// the first part, or as the part at hand if that is the first.
    fn expected(&self, old_len: usize, old_start: usize, old_end: usize, growth: usize) -> usize {
        let (from, grown) = match self.parts.first() {
            Some(first) => {
                let (from, start) = (first.old_start as usize, first.start as usize);
                (from, growth + self.bytes.len().saturating_sub(start).saturating_sub(self.reached.0 - from))
            }
            None => (old_start, growth),
        };
        let left = old_len - old_end;
        (left * grown / (old_end - from).max(1)).clamp(left / 2, left)
    }

    /// The new class, with its new constants and their number.
    pub(crate) fn finish(&mut self, class: &ClassFile<'_>, added: &[u8], count: u16) -> Vec<u8> {
        let (old, pool_end) = (class.bytes(), class.pool().end());
        let mut out = if self.reached.1 == self.bytes.len() {
            let mut out = std::mem::take(&mut self.bytes);
            let rest = old.get(self.reached.0..).unwrap_or_default();
            out.reserve_exact(rest.len() + added.len());
            out.extend_from_slice(rest);
            insert(&mut out, pool_end, added);
            out
        } else {
            self.put_together(old, pool_end, added)
        };
        if let Some(field) = out.get_mut(8..10) {
            field.copy_from_slice(&count.to_be_bytes());
        }
        out
    }

    /// The same from parts in any order.
    fn put_together(&mut self, old: &[u8], pool_end: usize, added: &[u8]) -> Vec<u8> {
        self.parts.sort_by_key(|part| part.old_start);
        let replaced: u32 = self.parts.iter().map(|part| part.old_end - part.old_start).sum();
        let new: usize = self.parts.iter().map(|part| (part.end - part.start) as usize).sum();
        let mut out = Vec::with_capacity(old.len() - replaced as usize + new + added.len());
        let between = |from: usize, to: usize| old.get(from..to).unwrap_or_default();
        out.extend_from_slice(between(0, pool_end));
        out.extend_from_slice(added);
        let mut copied = pool_end;
        for part in &self.parts {
            out.extend_from_slice(between(copied, part.old_start as usize));
            out.extend_from_slice(self.bytes.get(part.start as usize..part.end as usize).unwrap_or_default());
            copied = part.old_end as usize;
        }
        out.extend_from_slice(between(copied, old.len()));
        out
    }
}

/// Inserts bytes; [`Vec::splice`] would do so one by one.
fn insert(out: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let len = out.len();
    if bytes.is_empty() || at > len {
        return;
    }
    out.resize(len + bytes.len(), 0);
    out.copy_within(at..len, at + bytes.len());
    if let Some(place) = out.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

/// Makes room for some more bytes. Unlike [`Vec::reserve`] it does not double what is there already: a buffer that grows is
/// needed twice.
#[inline]
pub(crate) fn make_room(out: &mut Vec<u8>, bytes: usize) {
    if out.capacity() - out.len() < bytes {
        out.reserve_exact(bytes + bytes.max(out.len()) / 16);
    }
}
