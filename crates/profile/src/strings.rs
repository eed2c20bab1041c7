//! Interned strings: one buffer, 4 bytes per entry, ids that sort like the strings they name.

use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Index of a string in a profile's [`Strings`]. Id 0 is always the empty string.
pub type StrId = u32;

/// A table of distinct strings.
///
/// In a finished profile the table is sorted, so comparing two ids compares the strings.
#[derive(Clone, Debug)]
pub struct Strings {
    text: String,
    /// `ends[i]` is where string `i` ends in `text`; it starts where the one before ends.
    ends: Vec<u32>,
}

impl Default for Strings {
    fn default() -> Self {
        Strings { text: String::new(), ends: vec![0] }
    }
}

impl PartialEq for Strings {
    fn eq(&self, other: &Self) -> bool {
        self.ends == other.ends && self.text == other.text
    }
}
impl Eq for Strings {}

impl Strings {
    /// The string with this id.
    ///
    /// # Panics
    /// If the id is not from this table.
    pub fn get(&self, id: StrId) -> &str {
        let i = id as usize;
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.text[start..self.ends[i] as usize]
    }

    /// How many strings there are; at least one, the empty string.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True when only the empty string is there.
    pub fn is_empty(&self) -> bool {
        self.ends.len() == 1
    }

    /// Bytes of all strings together.
    pub(crate) fn text_len(&self) -> usize {
        self.text.len()
    }

    /// All strings, in id order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len() as u32).map(|id| self.get(id))
    }

    /// The id of `text` in a sorted table, that is, in any finished profile.
    pub fn find(&self, text: &str) -> Option<StrId> {
        let (mut low, mut high) = (0u32, self.len() as u32);
        while low < high {
            let mid = low + (high - low) / 2;
            match self.get(mid).cmp(text) {
                std::cmp::Ordering::Less => low = mid + 1,
                std::cmp::Ordering::Greater => high = mid,
                std::cmp::Ordering::Equal => return Some(mid),
            }
        }
        None
    }

    pub(crate) fn push(&mut self, text: &str) -> StrId {
        let id = self.ends.len() as StrId;
        self.text.push_str(text);
        let end = u32::try_from(self.text.len()).expect("less than 4 GiB of names");
        self.ends.push(end);
        id
    }

    /// Sorts the strings marked in `used` into a new table; the second result maps old ids to new ones.
    pub(crate) fn sorted(&self, used: &[bool]) -> (Strings, Vec<StrId>) {
        let mut order: Vec<StrId> = (1..self.len() as u32).filter(|&id| used[id as usize]).collect();
        order.sort_unstable_by(|&a, &b| self.get(a).cmp(self.get(b)));
        let mut table = Strings { text: String::with_capacity(self.text.len()), ..Strings::default() };
        let mut map = vec![0; self.len()];
        for id in order {
            map[id as usize] = table.push(self.get(id));
        }
        (table, map)
    }
}

/// A [`Strings`] that can find what it holds: id by hash, without a second copy of the text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interner {
    pub(crate) table: Strings,
    index: hashbrown::HashTable<StrId>,
}

fn hash(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

impl Interner {
    pub(crate) fn intern(&mut self, text: &str) -> StrId {
        if text.is_empty() {
            return 0;
        }
        let h = hash(text);
        if let Some(&id) = self.index.find(h, |&id| self.table.get(id) == text) {
            return id;
        }
        let id = self.table.push(text);
        let table = &self.table;
        self.index.insert_unique(h, id, |&id| hash(table.get(id)));
        id
    }

    /// Whichever of two strings sorts last: a choice that does not depend on the order of feeding.
    pub(crate) fn larger(&self, a: StrId, b: StrId) -> StrId {
        if self.table.get(a) >= self.table.get(b) { a } else { b }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interning_finds_what_it_holds() {
        let mut names = Interner::default();
        let b = names.intern("b");
        let a = names.intern("a");
        assert_eq!((names.intern("b"), names.intern("a"), names.intern("")), (b, a, 0));
        let (sorted, map) = names.table.sorted(&[true, true, true]);
        assert_eq!(sorted.iter().collect::<Vec<_>>(), ["", "a", "b"]);
        assert_eq!((map[a as usize], map[b as usize]), (1, 2));
        assert_eq!((sorted.find("b"), sorted.find(""), sorted.find("c")), (Some(2), Some(0), None));
    }
}
