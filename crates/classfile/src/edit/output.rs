//! The edited class as far as it is written.

use crate::class::ClassFile;

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
struct Part {
    old_start: usize,
    old_end: usize,
    start: usize,
    end: usize,
}

impl Output {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.parts.clear();
        self.reached = (0, 0);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Replaces a range of the old class by what `write` adds to the end of a buffer, unless that fails. That is expected to
    /// be `growth` bytes longer.
    pub(crate) fn replace<T, E>(
        &mut self,
        class: &ClassFile<'_>,
        old_start: usize,
        old_end: usize,
        growth: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<T, E>,
    ) -> Result<T, E> {
        let (copied, at) = self.reached;
        if at == self.bytes.len() && copied <= old_start {
            let old = class.bytes();
            // For all that is left, not only for the part.
            make_room(&mut self.bytes, old.len() - copied + growth);
            self.bytes.extend_from_slice(old.get(copied..old_start).unwrap_or_default());
            self.reached = (old_start, self.bytes.len());
        }
        let start = self.bytes.len();
        let written = write(&mut self.bytes);
        if written.is_err() {
            self.bytes.truncate(start);
            return written;
        }
        let end = self.bytes.len();
        if self.parts.last().is_some_and(|part| part.old_start >= old_start) {
            self.parts.retain(|part| part.old_start != old_start);
        }
        self.parts.push(Part { old_start, old_end, start, end });
        if self.reached == (old_start, start) {
            self.reached = (old_end, end);
        }
        written
    }

    /// The new class, with its new constants and their number.
    pub(crate) fn finish(&mut self, class: &ClassFile<'_>, added: &[u8], count: u16) -> Vec<u8> {
        let (old, pool_end) = (class.bytes(), class.pool().end());
        let mut out = if self.reached.1 == self.bytes.len() {
            let mut out = std::mem::take(&mut self.bytes);
            let rest = old.get(self.reached.0..).unwrap_or_default();
            out.reserve_exact(rest.len() + added.len());
            out.extend_from_slice(rest);
            if !added.is_empty() {
                out.splice(pool_end..pool_end, added.iter().copied());
            }
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
        let replaced: usize = self.parts.iter().map(|part| part.old_end - part.old_start).sum();
        let new: usize = self.parts.iter().map(|part| part.end - part.start).sum();
        let mut out = Vec::with_capacity(old.len() - replaced + new + added.len());
        let between = |from: usize, to: usize| old.get(from..to).unwrap_or_default();
        out.extend_from_slice(between(0, pool_end));
        out.extend_from_slice(added);
        let mut copied = pool_end;
        for part in &self.parts {
            out.extend_from_slice(between(copied, part.old_start));
            out.extend_from_slice(self.bytes.get(part.start..part.end).unwrap_or_default());
            copied = part.old_end;
        }
        out.extend_from_slice(between(copied, old.len()));
        out
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
