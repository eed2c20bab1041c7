//! Groups of threads that use the same trees one after the other.

use std::collections::HashMap;
use std::sync::Mutex;

use quipu_arena::record::Record;
use quipu_arena::writer::ArenaWriter;
use quipu_text::glob;

use crate::locks::lock;
use crate::options::MergeThreads;

/// The groups met so far.
pub struct Groups {
    known: Mutex<State>,
}

struct State {
    merge: MergeThreads,
    /// Names of the threads to count; all if there are none.
    wanted: Vec<String>,
    next: u32,
    groups: HashMap<(bool, Vec<u8>), Group>,
}

#[derive(Clone, Copy)]
struct Group {
    id: u32,
    /// Where its record lies in the arena; none if no thread of it was met in the present profile.
    record: Option<u64>,
    /// Whether a thread was counted in it.
    counted: bool,
}

impl State {
    fn pattern(&self, name: &[u8]) -> Vec<u8> {
        match self.merge {
            MergeThreads::Name => pattern(name),
            MergeThreads::All => b"*".to_vec(),
            MergeThreads::Never => name.to_vec(),
        }
    }

    /// Counts a thread in a group, and tells of the group if it is the first.
    fn count(
        &mut self,
        arena: &ArenaWriter,
        id: u32,
        name: &[u8],
        key: (bool, Vec<u8>),
        record: Option<u64>,
    ) -> Option<u32> {
        let record = match record {
            Some(record) => {
                arena.count_thread(record);
                record
            }
            None => {
                let is_virtual = key.0.into();
                arena.log(&Record::Group { id, is_virtual, threads: 1, first: name, pattern: &key.1 })?
            }
        };
        self.groups.insert(key, Group { id, record: Some(record), counted: true });
        Some(id)
    }
}

impl Groups {
    /// No groups yet.
    pub fn new(merge: MergeThreads, wanted: Vec<String>) -> Groups {
        Groups { known: Mutex::new(State { merge, wanted, next: 0, groups: HashMap::new() }) }
    }

    /// From now on threads are told apart in another way.
    pub fn choose(&self, merge: MergeThreads, wanted: Vec<String>) {
        let mut state = lock(&self.known);
        *state = State { merge, wanted, next: state.next, groups: HashMap::new() };
    }

    /// A profile begins: no thread was met in it so far.
    pub fn begin(&self) {
        for group in lock(&self.known).groups.values_mut() {
            (group.record, group.counted) = (None, false);
        }
    }

    /// Whether a thread of this name is to be counted.
    pub fn wants(&self, name: &[u8]) -> bool {
        let wanted = &lock(&self.known).wanted;
        wanted.is_empty() || wanted.iter().any(|pattern| glob(pattern.as_bytes(), name))
    }

    /// The group of a thread that begins to run instrumented code; `None` if the arena is full.
    pub fn join(&self, arena: &ArenaWriter, name: &[u8], is_virtual: bool) -> Option<u32> {
        let mut state = lock(&self.known);
        let name = shown(name, is_virtual);
        let key = (is_virtual, state.pattern(name));
        // Where threads are not merged, one that was met by a sampler first is the only one that can be known.
        let merges = state.merge != MergeThreads::Never;
        let known = state.groups.get(&key).copied().filter(|group| merges || !group.counted);
        let (id, record) = match known {
            Some(group) => (group.id, group.record),
            None => {
                state.next += 1;
                (state.next - 1, None)
            }
        };
        state.count(arena, id, name, key, record)
    }

    /// The group of a thread that is sampled; whether it is counted, too, is not known here. `None` if the arena is full.
    pub fn meet(&self, arena: &ArenaWriter, name: &[u8], is_virtual: bool) -> Option<u32> {
        let mut state = lock(&self.known);
        let name = shown(name, is_virtual);
        let key = (is_virtual, state.pattern(name));
        let known = state.groups.get(&key).copied();
        if let Some(Group { id, record: Some(_), .. }) = known {
            return Some(id);
        }
        let id = known.map_or(state.next, |group| group.id);
        let is_virtual = is_virtual.into();
        let record =
            arena.log(&Record::Group { id, is_virtual, threads: 0, first: name, pattern: &key.1 })?;
        state.next = state.next.max(id + 1);
        state.groups.insert(key, Group { id, record: Some(record), counted: false });
        Some(id)
    }

    /// A thread that is in a group already goes on in the present profile.
    pub fn stay(&self, arena: &ArenaWriter, id: u32, name: &[u8], is_virtual: bool) {
        let mut state = lock(&self.known);
        let name = shown(name, is_virtual);
        let key = (is_virtual, state.pattern(name));
        let record = state.groups.get(&key).filter(|group| group.id == id).and_then(|group| group.record);
        // A full arena: the group's counts are kept, under no name.
        let _ = state.count(arena, id, name, key, record);
    }
}

/// Virtual threads need have no name; people need one.
pub fn shown(name: &[u8], is_virtual: bool) -> &[u8] {
    if is_virtual && name.is_empty() { b"[virtual]" } else { name }
}

/// The name with each run of digits as one `#`: `pool-3-thread-12` becomes `pool-#-thread-#`. The digit that begins the
/// names of HotSpot's own threads is part of a compiler's or a collector's name.
fn pattern(name: &[u8]) -> Vec<u8> {
    const NAMES: [&[u8]; 3] = [b"C1 ", b"C2 ", b"G1 "];
    let mut pattern = Vec::with_capacity(name.len());
    let own = NAMES.into_iter().find(|own| name.starts_with(own)).unwrap_or_default();
    pattern.extend_from_slice(own);
    for &byte in name.strip_prefix(own).unwrap_or(name) {
        let byte = if byte.is_ascii_digit() { b'#' } else { byte };
        if byte != b'#' || pattern.last() != Some(&b'#') {
            pattern.push(byte);
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_do_not_tell_threads_apart() {
        assert_eq!(pattern(b"pool-3-thread-12"), b"pool-#-thread-#");
        assert_eq!(pattern(b"main"), b"main");
        assert_eq!(pattern(b"C2 CompilerThread0"), b"C2 CompilerThread#");
        assert_eq!(pattern(b"G1 Refine#0"), b"G1 Refine#");
        assert_eq!(pattern(b""), b"");
    }
}
