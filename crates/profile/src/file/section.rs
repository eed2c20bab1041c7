//! Sections: tag, codec, lengths, checksum, bytes. And the rule that keeps small files small in memory.

use super::error::ReadError;

/// How much larger than the file all its sections may be together, once expanded: `RATIO` × file + `FLOOR`.
///
/// Node columns of real programs compress 2 to 4 times. A profile that compresses better than the ratio (one method that
/// calls itself a million times) is padded by the writer, so the reader can hold every file to the rule.
const RATIO: u64 = 32;
const FLOOR: u64 = 1 << 20;

pub(super) const HEADER: usize = 28;
pub(super) const END: [u8; 4] = *b"END ";
pub(super) const PADDING: [u8; 4] = *b"PAD ";

const STORED: u8 = 0;
const DEFLATE: u8 = 1;

/// Deflate level. On the 5 million nodes of `examples/scale.rs`: level 1 packs 36.8 MB to 22.1 MB in 0.24 s, level 3 to
/// 19.5 MB in 0.80 s. docs/file-format.md compares other codecs.
const LEVEL: u8 = 1;

/// The most bytes that may come out of a file of this length.
pub(super) fn limit(file: usize) -> u64 {
    (file as u64).saturating_mul(RATIO).saturating_add(FLOOR)
}

/// Appends a section to a file.
pub(super) fn write(out: &mut Vec<u8>, tag: [u8; 4], raw: &[u8]) {
    let packed = pack(raw);
    append(out, tag, raw.len(), packed.as_deref(), raw);
}

/// The compressed form, when it is shorter.
pub(super) fn pack(raw: &[u8]) -> Option<Vec<u8>> {
    Some(miniz_oxide::deflate::compress_to_vec(raw, LEVEL)).filter(|packed| packed.len() < raw.len())
}

/// Appends a section that may have been packed elsewhere.
pub(super) fn append(out: &mut Vec<u8>, tag: [u8; 4], raw_len: usize, packed: Option<&[u8]>, raw: &[u8]) {
    let (codec, stored) = match packed {
        Some(packed) => (DEFLATE, packed),
        None => (STORED, raw),
    };
    let start = out.len();
    out.extend_from_slice(&tag);
    out.extend_from_slice(&[codec, 0, 0, 0]);
    out.extend_from_slice(&(raw_len as u64).to_le_bytes());
    out.extend_from_slice(&(stored.len() as u64).to_le_bytes());
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&out[start..]);
    checksum.update(stored);
    out.extend_from_slice(&checksum.finalize().to_le_bytes());
    out.extend_from_slice(stored);
}

/// Zeros that make a file long enough for what it expands to.
pub(super) fn pad(out: &mut Vec<u8>, expanded: u64) {
    let needed = (expanded.saturating_sub(FLOOR) / RATIO + 1) as usize;
    if out.len() < needed {
        let zeros = vec![0; needed - out.len()];
        append(out, PADDING, zeros.len(), None, &zeros);
    }
}

/// A section as it stands in the file.
pub(super) struct Section<'a> {
    pub(super) tag: [u8; 4],
    codec: u8,
    raw_len: u64,
    stored: &'a [u8],
}

/// The name of a tag in messages.
pub(super) fn name(tag: [u8; 4]) -> String {
    String::from_utf8_lossy(&tag).trim_end().escape_default().to_string()
}

/// All sections of a file up to the end mark, checksums verified, sizes held to the rule.
pub(super) fn split(bytes: &[u8], mut at: usize) -> Result<Vec<Section<'_>>, ReadError> {
    let truncated = || ReadError::Truncated { at: bytes.len() };
    let mut budget = limit(bytes.len());
    let mut sections = Vec::new();
    loop {
        let header = bytes[at..].get(..HEADER).ok_or_else(truncated)?;
        let field = |from: usize| u64::from_le_bytes(header[from..from + 8].try_into().expect("8 bytes"));
        let tag: [u8; 4] = header[..4].try_into().expect("4 bytes");
        let (raw_len, stored_len) = (field(8), field(16));
        let stored = usize::try_from(stored_len)
            .ok()
            .and_then(|length| bytes[at + HEADER..].get(..length))
            .ok_or_else(truncated)?;
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&header[..24]);
        checksum.update(stored);
        if checksum.finalize().to_le_bytes() != header[24..28] {
            return Err(ReadError::Checksum { section: name(tag), offset: at });
        }
        at += HEADER + stored.len();
        if tag == END {
            return match bytes.len() - at {
                0 => Ok(sections),
                left => {
                    Err(ReadError::Malformed { section: name(tag), what: format!("{left} bytes follow it") })
                }
            };
        }
        if tag == PADDING {
            continue;
        }
        budget = budget
            .checked_sub(raw_len)
            .ok_or_else(|| ReadError::TooLarge { section: name(tag), bytes: raw_len })?;
        sections.push(Section { tag, codec: header[4], raw_len, stored });
    }
}

impl Section<'_> {
    /// The expanded bytes.
    pub(super) fn unpack(&self) -> Result<Vec<u8>, ReadError> {
        let malformed = |what: &str| ReadError::Malformed { section: name(self.tag), what: what.to_owned() };
        let raw = match self.codec {
            STORED => self.stored.to_vec(),
            DEFLATE => miniz_oxide::inflate::decompress_to_vec_with_limit(self.stored, self.raw_len as usize)
                .map_err(|_| malformed("it does not decompress"))?,
            other => return Err(malformed(&format!("unknown compression {other}"))),
        };
        if raw.len() as u64 == self.raw_len { Ok(raw) } else { Err(malformed("its length is wrong")) }
    }
}
