//! Bounds live here: every read of class-file bytes goes through these helpers.

use crate::error::{Error, ErrorKind};

/// Big-endian `u16` at `at`, if it is there.
#[inline]
pub(crate) fn be16(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..)?.first_chunk::<2>().map(|b| u16::from_be_bytes(*b))
}

/// Big-endian `u32` at `at`, if it is there.
#[inline]
pub(crate) fn be32(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..)?.first_chunk::<4>().map(|b| u32::from_be_bytes(*b))
}

/// A cursor over bytes; `base` is added to positions in errors only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    data: &'a [u8],
    pos: usize,
    base: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(data: &'a [u8], base: usize) -> Self {
        Reader { data, pos: 0, base }
    }

    #[inline]
    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    /// Position as errors have it.
    pub(crate) fn offset(&self) -> usize {
        self.base + self.pos
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pos >= self.data.len()
    }

    #[cold]
    pub(crate) fn truncated(&self) -> Error {
        Error::new(self.base + self.pos, ErrorKind::Truncated)
    }

    #[cold]
    pub(crate) fn malformed(&self, what: &'static str) -> Error {
        Error::malformed(self.base + self.pos, what)
    }

    #[inline]
    pub(crate) fn u1(&mut self) -> Result<u8, Error> {
        match self.data.get(self.pos) {
            Some(&b) => {
                self.pos += 1;
                Ok(b)
            }
            None => Err(self.truncated()),
        }
    }

    #[inline]
    pub(crate) fn u2(&mut self) -> Result<u16, Error> {
        match be16(self.data, self.pos) {
            Some(v) => {
                self.pos += 2;
                Ok(v)
            }
            None => Err(self.truncated()),
        }
    }

    #[inline]
    pub(crate) fn u4(&mut self) -> Result<u32, Error> {
        match be32(self.data, self.pos) {
            Some(v) => {
                self.pos += 4;
                Ok(v)
            }
            None => Err(self.truncated()),
        }
    }

    /// The next `N` bytes.
    #[inline]
    pub(crate) fn chunk<const N: usize>(&mut self) -> Result<&'a [u8; N], Error> {
        match self.data.get(self.pos..).and_then(|rest| rest.first_chunk()) {
            Some(bytes) => {
                self.pos += N;
                Ok(bytes)
            }
            None => Err(self.truncated()),
        }
    }

    #[inline]
    pub(crate) fn take(&mut self, n: usize) -> Result<&'a [u8], Error> {
        match self.data.get(self.pos..).and_then(|rest| rest.get(..n)) {
            Some(bytes) => {
                self.pos += n;
                Ok(bytes)
            }
            None => Err(self.truncated()),
        }
    }

    /// All that follows.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.data.get(self.pos..).unwrap_or_default()
    }

    pub(crate) fn remaining(&self) -> usize {
        self.rest().len()
    }
}
