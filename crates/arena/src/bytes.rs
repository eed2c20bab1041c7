//! Bounds-checked access to untrusted bytes.

/// A view of bytes that another process wrote. Every access is checked.
#[derive(Clone, Copy)]
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// Number of bytes.
    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `len` bytes at `at`.
    pub fn slice(&self, at: u64, len: u64) -> Option<&'a [u8]> {
        let start = usize::try_from(at).ok()?;
        let end = usize::try_from(at.checked_add(len)?).ok()?;
        self.0.get(start..end)
    }

    fn array<const N: usize>(&self, at: u64) -> Option<[u8; N]> {
        self.slice(at, N as u64)?.try_into().ok()
    }

    /// The byte at `at`.
    pub fn u8(&self, at: u64) -> Option<u8> {
        self.array::<1>(at).map(|[b]| b)
    }

    /// The 16-bit number at `at`.
    pub fn u16(&self, at: u64) -> Option<u16> {
        self.array(at).map(u16::from_ne_bytes)
    }

    /// The 32-bit number at `at`.
    pub fn u32(&self, at: u64) -> Option<u32> {
        self.array(at).map(u32::from_ne_bytes)
    }

    /// The 64-bit number at `at`.
    pub fn u64(&self, at: u64) -> Option<u64> {
        self.array(at).map(u64::from_ne_bytes)
    }
}

/// Reads one value after the other.
pub struct Reader<'a> {
    bytes: Bytes<'a>,
    at: u64,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes: Bytes(bytes), at: 0 }
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        let taken = self.bytes.slice(self.at, len)?;
        self.at += len;
        Some(taken)
    }

    /// The next 16-bit number.
    pub fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_ne_bytes)
    }

    /// The next 32-bit number.
    pub fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_ne_bytes)
    }

    /// The next 64-bit number.
    pub fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_ne_bytes)
    }

    /// A string: its length in 32 bits, then its bytes (the JVM's modified UTF-8).
    pub fn string(&mut self) -> Option<&'a [u8]> {
        let len = self.u32()?;
        self.take(len.into())
    }

    /// What has not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.slice(self.at, self.bytes.len() - self.at).unwrap_or_default()
    }
}
