//! Writing code into a buffer whose size is known: positions are counted, bounds are checked once per piece.

/// Pieces of code are short. They are copied this many bytes at a time, also past their end, where the next piece
/// overwrites the excess; buffers that are written or read this way have as many bytes to spare.
pub(crate) const SPARE: usize = 32;

/// A position in a buffer that only moves forward. What does not fit is counted but not written.
#[derive(Debug)]
pub(crate) struct Pen<'x> {
    to: &'x mut [u8],
    at: usize,
}

impl<'x> Pen<'x> {
    /// Writes to the start of `to`.
    pub(crate) fn new(to: &'x mut [u8]) -> Self {
        Pen { to, at: 0 }
    }

    /// Bytes written.
    #[inline]
    pub(crate) fn position(&self) -> u32 {
        self.at as u32
    }

    /// Writes a few bytes.
    #[inline]
    pub(crate) fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        if let Some(to) = self.to.get_mut(self.at..).and_then(|to| to.first_chunk_mut()) {
            *to = bytes;
        }
        self.at += N;
    }

    /// Goes back to the start.
    pub(crate) fn restart(&mut self) {
        self.at = 0;
    }

    /// Writes over what is at a position.
    #[inline]
    pub(crate) fn patch<const N: usize>(&mut self, at: u32, bytes: [u8; N]) {
        if let Some(to) = self.to.get_mut(at as usize..).and_then(|to| to.first_chunk_mut()) {
            *to = bytes;
        }
    }

    /// Writes the first `len` bytes.
    #[inline]
    pub(crate) fn put_some<const N: usize>(&mut self, bytes: [u8; N], len: u16) {
        let at = self.at;
        self.put(bytes);
        self.at = at + usize::from(len);
    }

    /// Copies `source[from..end]`.
    #[inline]
    pub(crate) fn copy(&mut self, source: &[u8], from: usize, end: usize) {
        let mut done = 0;
        while from + done < end {
            let piece = source.get(from + done..).and_then(|s| s.first_chunk::<SPARE>());
            let place = self.to.get_mut(self.at + done..).and_then(|t| t.first_chunk_mut::<SPARE>());
            match (piece, place) {
                (Some(piece), Some(place)) => *place = *piece,
                _ => {
                    self.copy_last(source, from + done, end, done);
                    break;
                }
            }
            done += SPARE;
        }
        self.at += end.saturating_sub(from);
    }

    /// The rest of a piece at the end of a buffer without bytes to spare.
    #[cold]
    fn copy_last(&mut self, source: &[u8], from: usize, end: usize, done: usize) {
        let piece = source.get(from..end).unwrap_or_default();
        if let Some(place) = self.to.get_mut(self.at + done..self.at + done + piece.len()) {
            place.copy_from_slice(piece);
        }
    }
}
