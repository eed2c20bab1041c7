//! What samples and events are about, beside their context: a class of objects, a lock. Each is told to the arena once, and
//! has a number from then on.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use quipu_arena::record::Record;
use quipu_arena::writer::ArenaWriter;

use super::lost::{self, Cause};
use crate::locks::lock;

/// Details that are told at the most: with names of 60 bytes that takes 100 MB.
const MOST: usize = 1 << 20;

/// Kind, identity and name.
type Key = (u32, u64, Vec<u8>);

/// Those that have numbers.
#[derive(Default)]
struct Known {
    numbers: HashMap<Key, u32>,
    /// Numbers that were forgotten are not given again: the arena still has what they were told for.
    last: u32,
}

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// Another profile begins. What was told so far need not be told again, unless it is so much that there is no room for more.
pub fn begin() {
    lock(&KNOWN).make_room(MOST);
}

impl Known {
    fn make_room(&mut self, most: usize) {
        if self.numbers.len() > most / 2 {
            self.numbers = HashMap::new();
        }
    }

    /// The number of a detail; `None` if there are too many, or it cannot be told.
    fn number(&mut self, key: Key, most: usize, tell: impl FnOnce(u32) -> bool) -> Option<u32> {
        if let Some(&number) = self.numbers.get(&key) {
            return Some(number);
        }
        let number = self.last.checked_add(1)?;
        if self.numbers.len() >= most || !tell(number) {
            return None;
        }
        self.last = number;
        self.numbers.insert(key, number);
        Some(number)
    }
}

/// The number of a detail, if it has one.
pub fn known(kind: u32, name: &[u8], identity: u64) -> Option<u32> {
    lock(&KNOWN).numbers.get(&(kind, identity, name.to_vec())).copied()
}

/// The number of a detail: one of [`quipu_arena::layout::detail`], a name, and what tells apart those with the same name. 0,
/// which is none, if there are too many.
pub fn number(arena: &ArenaWriter, kind: u32, name: &[u8], identity: u64) -> u32 {
    let tell = |id| arena.log(&Record::Detail { id, kind, identity, name }).is_some();
    let number = lock(&KNOWN).number((kind, identity, name.to_vec()), MOST, tell);
    number.unwrap_or_else(|| {
        lost::count(arena, Cause::NoRoomForDetail);
        0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_that_used_up_all_numbers_leaves_room_for_the_next() {
        let mut known = Known::default();
        let mut number = |known: &mut Known, identity| known.number((1, identity, Vec::new()), 4, |_| true);
        let first: Vec<_> = (0..6).map(|identity| number(&mut known, identity)).collect();
        assert_eq!(first, [Some(1), Some(2), Some(3), Some(4), None, None]);
        known.make_room(4);
        assert_eq!([0, 9, 0].map(|identity| number(&mut known, identity)), [Some(5), Some(6), Some(5)]);
        // What there is room for stays.
        known.make_room(4);
        assert_eq!(number(&mut known, 9), Some(6));
    }
}
