//! Groups of threads that use the same trees one after the other.

use std::collections::HashMap;
use std::sync::Mutex;

use quipu_arena::record::Record;
use quipu_arena::writer::ArenaWriter;
use quipu_rewrite::glob;

use crate::locks::lock;
use crate::options::MergeThreads;

/// The groups met so far.
pub struct Groups {
    merge: MergeThreads,
    /// Names of the threads to count; all if there are none.
    wanted: Vec<String>,
    known: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u32,
    groups: HashMap<(bool, Vec<u8>), Group>,
}

#[derive(Clone, Copy)]
struct Group {
    id: u32,
    /// Where its record lies in the arena.
    record: u64,
}

impl Groups {
    /// No groups yet.
    pub fn new(merge: MergeThreads, wanted: Vec<String>) -> Groups {
        Groups { merge, wanted, known: Mutex::default() }
    }

    /// Whether a thread of this name is to be counted.
    pub fn wants(&self, name: &[u8]) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|pattern| glob(pattern.as_bytes(), name))
    }

    /// The group of a thread that begins to run instrumented code; `None` if the arena is full.
    pub fn join(&self, arena: &ArenaWriter, name: &[u8], is_virtual: bool) -> Option<u32> {
        let pattern = match self.merge {
            MergeThreads::Name => pattern(name),
            MergeThreads::All => b"*".to_vec(),
            MergeThreads::Never => name.to_vec(),
        };
        let mut state = lock(&self.known);
        let key = (is_virtual, pattern);
        if self.merge != MergeThreads::Never
            && let Some(group) = state.groups.get(&key)
        {
            arena.count_thread(group.record);
            return Some(group.id);
        }
        let id = state.next;
        let record = arena.log(&Record::Group {
            id,
            is_virtual: is_virtual.into(),
            threads: 1,
            first: name,
            pattern: &key.1,
        })?;
        state.next += 1;
        if self.merge != MergeThreads::Never {
            state.groups.insert(key, Group { id, record });
        }
        Some(id)
    }
}

/// The name with each run of digits as one `#`: `pool-3-thread-12` becomes `pool-#-thread-#`.
fn pattern(name: &[u8]) -> Vec<u8> {
    let mut pattern = Vec::with_capacity(name.len());
    for &byte in name {
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
        assert_eq!(pattern(b""), b"");
    }
}
