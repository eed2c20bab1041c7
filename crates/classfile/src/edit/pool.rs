//! Growing the constant pool: new entries go after the old ones, so every old index stays right.

use crate::error::EditError;
use crate::pool::{ConstantPool, tag};

const MAX_PROBES: usize = 64;

/// The pool of a class being edited: the old entries as they were, new ones appended, equal ones shared.
#[derive(Debug)]
pub struct PoolEditor<'c, 'a> {
    old: &'c ConstantPool<'a>,
    added: Vec<u8>,
    /// Offset in `added` of each new index, `u32::MAX` for the second slot of a long.
    offsets: Vec<u32>,
    /// Open addressing on the bytes of an entry; 0 is free. Built when first asked: many edits need no constant.
    index: Vec<u16>,
    /// The same for the old class entries only, by name: frames ask for little else.
    classes: Vec<u16>,
}

impl<'c, 'a> PoolEditor<'c, 'a> {
    pub(crate) fn new(old: &'c ConstantPool<'a>) -> Self {
        PoolEditor { old, added: Vec::new(), offsets: Vec::new(), index: Vec::new(), classes: Vec::new() }
    }

    /// The pool as it was.
    pub fn original(&self) -> &'c ConstantPool<'a> {
        self.old
    }

    /// Bytes of the new entries.
    pub(crate) fn added(&self) -> &[u8] {
        &self.added
    }

    /// `constant_pool_count` with the new entries.
    pub fn count(&self) -> u16 {
        u16::try_from(usize::from(self.old.count()) + self.offsets.len()).unwrap_or(u16::MAX)
    }

    fn raw(&self, index: u16) -> Option<&[u8]> {
        if index < self.old.count() {
            return self.old.raw(index);
        }
        let at = *self.offsets.get(usize::from(index - self.old.count()))? as usize;
        let rest = self.added.get(at..)?;
        let len = match *rest.first()? {
            tag::UTF8 => 3 + usize::from(crate::read::be16(rest, 1)?),
            tag::CLASS | tag::STRING => 3,
            tag::LONG | tag::DOUBLE => 9,
            _ => 5,
        };
        rest.get(..len)
    }

    /// Name of a class entry, old or new.
    pub(crate) fn class_name(&self, index: u16) -> Option<&[u8]> {
        match *self.raw(index)? {
            [tag::CLASS, hi, lo] => self.raw(u16::from_be_bytes([hi, lo]))?.get(3..),
            _ => None,
        }
    }

    fn insert(&mut self, index: u16, hash: usize) {
        let mask = self.index.len().wrapping_sub(1);
        let mut slot = hash & mask;
        // A class made to collide, or full of equal entries, only loses some sharing.
        for _ in 0..MAX_PROBES {
            match self.index.get_mut(slot) {
                Some(entry) if *entry == 0 => {
                    *entry = index;
                    return;
                }
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    #[cold]
    fn build_index(&mut self) {
        let entries = usize::from(self.count());
        self.index.clear();
        self.index.resize((entries * 2 + 64).next_power_of_two(), 0);
        for i in 1..self.count() {
            if let Some(hash) = self.raw(i).map(hash) {
                self.insert(i, hash);
            }
        }
    }

    /// Index of the entry with these bytes, added if it is not there.
    fn intern(&mut self, entry: &[u8]) -> Result<u16, EditError> {
        if self.index.len() < usize::from(self.count()) * 2 + 2 {
            self.build_index();
        }
        let hash = hash(entry);
        let mask = self.index.len().wrapping_sub(1);
        let mut slot = hash & mask;
        for _ in 0..MAX_PROBES {
            match self.index.get(slot) {
                None | Some(0) => break,
                Some(&found) if self.raw(found) == Some(entry) => return Ok(found),
                _ => slot = (slot + 1) & mask,
            }
        }
        let wide = matches!(entry.first(), Some(&(tag::LONG | tag::DOUBLE)));
        let index = self.count();
        if usize::from(index) + 1 + usize::from(wide) > 65_535 {
            return Err(EditError::PoolFull);
        }
        self.offsets.push(self.added.len() as u32);
        if wide {
            self.offsets.push(u32::MAX);
        }
        self.added.extend_from_slice(entry);
        self.insert(index, hash);
        Ok(index)
    }

    /// A modified UTF-8 string.
    pub fn utf8(&mut self, bytes: &[u8]) -> Result<u16, EditError> {
        let len = u16::try_from(bytes.len()).map_err(|_| EditError::PoolFull)?;
        let mut entry = Vec::with_capacity(bytes.len() + 3);
        entry.push(tag::UTF8);
        entry.extend(len.to_be_bytes());
        entry.extend_from_slice(bytes);
        self.intern(&entry)
    }

    fn one(&mut self, tag: u8, index: u16) -> Result<u16, EditError> {
        let [a, b] = index.to_be_bytes();
        self.intern(&[tag, a, b])
    }

    fn two(&mut self, tag: u8, first: u16, second: u16) -> Result<u16, EditError> {
        let ([a, b], [c, d]) = (first.to_be_bytes(), second.to_be_bytes());
        self.intern(&[tag, a, b, c, d])
    }

    /// A class by internal name, or an array class by descriptor.
    pub fn class(&mut self, name: &[u8]) -> Result<u16, EditError> {
        if self.classes.is_empty() {
            self.build_class_index();
        }
        let mask = self.classes.len().wrapping_sub(1);
        let mut slot = hash(name) & mask;
        for _ in 0..MAX_PROBES {
            match self.classes.get(slot) {
                None | Some(0) => break,
                Some(&found) if self.old.class_name(found) == Ok(name) => return Ok(found),
                _ => slot = (slot + 1) & mask,
            }
        }
        let name = self.utf8(name)?;
        self.one(tag::CLASS, name)
    }

    #[cold]
    fn build_class_index(&mut self) {
        let is_class = |i: &u16| self.old.tag(*i) == Some(tag::CLASS);
        let count = (1..self.old.count()).filter(is_class).count();
        let mut classes = vec![0; (count * 2 + 2).next_power_of_two()];
        let mask = classes.len() - 1;
        for i in (1..self.old.count()).filter(is_class) {
            let Ok(name) = self.old.class_name(i) else { continue };
            let mut slot = hash(name) & mask;
            for _ in 0..MAX_PROBES {
                match classes.get_mut(slot) {
                    Some(free) if *free == 0 => {
                        *free = i;
                        break;
                    }
                    _ => slot = (slot + 1) & mask,
                }
            }
        }
        self.classes = classes;
    }

    /// A string constant.
    pub fn string(&mut self, bytes: &[u8]) -> Result<u16, EditError> {
        let utf8 = self.utf8(bytes)?;
        self.one(tag::STRING, utf8)
    }

    /// A name and descriptor.
    pub fn name_and_type(&mut self, name: &[u8], descriptor: &[u8]) -> Result<u16, EditError> {
        let (name, descriptor) = (self.utf8(name)?, self.utf8(descriptor)?);
        self.two(tag::NAME_AND_TYPE, name, descriptor)
    }

    fn member(&mut self, tag: u8, owner: &[u8], name: &[u8], descriptor: &[u8]) -> Result<u16, EditError> {
        let (class, nat) = (self.class(owner)?, self.name_and_type(name, descriptor)?);
        self.two(tag, class, nat)
    }

    /// A field.
    pub fn field_ref(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> Result<u16, EditError> {
        self.member(tag::FIELD_REF, owner, name, descriptor)
    }

    /// A method of a class.
    pub fn method_ref(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> Result<u16, EditError> {
        self.member(tag::METHOD_REF, owner, name, descriptor)
    }

    /// A method of an interface.
    pub fn interface_method_ref(
        &mut self,
        owner: &[u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> Result<u16, EditError> {
        self.member(tag::INTERFACE_METHOD_REF, owner, name, descriptor)
    }

    /// An int constant.
    pub fn int(&mut self, value: i32) -> Result<u16, EditError> {
        let [a, b, c, d] = value.to_be_bytes();
        self.intern(&[tag::INTEGER, a, b, c, d])
    }

    /// A long constant.
    pub fn long(&mut self, value: i64) -> Result<u16, EditError> {
        let [a, b, c, d, e, f, g, h] = value.to_be_bytes();
        self.intern(&[tag::LONG, a, b, c, d, e, f, g, h])
    }
}

/// Multiply-xor over eight bytes at a time: entries are short and the table is thrown away with the class.
fn hash(bytes: &[u8]) -> usize {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut h = bytes.len() as u64;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let word = chunk.first_chunk::<8>().map_or(0, |c| u64::from_le_bytes(*c));
        h = (h ^ word).wrapping_mul(K).rotate_left(23);
    }
    let mut tail = [0u8; 8];
    for (to, from) in tail.iter_mut().zip(chunks.remainder()) {
        *to = *from;
    }
    h = (h ^ u64::from_le_bytes(tail)).wrapping_mul(K);
    (h ^ (h >> 32)) as usize
}
