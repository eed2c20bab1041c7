//! Varints and the one type that reads them with bounds checked.

use super::error::ReadError;

/// Appends a LEB128 integer: 7 bits per byte, low bits first.
#[inline]
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a length and the text.
pub(super) fn put_str(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// A cursor over one section's bytes. Every error names the section.
pub(super) struct Reader<'a> {
    section: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(section: &'a str, bytes: &'a [u8]) -> Reader<'a> {
        Reader { section, bytes, at: 0 }
    }

    pub(super) fn malformed(&self, what: impl Into<String>) -> ReadError {
        ReadError::Malformed { section: self.section.to_owned(), what: what.into() }
    }

    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64, ReadError> {
        // Most values are below 128: decide those with one look.
        if let Some(&byte) = self.bytes.get(self.at).filter(|&&byte| byte < 0x80) {
            self.at += 1;
            return Ok(u64::from(byte));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Result<u64, ReadError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.malformed(format!("a number at byte {} has more than 64 bits", self.at)))
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, ReadError> {
        let Some(&byte) = self.bytes.get(self.at) else {
            return Err(self.malformed("it ends too early"));
        };
        self.at += 1;
        Ok(byte)
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], ReadError> {
        let Some(bytes) = self.bytes[self.at..].get(..length) else {
            return Err(self.malformed("it ends too early"));
        };
        self.at += length;
        Ok(bytes)
    }

    /// A number of things that take at least one byte each: never more than there are bytes left.
    pub(super) fn count(&mut self) -> Result<usize, ReadError> {
        let count = self.varint()?;
        if count > (self.bytes.len() - self.at) as u64 {
            return Err(self.malformed(format!("it claims {count} entries and is too short for them")));
        }
        Ok(count as usize)
    }

    /// Refuses to go on unless so many bytes are left; asked before room for that many things is made.
    pub(super) fn at_least(&self, bytes: usize) -> Result<(), ReadError> {
        if bytes <= self.bytes.len() - self.at { Ok(()) } else { Err(self.malformed("it ends too early")) }
    }

    pub(super) fn u32(&mut self) -> Result<u32, ReadError> {
        let value = self.varint()?;
        u32::try_from(value).map_err(|_| self.malformed(format!("{value} is out of range")))
    }

    /// An index into a table of `length` entries.
    #[inline]
    pub(super) fn index(&mut self, length: usize) -> Result<u32, ReadError> {
        let value = self.varint()?;
        if value < length as u64 { Ok(value as u32) } else { Err(self.no_entry(value, length)) }
    }

    #[cold]
    fn no_entry(&self, value: u64, length: usize) -> ReadError {
        self.malformed(format!("entry {value} of a table of {length}"))
    }

    pub(super) fn text(&mut self) -> Result<&'a str, ReadError> {
        let length = self.count()?;
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).map_err(|_| self.malformed("text is not UTF-8"))
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        self.at = self.bytes.len();
        rest
    }

    /// Everything must have been read.
    pub(super) fn finish(self) -> Result<(), ReadError> {
        match self.bytes.len() - self.at {
            0 => Ok(()),
            left => Err(self.malformed(format!("{left} bytes too many"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_come_back() {
        let values = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX];
        let mut out = Vec::new();
        values.iter().for_each(|&value| put(&mut out, value));
        let mut reader = Reader::new("T", &out);
        values.iter().for_each(|&value| assert_eq!(reader.varint(), Ok(value)));
        reader.finish().unwrap();
    }

    #[test]
    fn overlong_and_short_numbers_are_refused() {
        assert!(Reader::new("T", &[0xff; 10]).varint().is_err());
        assert!(Reader::new("T", &[0xff; 9]).varint().is_err());
        assert!(Reader::new("T", &[5, 1]).count().is_err());
    }
}
