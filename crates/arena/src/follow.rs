//! What chosen methods do from one moment to the next, read from an arena while the target fills it.
//!
//! A suite of ten thousand tests cannot read a whole arena after each of them. A [`Follower`] looks at every node once,
//! when it is new: parents come before their children, so a node belongs to the method it is below as soon as its
//! parent does. What a method has done is then the sum over its nodes, and what one run of it did is the difference to
//! the sum before.
//!
//! Runs are told apart by tree: each tree is one thread's at a time, so tests of one method that run at the same time
//! on different threads do not get each other's work.

use std::collections::HashMap;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use crate::layout::{self, chunk, header, node, slot};
use crate::record::{RECORD_HEADER, Record};
use crate::writer::ArenaWriter;

/// No two nodes begin in the same so many bytes.
const CELL: u64 = node::SLOTS;

/// A method to follow.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Followed {
    /// Internal name of its class, in the JVM's modified UTF-8.
    pub class: Vec<u8>,
    /// Its name.
    pub name: Vec<u8>,
    /// Its descriptor; any if none.
    pub descriptor: Option<Vec<u8>>,
    /// Not the method itself, but the lambdas in it.
    pub lambdas: bool,
}

/// What was done, without the initialisation of classes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Calls of the method that were not below another followed one.
    pub runs: u64,
    /// Bytecodes.
    pub bytecodes: u64,
    /// Calls, those of the method included.
    pub calls: u64,
    /// Instructions that make objects or arrays, as far as blocks were counted.
    pub allocations: u64,
}

/// What it takes to follow an arena.
#[derive(Default)]
pub struct Follower {
    /// Where the next chunk begins that has not been seen.
    unseen: u64,
    logs: Vec<Progress>,
    nodes: Vec<Nodes>,
    classes: HashMap<u32, Vec<u8>>,
    /// By id.
    methods: Vec<Option<Method>>,
    by_class: HashMap<Vec<u8>, Vec<u32>>,
    numbers: HashMap<Followed, u32>,
    /// By class, with their numbers.
    followed: HashMap<Vec<u8>, Vec<(Followed, u32)>>,
    shares: Vec<Share>,
    by_method_and_tree: HashMap<(u32, u32), u32>,
}

/// A chunk, and how far it was read.
#[derive(Clone, Copy)]
struct Progress {
    at: u64,
    size: u64,
    read: u64,
}

struct Nodes {
    chunk: Progress,
    tree: u32,
    /// By cell: the share that the node which begins there belongs to, plus one.
    owners: Vec<u32>,
}

struct Method {
    name: Vec<u8>,
    descriptor: Vec<u8>,
    per_call: u64,
    initialiser: bool,
    /// Allocations of each counted block.
    allocations: Vec<u64>,
    derived: u64,
    /// Slots that count calls of an opaque method, and the method, which has no name if it was only presumed to be opaque.
    leaves: Vec<(u64, u32)>,
    /// Number of the followed method that begins here.
    begins: Option<u32>,
}

/// What each method executed itself, by id.
type Hot = Option<HashMap<u32, u64>>;

/// The nodes of one followed method in one tree.
struct Share {
    method: u32,
    outermost: Vec<u64>,
    nodes: Vec<u64>,
    /// What had been done when somebody asked last.
    told: Done,
}

impl Follower {
    /// Follows a method from now on; returns its number.
    pub fn follow(&mut self, wanted: Followed) -> u32 {
        if let Some(&number) = self.numbers.get(&wanted) {
            return number;
        }
        let number = self.numbers.len() as u32;
        for id in self.by_class.get(&wanted.class).into_iter().flatten() {
            if let Some(Some(method)) = self.methods.get_mut(*id as usize)
                && wanted.begins_at(method)
            {
                method.begins = Some(number);
            }
        }
        self.followed.entry(wanted.class.clone()).or_default().push((wanted.clone(), number));
        self.numbers.insert(wanted, number);
        number
    }

    /// What a followed method has done until now, on the thread that owns the tree around the offset `near`, belongs to
    /// nobody.
    pub fn begin(&mut self, arena: &ArenaWriter, number: u32, near: u64) {
        self.read(arena);
        self.ask_near(arena, number, near);
    }

    /// What a followed method did since the last time, on the thread that owns the tree around the offset `near`; if it did
    /// not run there, on others.
    pub fn end(&mut self, arena: &ArenaWriter, number: u32, near: u64) -> Done {
        self.read(arena);
        let done = self.ask_near(arena, number, near);
        if done.runs > 0 {
            return done;
        }
        self.shares_of(number).into_iter().fold(done, |sum, share| sum.plus(&self.ask(arena, share)))
    }

    /// What a followed method has done since the beginning, on all threads, and what each method executed itself below
    /// it, of so many methods: `class.name` and bytecodes, most first.
    pub fn total(&mut self, arena: &ArenaWriter, number: u32, hottest: usize) -> (Done, Vec<(Vec<u8>, u64)>) {
        self.read(arena);
        let mut hot = Some(HashMap::new());
        let shares = self.shares_of(number);
        let sums = shares.iter().filter_map(|at| Some(self.sum(arena, self.share(*at)?, &mut hot)));
        let done = sums.fold(Done::default(), |sum, share| sum.plus(&share));
        let mut hot: Vec<(u32, u64)> = hot.unwrap_or_default().into_iter().filter(|(_, n)| *n > 0).collect();
        hot.sort_unstable_by_key(|&(id, executed)| (std::cmp::Reverse(executed), id));
        hot.truncate(hottest);
        let name = |id: u32| {
            let (class, _) = self.by_class.iter().find(|(_, ids)| ids.contains(&id))?;
            Some([class, b".".as_slice(), &self.method(id)?.name].concat())
        };
        (done, hot.into_iter().filter_map(|(id, executed)| Some((name(id)?, executed))).collect())
    }

    fn shares_of(&self, number: u32) -> Vec<u32> {
        let is = |at: &u32| self.share(*at).is_some_and(|share| share.method == number);
        (0..self.shares.len() as u32).filter(is).collect()
    }

    fn ask_near(&mut self, arena: &ArenaWriter, number: u32, near: u64) -> Done {
        let tree = self.chunk_at(near).map(|nodes| nodes.tree);
        let share = tree.and_then(|tree| self.by_method_and_tree.get(&(number, tree)).copied());
        share.map_or_else(Done::default, |share| self.ask(arena, share))
    }

    fn share(&self, at: u32) -> Option<&Share> {
        self.shares.get(at as usize)
    }

    fn chunk_at(&self, offset: u64) -> Option<&Nodes> {
        // In the order in which they were added, which is that of their offsets.
        let after = self.nodes.partition_point(|nodes| nodes.chunk.at <= offset);
        self.nodes.get(after.checked_sub(1)?).filter(|nodes| offset < nodes.chunk.at + nodes.chunk.size)
    }

    /// The difference to the last time.
    fn ask(&mut self, arena: &ArenaWriter, share: u32) -> Done {
        let Some(now) = self.share(share).map(|share| self.sum(arena, share, &mut None)) else {
            return Done::default();
        };
        match self.shares.get_mut(share as usize) {
            Some(share) => now.minus(&std::mem::replace(&mut share.told, now)),
            None => Done::default(),
        }
    }

    /// Adds up what the nodes have; if somebody wants to know, also for each method.
    fn sum(&self, arena: &ArenaWriter, share: &Share, hot: &mut Hot) -> Done {
        let mut sum = Done::default();
        for &at in &share.outermost {
            let parent = u64::from(arena.word(at + node::PARENT).load(Relaxed)) * layout::ID_UNIT;
            let mut calls = arena.long(at + node::CALLS).load(Relaxed);
            for held in self.slots(arena, parent).filter(|held| held.node == at) {
                self.add(&mut sum, hot, held.method, held.calls, held.bytecodes);
                calls = calls.wrapping_add(held.calls);
            }
            sum.runs = sum.runs.wrapping_add(calls);
        }
        for &at in &share.nodes {
            let id = arena.word(at + node::METHOD).load(Relaxed) >> 1;
            let (calls, bytecodes) =
                (arena.long(at + node::CALLS).load(Relaxed), arena.long(at + node::BYTECODES).load(Relaxed));
            self.add(&mut sum, hot, id, calls, bytecodes);
            for held in self.slots(arena, at) {
                self.add(&mut sum, hot, held.method, held.calls, held.bytecodes);
            }
            let Some(method) = self.method(id) else { continue };
            let named = method.leaves.iter().filter(|(_, callee)| self.method(*callee).is_some());
            for leaf in named.map(|(slot, _)| at + node::SLOTS + slot * slot::SIZE) {
                if arena.word(leaf + slot::METHOD).load(Relaxed) == 0 {
                    sum.calls = sum.calls.wrapping_add(arena.long(leaf + slot::CALLS).load(Relaxed));
                }
            }
            let counters = (at + size(arena, at)).saturating_sub(8 * method.allocations.len() as u64);
            for (i, &allocations) in method.allocations.iter().enumerate().filter(|(_, n)| **n > 0) {
                let executed = arena.long(counters + 8 * i as u64).load(Relaxed);
                sum.allocations = sum.allocations.wrapping_add(executed.wrapping_mul(allocations));
            }
        }
        sum
    }

    /// Initialisers of classes are nobody's.
    fn add(&self, sum: &mut Done, hot: &mut Hot, id: u32, calls: u64, bytecodes: u64) {
        let Some(method) = self.method(id).filter(|method| !method.initialiser) else { return };
        // Some of what a method executes follows from its calls.
        let executed = method.per_call.wrapping_mul(calls).wrapping_add(bytecodes);
        sum.bytecodes = sum.bytecodes.wrapping_add(executed);
        if let Some(hot) = hot {
            let here = hot.entry(id).or_insert(0);
            *here = executed.wrapping_add(*here);
        }
        sum.calls = sum.calls.wrapping_add(calls.wrapping_mul(1 + method.derived));
    }

    fn method(&self, id: u32) -> Option<&Method> {
        self.methods.get(id as usize)?.as_ref()
    }

    /// The slots of a node that hold something.
    fn slots<'a>(&'a self, arena: &'a ArenaWriter, owner: u64) -> impl Iterator<Item = Held> + 'a {
        let id = arena.word(owner + node::METHOD).load(Relaxed) >> 1;
        let blocks = self.method(id).map_or(0, |method| method.allocations.len() as u64);
        let end = owner + size(arena, owner).saturating_sub(8 * blocks);
        let places =
            (owner + node::SLOTS..).step_by(slot::SIZE as usize).take_while(move |at| at + slot::SIZE <= end);
        places.filter_map(move |at| {
            let word = arena.word(at + slot::METHOD).load(Relaxed);
            let distance = arena.word(at + slot::NODE).load(Relaxed).cast_signed();
            Some(Held {
                method: (word != 0).then_some(word >> 1)?,
                node: at.checked_add_signed(i64::from(distance) * layout::LINK_UNIT.cast_signed())?,
                calls: arena.long(at + slot::CALLS).load(Relaxed),
                bytecodes: arena.long(at + slot::BYTECODES).load(Relaxed),
            })
        })
    }

    /// Reads what is new.
    fn read(&mut self, arena: &ArenaWriter) {
        let end = arena.long(header::USED).load(Acquire);
        self.unseen = self.unseen.max(layout::HEADER_SIZE);
        while self.unseen < end {
            let at = self.unseen;
            let size = arena.long(at + chunk::SIZE).load(Relaxed);
            if size < chunk::HEADER || at + size > end {
                break;
            }
            let chunk = Progress { at, size, read: chunk::HEADER };
            match arena.word(at + chunk::KIND).load(Relaxed) {
                layout::CHUNK_LOG => self.logs.push(chunk),
                layout::CHUNK_NODES => {
                    let tree = arena.word(at + chunk::TREE).load(Relaxed);
                    self.nodes.push(Nodes { chunk, tree, owners: vec![0; (size / CELL + 1) as usize] });
                }
                _ => {}
            }
            self.unseen += size;
        }
        // Nodes last: a method is in the log before it has any.
        for at in 0..self.logs.len() {
            self.read_log(arena, at);
        }
        for at in 0..self.nodes.len() {
            self.read_nodes(arena, at);
        }
    }

    fn read_log(&mut self, arena: &ArenaWriter, log: usize) {
        let Some(&Progress { at, mut read, .. }) = self.logs.get(log) else { return };
        let used = arena.long(at + chunk::USED).load(Acquire);
        while read + RECORD_HEADER <= used {
            let (tag, len) = (arena.word(at + read).load(Relaxed), arena.word(at + read + 4).load(Relaxed));
            let payload = arena.copy(at + read + RECORD_HEADER, len.into());
            match Record::decode(tag, &payload) {
                Some(Record::Class { id, name, .. }) => {
                    self.classes.insert(id, name.to_vec());
                }
                Some(Record::Method {
                    id,
                    class,
                    per_call,
                    name,
                    descriptor,
                    blocks,
                    derived,
                    leaves,
                    ..
                }) if id < layout::MAX_METHODS => {
                    let words = blocks.chunks_exact(6).filter_map(|block| block.get(4..6)?.try_into().ok());
                    let method = Method {
                        name: name.to_vec(),
                        descriptor: descriptor.to_vec(),
                        per_call: per_call.into(),
                        initialiser: name == b"<clinit>",
                        allocations: words.map(|word| u16::from_ne_bytes(word).into()).collect(),
                        derived: derived.len() as u64 / 4,
                        leaves: leaves.chunks_exact(8).filter_map(leaf).collect(),
                        begins: None,
                    };
                    self.learn(id, class, method);
                }
                _ => {}
            }
            read += (RECORD_HEADER + u64::from(len)).next_multiple_of(8);
        }
        if let Some(log) = self.logs.get_mut(log) {
            log.read = read;
        }
    }

    fn learn(&mut self, id: u32, class: u32, mut method: Method) {
        let Some(class) = self.classes.get(&class) else { return };
        let mut followed = self.followed.get(class).into_iter().flatten();
        method.begins = followed.find(|(wanted, _)| wanted.begins_at(&method)).map(|(_, number)| *number);
        self.by_class.entry(class.clone()).or_default().push(id);
        if self.methods.len() <= id as usize {
            self.methods.resize_with(id as usize + 1, || None);
        }
        if let Some(entry) = self.methods.get_mut(id as usize) {
            *entry = Some(method);
        }
    }

    fn read_nodes(&mut self, arena: &ArenaWriter, number: usize) {
        let Some(&Nodes { chunk: Progress { at, size: all, mut read }, tree, .. }) = self.nodes.get(number)
        else {
            return;
        };
        if read + CELL > all {
            return;
        }
        let used = arena.long(at + chunk::USED).load(Acquire).min(all);
        while read + CELL <= used {
            let here = at + read;
            let stride = size(arena, here);
            if stride < CELL || read + stride > used {
                break;
            }
            // A node whose parent was added to another chunk meanwhile: next time.
            let Some(owner) = self.owner(arena, here, at, tree) else { break };
            if let Some(cell) =
                self.nodes.get_mut(number).and_then(|n| n.owners.get_mut((read / CELL) as usize))
            {
                *cell = owner;
            }
            read += stride;
        }
        if let Some(nodes) = self.nodes.get_mut(number) {
            nodes.chunk.read = read;
        }
    }

    /// The share, plus one, that a new node belongs to; none if its parent has not been read yet.
    fn owner(&mut self, arena: &ArenaWriter, at: u64, chunk: u64, tree: u32) -> Option<u32> {
        let id = arena.word(at + node::METHOD).load(Relaxed) >> 1;
        if id == layout::ROOT_METHOD {
            return Some(0);
        }
        let parent = u64::from(arena.word(at + node::PARENT).load(Relaxed)) * layout::ID_UNIT;
        let around = self.chunk_at(parent)?;
        let offset = parent - around.chunk.at;
        let read = if around.chunk.at == chunk { parent < at } else { offset < around.chunk.read };
        if !read {
            return None;
        }
        let above = *around.owners.get((offset / CELL) as usize)?;
        let Some(method) = self.method(id) else { return Some(0) };
        let (share, outermost) = match (above.checked_sub(1), method.begins) {
            (Some(_), _) if method.initialiser => return Some(0),
            (Some(share), _) => (share, false),
            (None, Some(number)) => (self.share_of(number, tree), true),
            (None, None) => return Some(0),
        };
        let entry = self.shares.get_mut(share as usize)?;
        entry.nodes.push(at);
        if outermost {
            entry.outermost.push(at);
        }
        Some(share + 1)
    }

    fn share_of(&mut self, method: u32, tree: u32) -> u32 {
        let shares = &mut self.shares;
        *self.by_method_and_tree.entry((method, tree)).or_insert_with(|| {
            shares.push(Share { method, outermost: Vec::new(), nodes: Vec::new(), told: Done::default() });
            shares.len() as u32 - 1
        })
    }
}

/// What a slot has counted of the node it holds.
struct Held {
    method: u32,
    node: u64,
    calls: u64,
    bytecodes: u64,
}

/// A slot and an opaque method, as records of methods have them.
fn leaf(pair: &[u8]) -> Option<(u64, u32)> {
    let (slot, method) = pair.split_first_chunk()?;
    let (method, _) = method.split_first_chunk()?;
    Some((u32::from_ne_bytes(*slot).into(), u32::from_ne_bytes(*method)))
}

/// Size of a node in bytes.
fn size(arena: &ArenaWriter, at: u64) -> u64 {
    8 * (arena.long(at + node::STRIDE).load(Relaxed) & 0xffff)
}

impl Followed {
    fn begins_at(&self, method: &Method) -> bool {
        if !self.lambdas {
            let descriptor = self.descriptor.as_ref();
            return self.name == method.name
                && descriptor.is_none_or(|descriptor| *descriptor == method.descriptor);
        }
        let made =
            method.name.strip_prefix(b"lambda$").and_then(|rest| rest.strip_prefix(self.name.as_slice()));
        made.is_some_and(|rest| rest.starts_with(b"$"))
    }
}

impl Done {
    fn plus(&self, other: &Done) -> Done {
        self.each(other, u64::wrapping_add)
    }

    /// Wraps like the counters do, so that differences are right whatever they have reached.
    fn minus(&self, other: &Done) -> Done {
        self.each(other, u64::wrapping_sub)
    }

    fn each(&self, other: &Done, f: fn(u64, u64) -> u64) -> Done {
        Done {
            runs: f(self.runs, other.runs),
            bytecodes: f(self.bytecodes, other.bytecodes),
            calls: f(self.calls, other.calls),
            allocations: f(self.allocations, other.allocations),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree that is filled by hand, as the Java runtime does it.
    struct Tree {
        arena: ArenaWriter,
        chunk: u64,
        top: u64,
    }

    impl Tree {
        /// Methods 1 to 4: an engine, a test, what the test calls, an initialiser. Each has three slots.
        fn new(name: &str) -> Tree {
            let path = std::env::temp_dir().join(format!("quipu-follow-{}-{name}", std::process::id()));
            let _ = std::fs::remove_file(&path);
            let arena = ArenaWriter::create(&path, 16 << 20).unwrap();
            std::fs::remove_file(path).unwrap();
            arena.log(&Record::Class { id: 1, loader: 0, name: b"a/T", source: b"" }).unwrap();
            for (id, name) in [(1, "run"), (2, "test"), (3, "add"), (4, "<clinit>")] {
                // One block, with two allocations.
                // Its second was presumed to be opaque, and has no name.
                let leaf: Vec<u8> = [1u32, 9, 2, 8].iter().flat_map(|n| n.to_ne_bytes()).collect();
                let blocks: Vec<u8> = [0u16, 0, 2].iter().flat_map(|n| n.to_ne_bytes()).collect();
                arena
                    .log(&Record::Method {
                        id,
                        class: 1,
                        flags: 0,
                        per_call: 10 * id,
                        name: name.as_bytes(),
                        descriptor: b"()V",
                        lines: b"",
                        sites: b"",
                        blocks: if id == 3 { &blocks } else { b"" },
                        derived: b"",
                        leaves: if id == 3 { &leaf } else { b"" },
                    })
                    .unwrap();
            }
            arena.log(&Record::opaque_method(9, 1, b"leaf", b"()V")).unwrap();
            let chunk = arena.add_chunk(layout::CHUNK_NODES, 4096).unwrap();
            arena.word(chunk + chunk::TREE).store(7, Relaxed);
            Tree { arena, chunk, top: chunk + chunk::HEADER }
        }

        fn node(&mut self, parent: u64, method: u32) -> u64 {
            let (at, bytes) = (self.top, layout::node_size(3, u32::from(method == 3)));
            self.arena.word(at + node::METHOD).store(layout::method_word(method), Relaxed);
            self.arena.word(at + node::PARENT).store((parent / layout::ID_UNIT) as u32, Relaxed);
            self.arena.long(at + node::STRIDE).store(bytes / 8, Relaxed);
            self.top += bytes;
            self.arena.long(self.chunk + chunk::USED).store(self.top - self.chunk, Relaxed);
            at
        }

        fn count(&self, owner: u64, slot: u64, child: u64, calls: u64, bytecodes: u64) {
            let at = owner + node::SLOTS + slot * slot::SIZE;
            let word = self.arena.word(child + node::METHOD).load(Relaxed);
            let distance = (child as i64 - at as i64) / layout::LINK_UNIT as i64;
            self.arena.word(at + slot::METHOD).store(word, Relaxed);
            self.arena.word(at + slot::NODE).store((distance as i32).cast_unsigned(), Relaxed);
            self.arena.long(at + slot::CALLS).fetch_add(calls, Relaxed);
            self.arena.long(at + slot::BYTECODES).fetch_add(bytecodes, Relaxed);
        }
    }

    fn wanted(name: &str, lambdas: bool) -> Followed {
        Followed { class: b"a/T".to_vec(), name: name.into(), descriptor: Some(b"()V".to_vec()), lambdas }
    }

    #[test]
    fn each_run_has_what_was_done_since_the_one_before() {
        let mut tree = Tree::new("runs");
        let mut follower = Follower::default();
        let number = follower.follow(wanted("test", false));
        assert_eq!(number, follower.follow(wanted("test", false)), "known already");
        let root = tree.node(0, layout::ROOT_METHOD);
        let engine = tree.node(root, 1);
        tree.count(root, 0, engine, 1, 500);
        assert_eq!(follower.end(&tree.arena, number, engine), Done::default());

        let test = tree.node(engine, 2);
        tree.count(engine, 1, test, 1, 5);
        let callee = tree.node(test, 3);
        tree.count(test, 2, callee, 3, 1);
        let counter = callee + layout::node_size(3, 0);
        tree.arena.long(counter).store(3, Relaxed);
        // It calls an opaque method twice.
        tree.arena.long(callee + node::SLOTS + slot::SIZE + slot::CALLS).store(2, Relaxed);
        // And something twenty times that might have been one.
        tree.arena.long(callee + node::SLOTS + 2 * slot::SIZE + slot::CALLS).store(20, Relaxed);
        let initialiser = tree.node(test, 4);
        tree.count(test, 0, initialiser, 1, 10_000);
        let below = tree.node(initialiser, 3);
        tree.count(initialiser, 1, below, 100, 0);
        // 20 + 5 of the test, 3 * 30 + 1 of what it calls.
        let first = Done { runs: 1, bytecodes: 116, calls: 6, allocations: 6 };
        assert_eq!(follower.end(&tree.arena, number, engine), first);

        // The slot changes hands: what it had is in the node.
        tree.arena.long(test + node::CALLS).store(1, Relaxed);
        tree.arena.long(test + node::BYTECODES).store(5, Relaxed);
        let slot = engine + node::SLOTS + slot::SIZE;
        tree.arena.long(slot + slot::CALLS).store(0, Relaxed);
        tree.arena.long(slot + slot::BYTECODES).store(0, Relaxed);
        tree.count(engine, 2, test, 1, 7);
        let second = Done { runs: 1, bytecodes: 27, calls: 1, allocations: 0 };
        assert_eq!(follower.end(&tree.arena, number, engine), second);
        assert_eq!(follower.end(&tree.arena, number, engine), Done::default());
        // Of one that knows nothing yet, and whatever the descriptor is.
        let mut late = Follower::default();
        let number = late.follow(Followed { descriptor: None, ..wanted("test", false) });
        let hot = vec![(b"a/T.add".to_vec(), 91), (b"a/T.test".to_vec(), 52)];
        assert_eq!(late.total(&tree.arena, number, 2), (first.plus(&second), hot));
    }

    #[test]
    fn work_on_another_thread_is_found_if_there_is_none_here() {
        let mut tree = Tree::new("threads");
        let mut follower = Follower::default();
        let number = follower.follow(wanted("test", false));
        let root = tree.node(0, layout::ROOT_METHOD);
        let test = tree.node(root, 2);
        tree.count(root, 0, test, 1, 0);
        let done = follower.end(&tree.arena, number, 0);
        assert_eq!(done, Done { runs: 1, bytecodes: 20, calls: 1, allocations: 0 });
    }

    #[test]
    fn what_was_done_before_a_test_is_not_its_own_and_that_of_other_threads_stays_theirs() {
        let mut tree = Tree::new("before");
        let mut follower = Follower::default();
        let number = follower.follow(wanted("test", false));
        let root = tree.node(0, layout::ROOT_METHOD);
        let test = tree.node(root, 2);
        tree.count(root, 0, test, 3, 0);
        follower.begin(&tree.arena, number, 0);
        follower.begin(&tree.arena, number, root);
        tree.count(root, 0, test, 1, 0);
        follower.begin(&tree.arena, number, 0);
        assert_eq!(follower.end(&tree.arena, number, root).runs, 1);
    }

    #[test]
    fn methods_are_found_whichever_comes_first() {
        let mut tree = Tree::new("late");
        let mut follower = Follower::default();
        let root = tree.node(0, layout::ROOT_METHOD);
        let other = follower.follow(wanted("all", true));
        assert_eq!(follower.end(&tree.arena, other, root), Done::default(), "reads the log");
        let late = follower.follow(wanted("test", false));
        let method = |id, name| Record::Method {
            id,
            class: 1,
            flags: 0,
            per_call: 1,
            name,
            descriptor: b"()V",
            lines: b"",
            sites: b"",
            blocks: b"",
            derived: b"",
            leaves: b"",
        };
        tree.arena.log(&method(5, b"lambda$all$0")).unwrap();
        tree.arena.log(&method(6, b"lambda$allOther$0")).unwrap();
        for (slot, id) in [2, 5, 6].into_iter().enumerate() {
            let node = tree.node(root, id);
            tree.count(root, slot as u64, node, 1, 0);
            let runs = [late, other].map(|number| follower.end(&tree.arena, number, root).runs);
            assert_eq!(runs, [u64::from(id == 2), u64::from(id == 5)], "{id}");
        }
    }
}
