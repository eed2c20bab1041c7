//! How large objects were in the VM.
//!
//! A dump has the values of fields, not the sizes of objects: whether references had 4 or 8 bytes and headers 8, 12 or 16 is
//! not written in it. But the ids of objects are their addresses. Where one object follows another in memory, the
//! distance is the first one's size, so the distances tell which of the layouts that HotSpot knows it was.

use crate::record::Kind;
use crate::source::IdSize;

/// A layout of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Bytes before the first field.
    pub header: u64,
    /// Bytes of a reference.
    pub reference: u64,
    /// Sizes are multiples of this.
    pub alignment: u64,
}

/// The layouts of 64-bit VMs, the most common first: compressed references and classes, compressed classes only, neither;
/// then those with compact headers (JDK 24 and later), and with a larger alignment (heaps of more than 32 GB).
pub(crate) const LAYOUTS: [Layout; 7] = [
    Layout { header: 12, reference: 4, alignment: 8 },
    Layout { header: 12, reference: 8, alignment: 8 },
    Layout { header: 16, reference: 8, alignment: 8 },
    Layout { header: 8, reference: 4, alignment: 8 },
    Layout { header: 8, reference: 8, alignment: 8 },
    Layout { header: 16, reference: 4, alignment: 8 },
    Layout { header: 12, reference: 4, alignment: 16 },
];

/// Compact headers look like those of 32-bit VMs.
const OF_32_BITS: usize = 3;

/// How often each layout explained a distance.
pub(crate) type Votes = [u64; LAYOUTS.len()];

impl Layout {
    /// The place in [`LAYOUTS`] of the layout that explains most.
    pub(crate) fn of(ids: IdSize, votes: &Votes) -> usize {
        if ids == IdSize::Four {
            return OF_32_BITS;
        }
        let most = votes.iter().max().copied().unwrap_or(0);
        votes.iter().position(|&count| count == most).unwrap_or(0)
    }

    /// The size of an array.
    pub fn array(&self, kind: Kind, length: u64) -> u64 {
        let element = kind.bytes(self.reference as usize) as u64;
        // The length stands behind the header; elements are aligned, to words at least where headers are not compact.
        let begin = match self.header {
            16 => 24,
            header => (header + 4).next_multiple_of(element.max(4)),
        };
        (begin + element * length).next_multiple_of(self.alignment)
    }

    /// The least size of an instance with these fields.
    pub fn instance(&self, fields: impl Iterator<Item = Kind>) -> u64 {
        let fields: u64 = fields.map(|kind| kind.bytes(self.reference as usize) as u64).sum();
        (self.header + fields).next_multiple_of(self.alignment)
    }

    /// The size of an instance, where the least distance to the next object is known: holes between fields, and fields
    /// that the VM adds, are not in the dump, and make it one unit larger at most.
    pub(crate) fn corrected(&self, least: u64, distance: u64) -> u64 {
        if distance == least + self.alignment { distance } else { least }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_hotspot() {
        let [compressed, long, plain, compact, ..] = LAYOUTS;
        assert_eq!(compressed.instance([Kind::Int, Kind::Byte, Kind::Object].into_iter()), 24);
        assert_eq!(compressed.array(Kind::Byte, 0), 16);
        assert_eq!(compressed.array(Kind::Byte, 9), 32);
        assert_eq!(compressed.array(Kind::Object, 3), 32);
        assert_eq!(long.array(Kind::Object, 3), 40);
        assert_eq!(plain.array(Kind::Object, 1), 32);
        assert_eq!(compact.array(Kind::Byte, 4), 16);
        assert_eq!(compact.array(Kind::Long, 1), 24);
        assert_eq!(compact.instance([Kind::Int].into_iter()), 16);
    }

    #[test]
    fn what_explains_most_is_taken() {
        assert_eq!(Layout::of(IdSize::Eight, &[0; 7]), 0);
        assert_eq!(Layout::of(IdSize::Eight, &[3, 1, 9, 0, 0, 0, 0]), 2);
        assert_eq!(Layout::of(IdSize::Four, &[3, 1, 9, 0, 0, 0, 0]), OF_32_BITS);
    }
}
