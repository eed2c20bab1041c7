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

static KNOWN: LazyLock<Mutex<HashMap<Key, u32>>> = LazyLock::new(Mutex::default);

/// The number of a detail, if it has one.
pub fn known(kind: u32, name: &[u8], identity: u64) -> Option<u32> {
    lock(&KNOWN).get(&(kind, identity, name.to_vec())).copied()
}

/// The number of a detail: one of [`quipu_arena::layout::detail`], a name, and what tells apart those with the same name. 0,
/// which is none, if there are too many.
pub fn number(arena: &ArenaWriter, kind: u32, name: &[u8], identity: u64) -> u32 {
    let mut known = lock(&KNOWN);
    let key = (kind, identity, name.to_vec());
    if let Some(&number) = known.get(&key) {
        return number;
    }
    let number = known.len() as u32 + 1;
    let told =
        known.len() < MOST && arena.log(&Record::Detail { id: number, kind, identity, name }).is_some();
    if !told {
        lost::count(arena, Cause::NoRoomForDetail);
        return 0;
    }
    known.insert(key, number);
    number
}
