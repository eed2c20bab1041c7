//! The Java runtime's classes, which the agent carries: packed, because it is mapped into somebody else's process.
//!
//! They are one block of LZ4 (`build/pack.rs` writes it), which is half their size and unpacked in less time than the VM takes
//! to define one of them. What is unpacked is given back as soon as the VM has it.

use std::ffi::CStr;

include!(concat!(env!("OUT_DIR"), "/classes.rs"));

/// Classes that are defined together, in the order in which they can be.
pub struct Group {
    /// Their names, and how long they are.
    classes: &'static [(&'static CStr, usize)],
    /// Where they begin in what is unpacked.
    begin: usize,
}

impl Group {
    /// The classes.
    pub fn unpack(&self) -> Vec<(&'static CStr, Vec<u8>)> {
        let end = self.begin + self.classes.iter().map(|(_, length)| length).sum::<usize>();
        let unpacked = unpack(PACKED, end);
        let mut left = unpacked.get(self.begin..).unwrap_or_default();
        let class = |&(name, length)| {
            let (class, rest) = left.split_at_checked(length)?;
            left = rest;
            Some((name, class.to_vec()))
        };
        self.classes.iter().map_while(class).collect()
    }
}

/// What a block of LZ4 says, up to an end or to what is no more such a block.
fn unpack(packed: &[u8], end: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(end);
    let mut packed = packed.iter().copied();
    while out.len() < end && sequence(&mut packed, &mut out).is_some() {}
    out
}

/// Bytes as they are, then some that were there before.
fn sequence(packed: &mut std::iter::Copied<std::slice::Iter<'_, u8>>, out: &mut Vec<u8>) -> Option<()> {
    let lengths = packed.next()?;
    for _ in 0..length(lengths >> 4, packed)? {
        out.push(packed.next()?);
    }
    let distance = u16::from_le_bytes([packed.next()?, packed.next()?]);
    let from = out.len().checked_sub(usize::from(distance))?;
    // What is repeated may reach into itself.
    for at in from..from + length(lengths & 15, packed)? + 4 {
        out.push(*out.get(at)?);
    }
    Some(())
}

/// A length that four bits begin.
fn length(bits: u8, packed: &mut impl Iterator<Item = u8>) -> Option<usize> {
    let mut length = usize::from(bits);
    let mut more = bits == 15;
    while more {
        let byte = packed.next()?;
        length += usize::from(byte);
        more = byte == 255;
    }
    Some(length)
}

#[cfg(test)]
#[path = "../build/pack.rs"]
mod pack;

#[cfg(test)]
mod tests {
    use quipu_classfile::ClassFile;

    use super::*;

    #[test]
    fn what_was_packed_is_unpacked() {
        let mut random = 1u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 24) as u8
        })
        .take(100_000)
        .collect();
        let text = b"is repeated, ".repeat(10_000);
        let far = [&noise[..], &text, &noise, &noise[..500]].concat();
        for data in [&[][..], &[7], &[7; 19], &[7; 5000], &noise[..300], &text, &far] {
            assert!(unpack(&pack::pack(data), data.len()) == data, "{} bytes", data.len());
        }
        assert!(pack::pack(&text).len() < 1000);
    }

    #[test]
    fn every_group_has_the_classes_that_it_names() {
        for group in ALL {
            let classes = group.unpack();
            assert_eq!(classes.len(), group.classes.len());
            for (name, bytes) in classes {
                assert_eq!(ClassFile::parse(&bytes).unwrap().name(), name.to_bytes());
            }
        }
    }

    #[test]
    fn what_is_no_block_ends() {
        for broken in [&[0xff][..], &[0xff, 0xff, 0xff], &[0x10, 1, 9, 0], &[0x0f, 0, 0], &[0x00, 0, 0]] {
            assert!(unpack(broken, 1 << 20).len() <= 1);
        }
        // A distance of nothing, a length that does not end.
        let packed = pack::pack(&b"0123456789".repeat(50));
        for cut in 0..packed.len() {
            assert!(unpack(&packed[..cut], 500).len() <= 500);
        }
    }
}
