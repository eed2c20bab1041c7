//! The threads of a profile: groups, which all kinds share.

use std::collections::{HashMap, HashSet};

use quipu_arena::layout::VIRTUAL;
use quipu_arena::reader::Contents;
use quipu_arena::record::{NO_GROUP, Record};
use quipu_classfile::mutf8;
use quipu_profile::{Builder, ThreadId, ThreadKind, ThreadSpec};

/// Threads that share a tree.
struct Group {
    first: String,
    pattern: String,
    kind: ThreadKind,
    /// Those that were counted, and those that were sampled; the same ones, as far as they were both.
    counted: u64,
    sampled: u64,
}

impl Group {
    fn threads(&self) -> u64 {
        self.counted.max(self.sampled)
    }

    /// A group with one thread has that thread's name; otherwise what the names have in common.
    fn name(&self) -> &str {
        if self.threads() <= 1 { &self.first } else { &self.pattern }
    }
}

/// A thread that was sampled.
struct Sampled {
    group: u32,
    name: String,
}

/// The threads of a profile: those of trees and those that were sampled, by their groups.
pub struct Threads {
    groups: HashMap<u32, Group>,
    /// Group of each tree.
    trees: HashMap<u32, u32>,
    sampled: HashMap<u32, Sampled>,
    /// The profile's thread of each group, with and without a suffix; and of threads without a group, by name and kind.
    of_group: HashMap<(u32, &'static str), ThreadId>,
    of_name: HashMap<(String, bool), ThreadId>,
}

impl Threads {
    /// What the arena says; `sampled` are those of which there are samples.
    pub fn read(contents: &Contents<'_>, sampled: HashSet<u32>) -> Threads {
        let mut threads = Threads {
            groups: HashMap::new(),
            trees: HashMap::new(),
            sampled: HashMap::new(),
            of_group: HashMap::new(),
            of_name: HashMap::new(),
        };
        for record in &contents.records {
            match *record {
                // A later one is of a later profile.
                Record::Group { id, is_virtual, threads: counted, first, pattern } => {
                    let kind = if is_virtual == 1 { ThreadKind::Virtual } else { ThreadKind::Platform };
                    let (first, pattern) = (mutf8::decode(first), mutf8::decode(pattern));
                    threads.groups.insert(id, Group { first, pattern, kind, counted, sampled: 0 });
                }
                Record::Tree { id, group } => {
                    threads.trees.insert(id, group);
                }
                Record::SampledThread { id, group, name, .. } => {
                    threads.sampled.insert(id, Sampled { group, name: mutf8::decode(name) });
                }
                _ => {}
            }
        }
        for id in sampled {
            let group = threads.sampled.get(&id).map(|thread| thread.group);
            if let Some(group) = group.and_then(|id| threads.groups.get_mut(&id)) {
                group.sampled += 1;
            }
        }
        threads
    }

    /// The thread of a tree's root; `suffix` tells roots apart.
    pub fn of_tree(&mut self, builder: &mut Builder, tree: u32, suffix: &'static str) -> ThreadId {
        match self.trees.get(&tree).copied().filter(|id| self.groups.contains_key(id)) {
            Some(group) => self.of_group(builder, group, suffix),
            None => self.of_name(builder, &format!("?{suffix}"), false),
        }
    }

    /// The thread of a sample.
    pub fn of_sample(&mut self, builder: &mut Builder, id: u32) -> ThreadId {
        let is_virtual = id & VIRTUAL != 0;
        match self.sampled.get(&id).map(|thread| (thread.group, thread.name.clone())) {
            Some((group, _)) if group != NO_GROUP && self.groups.contains_key(&group) => {
                self.of_group(builder, group, "")
            }
            Some((_, name)) if !name.is_empty() => self.of_name(builder, &name, is_virtual),
            // A target that was killed may not have told all names.
            _ => self.of_name(builder, if is_virtual { "[virtual]" } else { "?" }, is_virtual),
        }
    }

    fn of_group(&mut self, builder: &mut Builder, id: u32, suffix: &'static str) -> ThreadId {
        let Some(group) = self.groups.get(&id) else { return self.of_name(builder, "?", false) };
        *self.of_group.entry((id, suffix)).or_insert_with(|| {
            let name = format!("{}{suffix}", group.name());
            let (kind, threads) = (group.kind, group.threads().max(1));
            builder.thread(ThreadSpec { name: &name, kind, threads, ..ThreadSpec::default() })
        })
    }

    fn of_name(&mut self, builder: &mut Builder, name: &str, is_virtual: bool) -> ThreadId {
        *self.of_name.entry((name.to_owned(), is_virtual)).or_insert_with(|| {
            let kind = if is_virtual { ThreadKind::Virtual } else { ThreadKind::Platform };
            builder.thread(ThreadSpec { name, kind, ..ThreadSpec::default() })
        })
    }
}
