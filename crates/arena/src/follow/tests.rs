use std::sync::atomic::Ordering::Relaxed;

use super::*;
use crate::layout::{self, chunk, node, slot};
use crate::record::Record;

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
            // The second leaf was presumed to be opaque, and has no name.
            let leaf: Vec<u8> = [1u32, 9, 2, 8].iter().flat_map(|n| n.to_ne_bytes()).collect();
            // One block, with two allocations; and a column, which is not for blocks.
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
                    columns: if id == 3 { &[0; 12] } else { b"" },
                })
                .unwrap();
        }
        arena.log(&Record::opaque_method(9, 1, b"leaf", b"()V")).unwrap();
        let chunk = arena.add_chunk(layout::CHUNK_NODES, 4096).unwrap();
        arena.word(chunk + chunk::TREE).store(7, Relaxed);
        Tree { arena, chunk, top: chunk + chunk::HEADER }
    }

    fn node(&mut self, parent: u64, method: u32) -> u64 {
        let (at, bytes) = (self.top, layout::node_size(3, if method == 3 { 2 } else { 0 }));
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

fn wanted(name: &str) -> Followed {
    Followed { class: b"a/T".to_vec(), name: Name::Is(name.into()), descriptor: Some(b"()V".to_vec()) }
}

fn new_follower() -> Follower {
    Follower::new(|name| name == b"<clinit>")
}

#[test]
fn each_run_has_what_was_done_since_the_one_before() {
    let mut tree = Tree::new("runs");
    let mut follower = new_follower();
    let number = follower.follow(wanted("test"));
    assert_eq!(number, follower.follow(wanted("test")), "known already");
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
    tree.arena.long(counter + 8).store(1000, Relaxed);
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
    let mut late = new_follower();
    let number = late.follow(Followed { descriptor: None, ..wanted("test") });
    let hot = vec![(b"a/T.add".to_vec(), 91), (b"a/T.test".to_vec(), 52)];
    assert_eq!(late.total(&tree.arena, number, 2), (first.plus(&second), hot));
}

#[test]
fn work_on_another_thread_is_found_if_there_is_none_here() {
    let mut tree = Tree::new("threads");
    let mut follower = new_follower();
    let number = follower.follow(wanted("test"));
    let root = tree.node(0, layout::ROOT_METHOD);
    let test = tree.node(root, 2);
    tree.count(root, 0, test, 1, 0);
    let done = follower.end(&tree.arena, number, 0);
    assert_eq!(done, Done { runs: 1, bytecodes: 20, calls: 1, allocations: 0 });
}

#[test]
fn what_was_done_before_a_test_is_not_its_own_and_that_of_other_threads_stays_theirs() {
    let mut tree = Tree::new("before");
    let mut follower = new_follower();
    let number = follower.follow(wanted("test"));
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
    let mut follower = new_follower();
    let root = tree.node(0, layout::ROOT_METHOD);
    let other = follower.follow(Followed { name: Name::Begins(b"lambda$all$".to_vec()), ..wanted("all") });
    assert_eq!(follower.end(&tree.arena, other, root), Done::default(), "reads the log");
    let late = follower.follow(wanted("test"));
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
        columns: b"",
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
