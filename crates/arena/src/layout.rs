//! Where everything is. All values are in the machine's byte order; offsets are in bytes.
//!
//! ```text
//! 0          header, one page
//! 4096       chunk, chunk, chunk …                     each begins with a chunk header
//! ```
//!
//! A chunk is a run of tree nodes ([`CHUNK_NODES`]) or of log records ([`CHUNK_LOG`]). A node is
//! named by its *id*, its file offset divided by [`ID_UNIT`].
//!
//! A node has a *slot* for each place its method calls others from ([`slot`]). A slot caches the child that was
//! called there last, with the method word that the callee compares with its own, and counts the child's calls and
//! bytecodes: so a call touches the caller's memory, which is warm, and the callee's only if that calls somebody. What
//! a node has counted is what is in its own header plus what is in the slots that hold it. A slot in which nothing was
//! called yet has no method word and the id of its owner.

/// First word of an arena.
pub const MAGIC: u32 = u32::from_le_bytes(*b"QUIP");
/// Format version; a reader refuses any other.
pub const VERSION: u32 = 3;

/// Size of the header and alignment of the first chunk.
pub const HEADER_SIZE: u64 = 4096;

/// Header fields.
pub mod header {
    /// `u32`: [`super::MAGIC`].
    pub const MAGIC: u64 = 0;
    /// `u32`: [`super::VERSION`].
    pub const VERSION: u64 = 4;
    /// `u64`: the size the file may grow to.
    pub const LIMIT: u64 = 8;
    /// `u64`: end of the last chunk.
    pub const USED: u64 = 16;
    /// `u64`: the part of the file that has pages behind it.
    pub const COMMITTED: u64 = 24;
    /// `u32`: one of [`super::state`].
    pub const STATE: u64 = 32;
    /// `u32`: process id of the target.
    pub const PID: u64 = 36;
    /// `u64`: when the arena was made, in nanoseconds since 1970.
    pub const CREATED: u64 = 40;
    /// `u32`: taken (1) by the thread that is adding a chunk.
    pub const LOCK: u64 = 48;
    /// `u32`: id of the next tree.
    pub const NEXT_TREE: u64 = 52;
    /// `u64`: calls whose context could not be opened because the arena is full.
    pub const REFUSED: u64 = 56;
    /// `u64`: when the target ended, in nanoseconds since 1970.
    pub const ENDED: u64 = 64;
    /// `u64`: nanoseconds spent in rewriting classes.
    pub const REWRITE_NANOS: u64 = 72;
    /// `u64`: classes rewritten.
    pub const CLASSES: u64 = 80;
    /// `u64`: methods rewritten.
    pub const METHODS: u64 = 88;
    /// `u64`: methods that had to be left as they were.
    pub const METHODS_LEFT: u64 = 96;
    /// `u64`: classes that had to be left as they were.
    pub const CLASSES_LEFT: u64 = 104;
    /// A slot: where a thread is that has not called anything yet. Never filled.
    pub const NEW_THREAD: u64 = 256;
    /// `u64`: bytecodes from one sample to the next; may change at any time.
    pub const EVERY: u64 = 112;
    /// `u64`: what is added to that is random, and below this.
    pub const JITTER: u64 = 120;
    /// `u64`: where each thread's random numbers begin.
    pub const SEED: u64 = 128;
}

/// Values of [`header::STATE`].
pub mod state {
    /// The target is (or was, when it was killed) running.
    pub const RUNNING: u32 = 1;
    /// The target ended in an orderly way.
    pub const ENDED: u32 = 2;
}

/// Chunks are aligned to, and sized in multiples of, this.
pub const CHUNK_ALIGN: u64 = 64;
/// A chunk of log records, see [`crate::record`].
pub const CHUNK_LOG: u32 = 1;
/// A chunk of tree nodes.
pub const CHUNK_NODES: u32 = 2;

/// A chunk that is nobody's business but the writer's.
pub const CHUNK_PRIVATE: u32 = 3;

/// Chunk header fields.
pub mod chunk {
    /// `u32`: what the chunk holds.
    pub const KIND: u64 = 0;
    /// `u32`: the tree the nodes belong to.
    pub const TREE: u64 = 4;
    /// `u64`: size in bytes, this header included.
    pub const SIZE: u64 = 8;
    /// `u64`: bytes in use, this header included.
    pub const USED: u64 = 16;
    /// Size of the chunk header.
    pub const HEADER: u64 = 32;
}

/// A node's id is its offset in the file divided by this.
pub const ID_UNIT: u64 = 4;
/// Unit of the distance from a slot to a node.
pub const LINK_UNIT: u64 = 8;
/// Node ids are 32 bits wide, so an arena cannot be larger than this.
pub const MAX_LIMIT: u64 = (u32::MAX as u64 + 1) * ID_UNIT;

/// Node fields.
pub mod node {
    /// `u32`: method id times two plus one; see [`super::method_word`].
    pub const METHOD: u64 = 0;
    /// `u32`: id of the parent; 0 for the root of a tree.
    pub const PARENT: u64 = 4;
    /// `u64`: calls that were counted in slots which hold another child now.
    pub const CALLS: u64 = 8;
    /// `u64`: the same for bytecodes; beyond what follows from the calls (see `docs/exact.md`). The number of samples if
    /// the method is sampled.
    pub const BYTECODES: u64 = 16;
    /// `u16`: size of the node in units of 8 bytes.
    pub const STRIDE: u64 = 24;
    /// `u16`: the slot of the parent through which the node was first reached.
    pub const SITE: u64 = 26;
    /// `u32`: distance from the root.
    pub const DEPTH: u64 = 28;
    /// The slots.
    pub const SLOTS: u64 = 32;
}

/// Fields of a slot.
pub mod slot {
    /// `u32`: method word of the child, 0 in an empty slot.
    pub const METHOD: u64 = 0;
    /// `i32`: where the child is, or the owner of an empty slot: how far from the slot, in units of [`super::LINK_UNIT`].
    /// Relative, because the address of the arena would be a constant of 64 bits in every probe.
    pub const NODE: u64 = 4;
    /// `u64`: calls of the child from here.
    pub const CALLS: u64 = 8;
    /// `u64`: what these calls executed, beyond what follows from their number. At the same offset as in a node, so that
    /// the same code can count in either.
    pub const BYTECODES: u64 = 16;
    /// Size of a slot.
    pub const SIZE: u64 = 24;
}

/// Method id of the root of every tree.
pub const ROOT_METHOD: u32 = 0;
/// Method ids are below this: the table of node sizes is reserved for so many.
pub const MAX_METHODS: u32 = 1 << 22;
/// The most slots a node can have (its size must fit [`node::STRIDE`]).
pub const MAX_SLOTS: u32 = 20_000;

/// How a method id stands in [`node::METHOD`].
pub const fn method_word(method: u32) -> u32 {
    method << 1 | 1
}

/// Size in bytes of a node with this many slots and block counters.
pub const fn node_size(slots: u32, blocks: u32) -> u64 {
    node::SLOTS + slot::SIZE * slots as u64 + 8 * blocks as u64
}

// The probes rely on these.
const _: () = {
    assert!(method_word(ROOT_METHOD) != 0, "an empty slot must not look like any method's");
    assert!(node::SLOTS.is_multiple_of(8) && slot::SIZE.is_multiple_of(8) && slot::CALLS.is_multiple_of(8));
    assert!(
        chunk::HEADER.is_multiple_of(8)
            && CHUNK_ALIGN.is_multiple_of(8)
            && HEADER_SIZE.is_multiple_of(CHUNK_ALIGN)
    );
    assert!(node_size(MAX_SLOTS, 0) / 8 <= u16::MAX as u64);
    assert!(slot::BYTECODES == node::BYTECODES);
    assert!(MAX_LIMIT / LINK_UNIT <= i32::MAX as u64 + 1);
    assert!(header::NEW_THREAD.is_multiple_of(8) && header::NEW_THREAD + slot::SIZE <= HEADER_SIZE);
};
