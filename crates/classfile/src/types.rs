//! Verification types: one at a time, and lists of them as they stand in stack map frames.

use crate::descriptor;
use crate::edit::PoolEditor;
use crate::error::{EditError, Error};
use crate::read::Reader;

/// A verification type as the verifier's tables hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VType {
    pub(crate) tag: u8,
    pub(crate) data: u32,
}

pub(crate) const TOP: u8 = 0;
pub(crate) const INTEGER: u8 = 1;
pub(crate) const FLOAT: u8 = 2;
pub(crate) const DOUBLE: u8 = 3;
pub(crate) const LONG: u8 = 4;
pub(crate) const NULL: u8 = 5;
pub(crate) const UNINITIALIZED_THIS: u8 = 6;
pub(crate) const OBJECT: u8 = 7;
/// `data` is the old position of the `new` instruction.
pub(crate) const UNINITIALIZED: u8 = 8;
/// Not in files: an object type named by the descriptor at (pool index, offset), given a class entry when written.
pub(crate) const DESCRIBED: u8 = 9;
/// Not in files: the second slot of a long or double, where values are kept by slot.
pub(crate) const SECOND: u8 = 10;

impl VType {
    pub(crate) const fn new(tag: u8, data: u32) -> Self {
        VType { tag, data }
    }

    pub(crate) const fn plain(tag: u8) -> Self {
        VType { tag, data: 0 }
    }

    #[inline]
    pub(crate) fn slots(self) -> usize {
        slots_of(self.tag)
    }

    /// The type described at `offset` of the descriptor with pool index `utf8`.
    pub(crate) fn described(descriptor: &[u8], utf8: u16, offset: usize) -> Option<Self> {
        Some(match descriptor.get(offset)? {
            b'B' | b'C' | b'S' | b'Z' | b'I' => VType::plain(INTEGER),
            b'F' => VType::plain(FLOAT),
            b'J' => VType::plain(LONG),
            b'D' => VType::plain(DOUBLE),
            b'L' | b'[' => VType::new(DESCRIBED, (u32::from(utf8) << 16) | u32::try_from(offset).ok()?),
            _ => return None,
        })
    }

    /// A type that can be written: described types get a class entry.
    pub(crate) fn resolved(self, pool: &mut PoolEditor<'_, '_>) -> Result<Self, EditError> {
        if self.tag != DESCRIBED {
            return Ok(self);
        }
        let text = pool.original().utf8((self.data >> 16) as u16)?;
        let bad = || EditError::Malformed(Error::malformed(0, "bad descriptor"));
        let rest = text.get((self.data & 0xffff) as usize..).ok_or_else(bad)?;
        let (len, _) = descriptor::field_at(rest).ok_or_else(bad)?;
        let name = if rest.first() == Some(&b'L') { rest.get(1..len - 1) } else { rest.get(..len) };
        Ok(VType::new(OBJECT, u32::from(pool.class(name.ok_or_else(bad)?)?)))
    }
}

#[inline]
fn slots_of(tag: u8) -> usize {
    if matches!(tag, LONG | DOUBLE) { 2 } else { 1 }
}

/// Is a type of this kind followed by two bytes?
#[inline]
fn has_data(tag: u8) -> bool {
    matches!(tag, OBJECT | UNINITIALIZED | DESCRIBED)
}

/// Types in a frame, where they stand in the class file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TypeList<'x> {
    pub(crate) bytes: &'x [u8],
    pub(crate) count: usize,
    slots: usize,
    pub(crate) has_uninitialized: bool,
}

impl<'x> TypeList<'x> {
    /// The next `count` types.
    #[inline(always)]
    pub(crate) fn read(r: &mut Reader<'x>, count: u16) -> Result<Self, Error> {
        let mut ahead = *r;
        let (mut slots, mut has_uninitialized) = (0, false);
        for _ in 0..count {
            let tag = ahead.u1()?;
            slots += slots_of(tag);
            if tag > UNINITIALIZED_THIS {
                if tag > UNINITIALIZED {
                    return Err(ahead.malformed("unknown verification type"));
                }
                has_uninitialized |= tag == UNINITIALIZED;
                ahead.u2()?;
            }
        }
        let bytes = r.take(ahead.pos() - r.pos())?;
        Ok(TypeList { bytes, count: count.into(), slots, has_uninitialized })
    }

    /// One type, given as its bytes.
    pub(crate) fn one(bytes: &'x [u8; 3]) -> Self {
        TypeList { bytes, count: 1, slots: 1, has_uninitialized: false }
    }

    /// What is written of the list after its first bytes; the counts stay those of the whole.
    pub(crate) fn skip_bytes(self, bytes: usize) -> Self {
        TypeList { bytes: self.bytes.get(bytes..).unwrap_or_default(), ..self }
    }

    /// The types one by one.
    pub(crate) fn iter(&self) -> impl Iterator<Item = VType> + use<'x> {
        decode(self.bytes, 0)
    }
}

/// A list of types that can be changed, in the form in which it will be written. What is not in that form yet has the
/// same length: `Uninitialized` with its old position, and [`DESCRIBED`] with an offset in a descriptor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Types {
    bytes: Vec<u8>,
    count: usize,
    slots: usize,
    has_uninitialized: bool,
    /// Pool index of the descriptor that described types are in; 0 if there are none.
    descriptor: u16,
}

impl Types {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        (self.count, self.slots, self.has_uninitialized, self.descriptor) = (0, 0, false, 0);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Number of types.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Slots they take.
    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    /// Makes this a copy of another list.
    pub(crate) fn copy_from(&mut self, other: &Types) {
        self.clear();
        self.extend(other.as_list());
        self.descriptor = other.descriptor;
    }

    /// Adds types that are all in their final form.
    #[inline]
    pub(crate) fn extend(&mut self, list: TypeList<'_>) {
        self.bytes.extend_from_slice(list.bytes);
        self.count += list.count;
        self.slots += list.slots;
        self.has_uninitialized |= list.has_uninitialized;
    }

    /// Adds a type. Described types of a list must all be in the same descriptor.
    pub(crate) fn push(&mut self, t: VType) {
        self.bytes.push(t.tag);
        if has_data(t.tag) {
            self.bytes.extend((t.data as u16).to_be_bytes());
        }
        if t.tag == DESCRIBED {
            self.descriptor = (t.data >> 16) as u16;
        }
        self.has_uninitialized |= t.tag == UNINITIALIZED;
        self.count += 1;
        self.slots += t.slots();
    }

    /// Adds slots that hold nothing.
    pub(crate) fn pad(&mut self, slots: usize) {
        self.bytes.resize(self.bytes.len() + slots, TOP);
        self.count += slots;
        self.slots += slots;
    }

    /// Drops types from the end; `None` if there are not so many.
    pub(crate) fn chop(&mut self, gone: usize) -> Option<()> {
        let kept = self.count.checked_sub(gone)?;
        let (mut bytes, mut slots) = (0, 0);
        for t in self.iter().take(kept) {
            bytes += if has_data(t.tag) { 3 } else { 1 };
            slots += t.slots();
        }
        self.bytes.truncate(bytes);
        (self.count, self.slots) = (kept, slots);
        Some(())
    }

    /// Drops empty slots from the end.
    pub(crate) fn trim(&mut self) {
        // Data bytes may be zero as well, so the end cannot be looked at alone.
        let used = self.iter().zip(1..).filter(|(t, _)| t.tag != TOP).map(|(_, n)| n).last();
        let empty = self.count - used.unwrap_or(0);
        self.chop(empty);
    }

    /// The types one by one.
    pub(crate) fn iter(&self) -> impl Iterator<Item = VType> + '_ {
        decode(&self.bytes, self.descriptor)
    }

    /// The list as it will be written, but for described types.
    #[inline]
    pub(crate) fn as_list(&self) -> TypeList<'_> {
        TypeList {
            bytes: &self.bytes,
            count: self.count,
            slots: self.slots,
            has_uninitialized: self.has_uninitialized,
        }
    }

    /// Gives all described types their class entries if any of them is found from this byte on.
    pub(crate) fn resolve_from(
        &mut self,
        byte: usize,
        pool: &mut PoolEditor<'_, '_>,
    ) -> Result<(), EditError> {
        let wanted = self.bytes.get(byte..).unwrap_or_default();
        if self.descriptor == 0 || decode(wanted, 0).all(|t| t.tag != DESCRIBED) {
            return Ok(());
        }
        let descriptor = u32::from(self.descriptor) << 16;
        for_each_encoded(&mut self.bytes, |tag, data| {
            if *tag == DESCRIBED {
                let class = VType::new(DESCRIBED, descriptor | u32::from(*data)).resolved(pool)?;
                (*tag, *data) = (class.tag, class.data as u16);
            }
            Ok(())
        })?;
        self.descriptor = 0;
        Ok(())
    }

    /// Takes over the class entries of a list that begins with the same types.
    pub(crate) fn resolve_like(&mut self, list: &Types) {
        if self.descriptor != 0
            && list.descriptor == 0
            && let Some(same) = list.bytes.get(..self.bytes.len())
        {
            self.bytes.copy_from_slice(same);
            self.descriptor = 0;
        }
    }
}

fn decode(bytes: &[u8], descriptor: u16) -> impl Iterator<Item = VType> + use<'_> {
    let mut rest = bytes.iter();
    std::iter::from_fn(move || {
        let tag = *rest.next()?;
        if !has_data(tag) {
            return Some(VType::plain(tag));
        }
        let data = u32::from(u16::from_be_bytes([*rest.next()?, *rest.next()?]));
        let outer = if tag == DESCRIBED { u32::from(descriptor) << 16 } else { 0 };
        Some(VType::new(tag, outer | data))
    })
}

/// Calls `f` with the tag and data of every encoded type that has data, and writes back what `f` makes of them.
pub(crate) fn for_each_encoded(
    mut bytes: &mut [u8],
    mut f: impl FnMut(&mut u8, &mut u16) -> Result<(), EditError>,
) -> Result<(), EditError> {
    while let Some((tag, rest)) = bytes.split_first_mut() {
        bytes = rest;
        if has_data(*tag) {
            let Some((field, rest)) = bytes.split_first_chunk_mut::<2>() else { break };
            let mut data = u16::from_be_bytes(*field);
            f(tag, &mut data)?;
            *field = data.to_be_bytes();
            bytes = rest;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_count_of_types_and_slots() {
        let mut types = Types::default();
        for t in [VType::new(OBJECT, 0), VType::plain(LONG), VType::plain(TOP), VType::new(OBJECT, 0x700)] {
            types.push(t);
        }
        types.pad(2);
        assert_eq!((types.len(), types.slots()), (6, 7));
        assert_eq!(types.as_list().bytes, [OBJECT, 0, 0, LONG, TOP, OBJECT, 7, 0, TOP, TOP]);
        types.trim();
        assert_eq!((types.len(), types.slots()), (4, 5));
        assert_eq!(types.chop(2), Some(()));
        assert_eq!(types.iter().collect::<Vec<_>>(), [VType::new(OBJECT, 0), VType::plain(LONG)]);
        assert_eq!(types.chop(3), None);
    }

    #[test]
    fn types_are_read_where_they_stand() {
        let table = [INTEGER, UNINITIALIZED, 0, 9, DOUBLE, DESCRIBED, 0, 0];
        let mut r = Reader::new(&table, 0);
        let list = TypeList::read(&mut r, 3).unwrap();
        assert_eq!((list.bytes, list.slots, list.has_uninitialized), (&table[..5], 4, true));
        // What only exists in memory is unknown in a file.
        assert!(TypeList::read(&mut r, 1).is_err());
    }
}
