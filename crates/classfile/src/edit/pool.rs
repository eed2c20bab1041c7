//! Growing the constant pool: new entries go after the old ones, so every old index stays right.

use crate::error::EditError;
use crate::pool::{ConstantPool, raw_size, tag};

const MAX_PROBES: usize = 64;
/// Bytes of the longest string that is looked for without allocating memory, tag and length included.
const SHORT: usize = 64;
/// A pool of fewer entries is searched, without an index.
const SMALL: usize = 48;

/// The pool of a class being edited: the old entries as they were, new ones appended, equal ones shared.
#[derive(Debug)]
pub struct PoolEditor<'c, 'a> {
    old: &'c ConstantPool<'a>,
    new: Box<NewEntries>,
}

/// Entries added to a pool, and what finds equal ones.
#[derive(Debug, Default)]
pub(crate) struct NewEntries {
    added: Vec<u8>,
    /// Offset in `added` of each new index, `u32::MAX` for the second slot of a long.
    offsets: Vec<u32>,
    /// Open addressing on the bytes of an entry; 0 is free. Built when first asked: many edits need no constant.
    index: Vec<u16>,
    /// Was any constant but a class asked for?
    is_asked: bool,
    /// The same for classes only, by name: frames ask for little else.
    classes: Vec<u16>,
}

impl NewEntries {
    /// Bytes kept for the next class.
    pub(crate) fn memory(&self) -> usize {
        self.added.capacity()
            + size_of::<u32>() * self.offsets.capacity()
            + size_of::<u16>() * (self.index.capacity() + self.classes.capacity())
    }
}

impl<'c, 'a> PoolEditor<'c, 'a> {
    /// `buffers` are what an earlier editor left.
    pub(crate) fn new(old: &'c ConstantPool<'a>, mut buffers: Box<NewEntries>) -> Self {
        buffers.added.clear();
        buffers.offsets.clear();
        buffers.index.clear();
        buffers.is_asked = false;
        buffers.classes.clear();
        PoolEditor { old, new: buffers }
    }

    /// Hands back the buffers.
    pub(crate) fn into_buffers(self) -> Box<NewEntries> {
        self.new
    }

    /// The pool as it was.
    pub fn original(&self) -> &'c ConstantPool<'a> {
        self.old
    }

    /// Bytes of the new entries.
    pub(crate) fn added(&self) -> &[u8] {
        &self.new.added
    }

    /// `constant_pool_count` with the new entries.
    pub fn count(&self) -> u16 {
        u16::try_from(usize::from(self.old.count()) + self.new.offsets.len()).unwrap_or(u16::MAX)
    }

    fn raw(&self, index: u16) -> Option<&[u8]> {
        if index < self.old.count() {
            return self.old.raw(index);
        }
        let at = *self.new.offsets.get(usize::from(index - self.old.count()))? as usize;
        let rest = self.new.added.get(at..)?;
        rest.get(..raw_size(rest)?)
    }

    /// Name of a class entry, old or new.
    pub(crate) fn class_name(&self, index: u16) -> Option<&[u8]> {
        match *self.raw(index)? {
            [tag::CLASS, hi, lo] => self.raw(u16::from_be_bytes([hi, lo]))?.get(3..),
            _ => None,
        }
    }

    #[cold]
    fn build_index(&mut self) {
        let mut index = std::mem::take(&mut self.new.index);
        index.clear();
        let size = (usize::from(self.count()) * 3 / 2 + 8).next_power_of_two();
        index.reserve_exact(size);
        index.resize(size, 0);
        for i in 1..self.count() {
            if let Some(entry) = self.raw(i) {
                insert(&mut index, hash(entry), i);
            }
        }
        self.new.index = index;
    }

    /// Index of the entry with these bytes, added if it is not there.
    fn intern(&mut self, entry: &[u8]) -> Result<u16, EditError> {
        self.new.is_asked = true;
        if usize::from(self.count()) < SMALL {
            let found = (1..self.count()).find(|&index| self.raw(index) == Some(entry));
            return found.map_or_else(|| self.append(&[entry]), Ok);
        }
        // A quarter stays free.
        if self.new.index.len() / 4 * 3 < usize::from(self.count()) + 1 {
            self.build_index();
        }
        let hash = hash(entry);
        if let Some(found) = find(&self.new.index, hash, |found| self.raw(found) == Some(entry)) {
            return Ok(found);
        }
        let index = self.append(&[entry])?;
        insert(&mut self.new.index, hash, index);
        Ok(index)
    }

    /// Adds an entry, whether or not there is an equal one.
    fn append(&mut self, entry: &[&[u8]]) -> Result<u16, EditError> {
        let wide = matches!(entry, [[tag::LONG | tag::DOUBLE, ..], ..]);
        let index = self.count();
        if usize::from(index) + 1 + usize::from(wide) > 65_535 {
            return Err(EditError::PoolFull);
        }
        self.new.offsets.push(self.new.added.len() as u32);
        if wide {
            self.new.offsets.push(u32::MAX);
        }
        entry.iter().for_each(|part| self.new.added.extend_from_slice(part));
        Ok(index)
    }

    /// A modified UTF-8 string.
    pub fn utf8(&mut self, bytes: &[u8]) -> Result<u16, EditError> {
        let [hi, lo] = u16::try_from(bytes.len()).map_err(|_| EditError::PoolFull)?.to_be_bytes();
        // Names are asked for again and again, and most are short: no memory is allocated to look for them.
        let mut short = [0; SHORT];
        if let Some(entry) = short.get_mut(..bytes.len() + 3)
            && let Some((head, text)) = entry.split_first_chunk_mut::<3>()
        {
            *head = [tag::UTF8, hi, lo];
            text.copy_from_slice(bytes);
            return self.intern(entry);
        }
        self.intern(&[&[tag::UTF8, hi, lo], bytes].concat())
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
        if self.new.classes.is_empty() {
            self.build_class_index();
        }
        let hash = hash(name);
        if let Some(found) = find(&self.new.classes, hash, |found| self.class_name(found) == Some(name)) {
            return Ok(found);
        }
        // A caller that names no other constants saves the index of all of them: a string that is no class yet is hardly ever
        // the name of one.
        let class = if !self.new.is_asked {
            let [hi, lo] = u16::try_from(name.len()).map_err(|_| EditError::PoolFull)?.to_be_bytes();
            let utf8 = self.append(&[&[tag::UTF8, hi, lo], name])?.to_be_bytes();
            self.append(&[&[tag::CLASS], &utf8])?
        } else {
            let utf8 = self.utf8(name)?;
            self.one(tag::CLASS, utf8)?
        };
        insert(&mut self.new.classes, hash, class);
        Ok(class)
    }

    #[cold]
    fn build_class_index(&mut self) {
        // A pool has several other entries for each class; where it has not, some sharing is lost.
        let size = (usize::from(self.old.count()) / 3 + 8).next_power_of_two();
        self.new.classes.reserve_exact(size);
        self.new.classes.resize(size, 0);
        for class in self.old.classes() {
            if let Ok(name) = self.old.class_name(class) {
                insert(&mut self.new.classes, hash(name), class);
            }
        }
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

/// The entry of a table that `is_wanted`, among those with this hash.
#[inline]
fn find(table: &[u16], hash: usize, is_wanted: impl Fn(u16) -> bool) -> Option<u16> {
    let mask = table.len().wrapping_sub(1);
    let slots = (0..MAX_PROBES).map_while(|i| table.get((hash.wrapping_add(i)) & mask));
    slots.copied().take_while(|&found| found != 0).find(|&found| is_wanted(found))
}

/// Notes an entry. A class made to collide, or full of equal entries, only loses some sharing.
#[inline]
fn insert(table: &mut [u16], hash: usize, index: u16) {
    let mask = table.len().wrapping_sub(1);
    for i in 0..MAX_PROBES {
        match table.get_mut((hash.wrapping_add(i)) & mask) {
            Some(free) if *free == 0 => {
                *free = index;
                return;
            }
            _ => {}
        }
    }
}

/// Multiply-xor over the length and eight bytes each of the beginning, the middle and the end: that tells names apart,
/// entries are short, and the table is thrown away with the class.
fn hash(bytes: &[u8]) -> usize {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let word = |at: usize| {
        bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()).map_or(0, |word| u64::from_le_bytes(*word))
    };
    let mut h = bytes.len() as u64;
    if let Some(last) = bytes.len().checked_sub(8) {
        for at in [0, last / 2, last] {
            h = (h ^ word(at)).wrapping_mul(K).rotate_left(23);
        }
    } else {
        let short = bytes.iter().fold(0, |word, &b| (word << 8) | u64::from(b));
        h = (h ^ short).wrapping_mul(K);
    }
    (h ^ (h >> 32)) as usize
}
