//! What samples and events are about, beside their context: a class of objects, a lock. Each is told to the arena once, and
//! has a number from then on.
//!
//! Names of classes keep their numbers. Single objects, which have identities, are those of one profile: others come in the next, so
//! they are forgotten when it begins, and their numbers are given to others. So are names, if there may not be room for those that come.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use quipu_arena::record::Record;
use quipu_arena::writer::ArenaWriter;

use super::lost::{self, Cause};
use crate::locks::lock;

/// Details of one kind at the most, so that no kind takes the room of others: with names of 60 bytes that takes 25 MB.
const MOST: u32 = 1 << 18;

/// Identity and name.
type Key = (u64, Box<[u8]>);

/// Those that have numbers.
#[derive(Default)]
struct Known {
    /// By kind.
    numbers: HashMap<u32, HashMap<Key, u32>>,
    /// The last number that was given for the first time, and those that can be given again.
    last: u32,
    free: Vec<u32>,
}

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// Another profile begins.
pub fn begin() {
    lock(&KNOWN).forget_objects();
}

/// The number of a detail, if it has one.
pub fn known(kind: u32, name: &[u8], identity: u64) -> Option<u32> {
    lock(&KNOWN).numbers.get(&kind)?.get(&(identity, name.into())).copied()
}

/// The number of a detail: one of [`quipu_arena::layout::detail`], a name, and what tells apart those with the same name. 0,
/// which is none, if there are too many.
pub fn number(arena: &ArenaWriter, kind: u32, name: &[u8], identity: u64) -> u32 {
    let tell = |id| arena.log(&Record::Detail { id, kind, identity, name }).is_some();
    let number = lock(&KNOWN).number(kind, (identity, name.into()), tell);
    if number == 0 {
        lost::count(arena, Cause::NoRoomForDetail);
    }
    number
}

impl Known {
    fn number(&mut self, kind: u32, key: Key, tell: impl FnOnce(u32) -> bool) -> u32 {
        let numbers = self.numbers.entry(kind).or_default();
        if let Some(&number) = numbers.get(&key) {
            return number;
        }
        let number = self.free.last().copied().unwrap_or(self.last + 1);
        if numbers.len() >= MOST as usize || !tell(number) {
            return 0;
        }
        if self.free.pop().is_none() {
            self.last = number;
        }
        numbers.insert(key, number);
        number
    }

    fn forget_objects(&mut self) {
        let free = &mut self.free;
        for numbers in self.numbers.values_mut() {
            let names = numbers.keys().filter(|(identity, _)| *identity == 0).count();
            let has_room = names <= MOST as usize / 2;
            numbers.retain(|(identity, _), number| {
                let stays = *identity == 0 && has_room;
                if !stays {
                    free.push(*number);
                }
                stays
            });
            numbers.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quipu_arena::layout::detail;

    fn key(identity: u64) -> Key {
        (identity, (*b"Lapp/Main;").into())
    }

    #[test]
    fn one_kind_does_not_take_the_room_of_others() {
        let mut known = Known::default();
        for identity in 1..=u64::from(MOST) {
            assert_ne!(known.number(detail::LOCK, key(identity), |_| true), 0);
        }
        assert_eq!(known.number(detail::LOCK, key(0), |_| true), 0, "there are too many");
        assert_eq!(known.number(detail::LOCK, key(7), |_| true), 7, "it has one");
        assert_ne!(known.number(detail::ALLOCATED, key(0), |_| true), 0);
    }

    #[test]
    fn locks_of_an_earlier_profile_are_forgotten_and_classes_are_not() {
        let mut known = Known::default();
        let class = known.number(detail::ALLOCATED, key(0), |_| true);
        for profile in 0..100 {
            for identity in 1..=u64::from(MOST / 16) {
                let number = known.number(detail::LOCK, key(profile << 32 | identity), |_| true);
                assert!(number != 0 && number != class, "{number} in {profile}");
            }
            known.forget_objects();
        }
        assert_eq!(known.last, MOST / 16 + 1, "numbers are given again");
        assert_eq!(known.number(detail::ALLOCATED, key(0), |_| panic!("it was told")), class);
    }

    /// A program may define classes for ever.
    #[test]
    fn names_that_take_the_room_of_others_are_forgotten() {
        let mut known = Known::default();
        let name = |n: u32| (0, n.to_string().into_bytes().into_boxed_slice());
        for profile in 0..3 {
            for n in 0..MOST {
                assert_ne!(known.number(detail::CLASS, name(profile * MOST + n), |_| true), 0);
            }
            known.forget_objects();
        }
        assert_eq!(known.last, MOST);
    }
}
