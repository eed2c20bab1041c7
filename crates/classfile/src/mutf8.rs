//! Modified UTF-8, the encoding of class files, JNI and JVMTI: NUL is two bytes, and a character outside the basic
//! plane is two surrogates of three bytes each. Surrogates may also stand alone.

use std::ffi::CString;

/// Encodes for the VM. The result has no NUL inside, so it always makes a C string.
pub fn encode(text: &str) -> CString {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match u32::from(c) {
            0 => bytes.extend([0xC0, 0x80]),
            0x1_0000.. => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    bytes.extend(three_bytes(*unit));
                }
            }
            _ => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    // No byte above can be NUL, so nothing is ever lost here.
    CString::new(bytes).unwrap_or_default()
}

/// Decodes what the VM gave; what is not modified UTF-8, or is half a character, becomes U+FFFD.
pub fn decode(bytes: &[u8]) -> String {
    if bytes.is_ascii() {
        return bytes.iter().map(|&byte| char::from(byte)).collect();
    }
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        let (unit, after) = match (first, tail) {
            (0..=0x7F, after) => (u16::from(*first), after),
            (0xC0..=0xDF, [b @ 0x80..=0xBF, after @ ..]) => {
                (u16::from(first & 0x1F) << 6 | u16::from(b & 0x3F), after)
            }
            (0xE0..=0xEF, [b @ 0x80..=0xBF, c @ 0x80..=0xBF, after @ ..]) => {
                let high = u16::from(first & 0x0F) << 12 | u16::from(b & 0x3F) << 6;
                (high | u16::from(c & 0x3F), after)
            }
            (_, after) => (0xFFFD, after),
        };
        units.push(unit);
        rest = after;
    }
    String::from_utf16_lossy(&units)
}

fn three_bytes(unit: u16) -> [u8; 3] {
    let [high, low] = unit.to_be_bytes();
    [0xE0 | high >> 4, 0x80 | (high & 0x0F) << 2 | low >> 6, 0x80 | low & 0x3F]
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn round_trip() {
        for text in ["", "java/lang/Object", "a\0b", "Größe", "漢字", "a𝄞b", "\u{FFFF}"] {
            assert_eq!(decode(encode(text).as_bytes()), text);
        }
    }

    #[test]
    fn encodes_as_the_class_file_format_does() {
        assert_eq!(encode("\0").as_bytes(), [0xC0, 0x80]);
        assert_eq!(encode("𝄞").as_bytes(), [0xED, 0xA0, 0xB4, 0xED, 0xB4, 0x9E]);
    }

    #[test]
    fn bad_bytes_and_lone_surrogates_are_replaced() {
        assert_eq!(decode(&[b'a', 0xFF, b'b']), "a\u{FFFD}b");
        assert_eq!(decode(&[0xE2, 0x82]), "\u{FFFD}\u{FFFD}");
        assert_eq!(decode(&[0xED, 0xA0, 0xB4, b'x']), "\u{FFFD}x");
    }
}
