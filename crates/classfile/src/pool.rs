//! The constant pool, read in place: one offset per entry, nothing decoded until asked for.

use crate::error::{Error, ErrorKind};
use crate::read::{be16, be32};

/// Tags of constant pool entries (JVMS §4.4).
#[allow(missing_docs)]
pub mod tag {
    pub const UTF8: u8 = 1;
    pub const INTEGER: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const LONG: u8 = 5;
    pub const DOUBLE: u8 = 6;
    pub const CLASS: u8 = 7;
    pub const STRING: u8 = 8;
    pub const FIELD_REF: u8 = 9;
    pub const METHOD_REF: u8 = 10;
    pub const INTERFACE_METHOD_REF: u8 = 11;
    pub const NAME_AND_TYPE: u8 = 12;
    pub const METHOD_HANDLE: u8 = 15;
    pub const METHOD_TYPE: u8 = 16;
    pub const DYNAMIC: u8 = 17;
    pub const INVOKE_DYNAMIC: u8 = 18;
    pub const MODULE: u8 = 19;
    pub const PACKAGE: u8 = 20;
}

/// A decoded constant pool entry; indices point back into the pool.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant<'a> {
    /// Modified UTF-8, as it stands in the file (lone surrogates and all).
    Utf8(&'a [u8]),
    Integer(i32),
    /// The bits of the float.
    Float(u32),
    Long(i64),
    /// The bits of the double.
    Double(u64),
    Class {
        name: u16,
    },
    String {
        utf8: u16,
    },
    FieldRef {
        class: u16,
        name_and_type: u16,
    },
    MethodRef {
        class: u16,
        name_and_type: u16,
    },
    InterfaceMethodRef {
        class: u16,
        name_and_type: u16,
    },
    NameAndType {
        name: u16,
        descriptor: u16,
    },
    MethodHandle {
        kind: u8,
        reference: u16,
    },
    MethodType {
        descriptor: u16,
    },
    Dynamic {
        bootstrap: u16,
        name_and_type: u16,
    },
    InvokeDynamic {
        bootstrap: u16,
        name_and_type: u16,
    },
    Module {
        name: u16,
    },
    Package {
        name: u16,
    },
}

/// A field or method named by an instruction. `owner` is empty for `invokedynamic` and dynamic constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberRef<'a> {
    /// Internal name of the class (`java/lang/String`, or an array descriptor).
    pub owner: &'a [u8],
    /// Member name.
    pub name: &'a [u8],
    /// Field or method descriptor.
    pub descriptor: &'a [u8],
}

/// Bytes of a long or double, the only entries that take two indices.
const LONG_SIZE: usize = 9;

/// Tags of entries of three bytes, a bit for each.
const THREE: u32 =
    1 << tag::CLASS | 1 << tag::STRING | 1 << tag::METHOD_TYPE | 1 << tag::MODULE | 1 << tag::PACKAGE;
/// Tags of entries of five bytes.
const FIVE: u32 = 1 << tag::INTEGER
    | 1 << tag::FLOAT
    | 1 << tag::FIELD_REF
    | 1 << tag::METHOD_REF
    | 1 << tag::INTERFACE_METHOD_REF
    | 1 << tag::NAME_AND_TYPE
    | 1 << tag::DYNAMIC
    | 1 << tag::INVOKE_DYNAMIC;

/// Bytes an entry takes, tag included; for a string without its text.
#[inline]
fn entry_size(tag: u8) -> Option<usize> {
    match tag {
        tag::UTF8 => Some(3),
        tag::METHOD_HANDLE => Some(4),
        tag::LONG | tag::DOUBLE => Some(LONG_SIZE),
        _ if tag >= 32 => None,
        _ if 1 << tag & THREE != 0 => Some(3),
        _ if 1 << tag & FIVE != 0 => Some(5),
        _ => None,
    }
}

/// The constant pool of a class file.
#[derive(Debug)]
pub struct ConstantPool<'a> {
    bytes: &'a [u8],
    /// Offset of each entry's tag byte; 0 for index 0 and for the slot after a long or double.
    offsets: Vec<u32>,
    end: usize,
}

impl<'a> ConstantPool<'a> {
    /// Reads the pool whose `constant_pool_count` is at offset 8 of the class.
    #[inline(never)]
    pub(crate) fn parse(bytes: &'a [u8], mut offsets: Vec<u32>) -> Result<Self, Error> {
        let truncated = |at: usize| Error::new(at, ErrorKind::Truncated);
        let count = usize::from(be16(bytes, 8).ok_or_else(|| truncated(8))?).max(1);
        // Every entry but a long's second slot takes three bytes or more.
        offsets.clear();
        offsets.reserve_exact(count.min(bytes.len() / 3 + 1));
        offsets.push(0);
        let mut at = 10;
        while offsets.len() < count {
            let Some(&[tag, hi, lo]) = bytes.get(at..).and_then(|rest| rest.first_chunk::<3>()) else {
                return Err(truncated(at));
            };
            offsets.push(at as u32);
            if tag == tag::UTF8 {
                at += 3 + usize::from(u16::from_be_bytes([hi, lo]));
                continue;
            }
            // Three or five bytes are what nearly all others take, and the step to the next one is what is waited for.
            if tag < 32 && 1 << tag & (THREE | FIVE) != 0 {
                at += 3 + 2 * usize::from(1 << tag & FIVE != 0);
                continue;
            }
            let size = entry_size(tag).ok_or_else(|| Error::new(at, ErrorKind::BadConstantTag(tag)))?;
            at += size;
            if size == LONG_SIZE {
                offsets.push(0);
            }
        }
        if at > bytes.len() {
            return Err(truncated(bytes.len()));
        }
        if offsets.len() > count {
            return Err(Error::malformed(at, "long constant past the end of the pool"));
        }
        Ok(ConstantPool { bytes, offsets, end: at })
    }

    /// Its memory.
    pub(crate) fn into_offsets(self) -> Vec<u32> {
        self.offsets
    }

    /// `constant_pool_count`: one more than the largest index.
    pub fn count(&self) -> u16 {
        u16::try_from(self.offsets.len()).unwrap_or(u16::MAX)
    }

    /// Offset in the class file of the first byte after the pool.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    #[cold]
    fn bad(&self, index: u16) -> Error {
        Error::new(self.offset(index).unwrap_or(0), ErrorKind::BadConstant(index))
    }

    #[inline]
    fn offset(&self, index: u16) -> Option<usize> {
        self.offsets.get(usize::from(index)).filter(|&&at| at != 0).map(|&at| at as usize)
    }

    /// Tag of an entry, if the index names one.
    #[inline]
    pub fn tag(&self, index: u16) -> Option<u8> {
        self.bytes.get(self.offset(index)?).copied()
    }

    /// The two 16-bit halves of the four bytes after the tag.
    #[inline]
    fn pair(&self, index: u16) -> Result<(u8, u16, u16), Error> {
        let read = || {
            let at = self.offset(index)?;
            Some((*self.bytes.get(at)?, be16(self.bytes, at + 1)?, be16(self.bytes, at + 3)?))
        };
        read().ok_or_else(|| self.bad(index))
    }

    #[inline]
    fn single(&self, index: u16, tag: u8) -> Result<u16, Error> {
        let read = || {
            let at = self.offset(index)?;
            if *self.bytes.get(at)? == tag { be16(self.bytes, at + 1) } else { None }
        };
        read().ok_or_else(|| self.bad(index))
    }

    /// A `CONSTANT_Utf8`'s bytes (modified UTF-8).
    #[inline]
    pub fn utf8(&self, index: u16) -> Result<&'a [u8], Error> {
        let read = || {
            let at = self.offset(index)?;
            if *self.bytes.get(at)? != tag::UTF8 {
                return None;
            }
            let len = usize::from(be16(self.bytes, at + 1)?);
            self.bytes.get(at + 3..)?.get(..len)
        };
        read().ok_or_else(|| self.bad(index))
    }

    /// Fails if the entry is not a `CONSTANT_Utf8`.
    #[inline]
    pub(crate) fn check_utf8(&self, index: u16) -> Result<(), Error> {
        match self.tag(index) {
            Some(tag::UTF8) => Ok(()),
            _ => Err(self.bad(index)),
        }
    }

    /// Indices of all classes.
    pub(crate) fn classes(&self) -> impl Iterator<Item = u16> + '_ {
        let entries = self.offsets.iter().zip(0..);
        entries.filter(|(at, _)| self.bytes.get(**at as usize) == Some(&tag::CLASS)).map(|(_, index)| index)
    }

    /// Internal name of a `CONSTANT_Class`.
    pub fn class_name(&self, index: u16) -> Result<&'a [u8], Error> {
        self.utf8(self.single(index, tag::CLASS)?)
    }

    /// Name and descriptor of a `CONSTANT_NameAndType`.
    pub fn name_and_type(&self, index: u16) -> Result<(&'a [u8], &'a [u8]), Error> {
        match self.pair(index)? {
            (tag::NAME_AND_TYPE, name, descriptor) => Ok((self.utf8(name)?, self.utf8(descriptor)?)),
            _ => Err(self.bad(index)),
        }
    }

    /// The descriptor's index in what a field, method or dynamic reference names.
    pub(crate) fn member_descriptor_index(&self, index: u16) -> Result<u16, Error> {
        let (_, _, nat) = self.pair(index)?;
        match self.pair(nat)? {
            (tag::NAME_AND_TYPE, _, descriptor) => Ok(descriptor),
            _ => Err(self.bad(nat)),
        }
    }

    /// What a field, method, interface method, dynamic or invokedynamic entry refers to.
    pub fn member(&self, index: u16) -> Result<MemberRef<'a>, Error> {
        let (tag, first, nat) = self.pair(index)?;
        let owner = match tag {
            tag::FIELD_REF | tag::METHOD_REF | tag::INTERFACE_METHOD_REF => self.class_name(first)?,
            tag::DYNAMIC | tag::INVOKE_DYNAMIC => b"",
            _ => return Err(self.bad(index)),
        };
        let (name, descriptor) = self.name_and_type(nat)?;
        Ok(MemberRef { owner, name, descriptor })
    }

    /// Any entry, decoded one level deep.
    pub fn get(&self, index: u16) -> Result<Constant<'a>, Error> {
        let at = self.offset(index).ok_or_else(|| self.bad(index))?;
        let b2 = |o: usize| be16(self.bytes, at + o).ok_or_else(|| self.bad(index));
        let b4 = |o: usize| be32(self.bytes, at + o).ok_or_else(|| self.bad(index));
        let b8 = || Ok((u64::from(b4(1)?) << 32) | u64::from(b4(5)?));
        Ok(match self.tag(index).unwrap_or(0) {
            tag::UTF8 => Constant::Utf8(self.utf8(index)?),
            tag::INTEGER => Constant::Integer(b4(1)?.cast_signed()),
            tag::FLOAT => Constant::Float(b4(1)?),
            tag::LONG => Constant::Long(b8()?.cast_signed()),
            tag::DOUBLE => Constant::Double(b8()?),
            tag::CLASS => Constant::Class { name: b2(1)? },
            tag::STRING => Constant::String { utf8: b2(1)? },
            tag::FIELD_REF => Constant::FieldRef { class: b2(1)?, name_and_type: b2(3)? },
            tag::METHOD_REF => Constant::MethodRef { class: b2(1)?, name_and_type: b2(3)? },
            tag::INTERFACE_METHOD_REF => {
                Constant::InterfaceMethodRef { class: b2(1)?, name_and_type: b2(3)? }
            }
            tag::NAME_AND_TYPE => Constant::NameAndType { name: b2(1)?, descriptor: b2(3)? },
            tag::METHOD_HANDLE => Constant::MethodHandle {
                kind: self.bytes.get(at + 1).copied().ok_or_else(|| self.bad(index))?,
                reference: b2(2)?,
            },
            tag::METHOD_TYPE => Constant::MethodType { descriptor: b2(1)? },
            tag::DYNAMIC => Constant::Dynamic { bootstrap: b2(1)?, name_and_type: b2(3)? },
            tag::INVOKE_DYNAMIC => Constant::InvokeDynamic { bootstrap: b2(1)?, name_and_type: b2(3)? },
            tag::MODULE => Constant::Module { name: b2(1)? },
            tag::PACKAGE => Constant::Package { name: b2(1)? },
            _ => return Err(self.bad(index)),
        })
    }

    /// The entry's bytes, tag included.
    pub(crate) fn raw(&self, index: u16) -> Option<&'a [u8]> {
        let at = self.offset(index)?;
        let rest = self.bytes.get(at..)?;
        rest.get(..raw_size(rest)?)
    }
}

/// Bytes taken by the entry that `bytes` begin with.
pub(crate) fn raw_size(bytes: &[u8]) -> Option<usize> {
    let tag = *bytes.first()?;
    let text = if tag == tag::UTF8 { usize::from(be16(bytes, 1)?) } else { 0 };
    Some(entry_size(tag)? + text)
}
