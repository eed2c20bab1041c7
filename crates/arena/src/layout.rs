//! Where everything is. All values are in the machine's byte order; offsets are in bytes.
//!
//! ```text
//! 0          header, one page
//! 4096       chunk, chunk, chunk …                     each begins with a chunk header
//! limit      tally, tally, tally …                     see [`tally`]
//! ```
//!
//! A chunk is a run of tree nodes ([`CHUNK_NODES`]), of log records ([`CHUNK_LOG`]), or of what samplers write
//! ([`CHUNK_CONTEXTS`], [`CHUNK_SAMPLES`], [`CHUNK_EVENTS`], [`CHUNK_OBJECTS`], [`CHUNK_GROWTH`]). A node is named by its *id*, its file offset divided by [`ID_UNIT`].
//!
//! A node has a *slot* for each place its method calls others from ([`slot`]). A slot caches the child that was
//! called there last, with the method word that the callee compares with its own, and counts the child's calls and
//! bytecodes: so a call touches the caller's memory, which is warm, and the callee's only if that calls somebody. What
//! a node has counted is what is in its own header plus what is in the slots that hold it. A slot in which nothing was
//! called yet has no method word and the id of its owner. A slot that nothing is called through can still
//! count: calls of an opaque method, or, where only some methods have contexts, what the others execute on behalf of its
//! owner.

/// First word of an arena.
pub const MAGIC: u32 = u32::from_le_bytes(*b"QUIP");
/// Format version; a reader refuses any other.
pub const VERSION: u32 = 6;

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
    pub const EVERY: u64 = 144;
    /// `u64`: what is added to that is random, and below this.
    pub const JITTER: u64 = 152;
    /// `u64`: where each thread's random numbers begin.
    pub const SEED: u64 = 160;
    /// `u64`: number of tallies.
    pub const TALLIES: u64 = 168;
    /// `u64`: bytes of each tally that have pages behind them.
    pub const TALLY_USED: u64 = 176;
    /// `u64`: how often the VM was asked for a dump; never set back.
    pub const DUMP_REQUESTS: u64 = 184;
    /// `u64`: walks of a stack that were tried.
    pub const WALKS: u64 = 120;
    /// `u64`: samples that threads took of themselves.
    pub const SAMPLES: u64 = 128;
    /// `u64`: nanoseconds that took them.
    pub const SAMPLING_NANOS: u64 = 136;
    /// `u64` each: what samplers lost, in the order of [`super::CAUSES`].
    pub const LOST: u64 = 512;
}

/// Why a sample has no stack, not all of it, or is not there at all. The order is part of the format: new ones go to
/// the end.
pub const CAUSES: [&str; 26] = [
    "walks.no-class-load",
    "walks.gc",
    "walks.unknown-not-java",
    "walks.not-walkable-not-java",
    "walks.unknown-java",
    "walks.not-walkable-java",
    "walks.unknown-state",
    "walks.thread-exit",
    "walks.deopt",
    "walks.safepoint",
    "walks.fault",
    "walks.truncated",
    "samples.no-room",
    "samples.too-many-at-once",
    "threads.unwatched",
    "walks.unknown-code",
    "walks.broken-frame",
    "walks.interpreter",
    "walks.stub",
    "walks.machine-code",
    "walks.continuation",
    "threads.without-kernel-frames",
    "events.no-room",
    "details.no-room",
    "objects.no-room",
    "threads.without-events",
];

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
/// A chunk of sampled contexts, see [`context`].
pub const CHUNK_CONTEXTS: u32 = 4;
/// A chunk of samples, see [`sample`].
pub const CHUNK_SAMPLES: u32 = 5;

/// A chunk of events of the timeline, see [`event`].
pub const CHUNK_EVENTS: u32 = 6;

/// A chunk of objects that are watched until they are gone, see [`object`].
pub const CHUNK_OBJECTS: u32 = 7;

/// A chunk of what such objects took at one moment after the other, see [`growth`].
pub const CHUNK_GROWTH: u32 = 8;

/// A chunk that is a ledger, see [`ledger`].
pub const CHUNK_LEDGER: u32 = 9;

/// A chunk that only the writer uses.
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
    /// `u64`, of a ledger: offset of the chunk that it stands in for, or 0.
    pub const REPLACES: u64 = 24;
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
    /// `u64`: the same for bytecodes; beyond what follows from the calls (see `docs/kinds/exact.md`). The number of samples if
    /// the method is sampled.
    pub const BYTECODES: u64 = 16;
    /// `u16`: size of the node in units of 8 bytes.
    pub const STRIDE: u64 = 24;
    /// `u16`: the slot of the parent through which the node was first reached.
    pub const SITE: u64 = 26;
    /// `u32`: distance from the root; with [`super::HIDDEN`] below the root of what opaque methods call.
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

/// A thread's call stack where contexts are sampled every so many bytecodes. It is not in the arena: the Java runtime keeps
/// it, and the agent gives threads that have none a place where they may write.
pub mod stack {
    /// Size and alignment of a chunk of it.
    pub const CHUNK: u64 = 4096;
    /// Where the frames of a chunk begin.
    pub const FRAMES: u64 = 64 + 1024;
    /// Bytecodes until the next sample where none is taken: more than a thread ever executes.
    pub const ENDLESS: u64 = u64::MAX / 4;
}

/// A tally: calls and bytecodes of each method on one thread, by method id, for methods that have no contexts. The
/// first has the place of the file's limit; in the bytes that a reader is given they follow the last chunk, each cut to
/// [`header::TALLY_USED`].
pub mod tally {
    /// `u64`: not 0 once a method returned that overrides an opaque one.
    pub const MARK: u64 = 0;
    /// `u32`: the tree whose methods these are; 0 for a tally that nobody reads.
    pub const TREE: u64 = 8;
    /// `u32`: which root of the tree: the kind in the root's [`super::node::SITE`].
    pub const ROOT: u64 = 12;
    /// What a method takes: `u64` calls and `u64` bytecodes, beyond what follows from the calls. That of method 0, which is
    /// none, is where the fields above are.
    pub const CELL: u64 = 16;
    /// `u64`, in a cell: the bytecodes.
    pub const BYTECODES: u64 = 8;
    /// From one tally to the next; all but the used part is a hole in the file.
    pub const STRIDE: u64 = 4 << 20;
    /// Methods with an id from here on have no cell.
    pub const METHODS: u32 = (STRIDE / CELL) as u32;
    /// The most tallies there can be.
    pub const MOST: u64 = 1 << 14;
    /// Tallies get pages in steps of this.
    pub const STEP: u64 = 64 << 10;
}

/// A ledger: how often instructions that are told apart were executed by one thread, in which contexts, and a value that was
/// added up meanwhile. A table that is open to hashing; a thread that needs a larger one copies it, and the new one names the
/// one that it replaces. These are the fields of an entry.
pub mod ledger {
    /// `u32`: the site, see [`crate::record::Record::Site`]; 0 in an empty entry.
    pub const SITE: u64 = 0;
    /// `u32`: offset of the slot that was published, in units of [`super::LINK_UNIT`]; 0 where none is.
    pub const SLOT: u64 = 4;
    /// `u64`: how often.
    pub const COUNT: u64 = 8;
    /// `u64`: the value.
    pub const VALUE: u64 = 16;
    /// Size of an entry.
    pub const SIZE: u64 = 24;

    /// Bit of a site that is none: the entry counts executions of the method whose slot it names that took about as long as each
    /// other, and adds up what they took in nanoseconds. The rest is the number of the range, see [`shortest`].
    pub const EXECUTIONS: u32 = 1 << 30;
    /// From one power of two to the next there are so many ranges (a power of two, too).
    pub const RANGES: u32 = 32;

    /// Bits below that of a region's number, of which the executions are; 0 for the whole method. There are fewer ranges.
    pub const REGION_SHIFT: u32 = 12;

    /// The shortest time in a range, by its number: below 64 ns each is one of its own, above that they are at most a 32nd of it
    /// wide.
    pub fn shortest(range: u32) -> u64 {
        match range / RANGES {
            0 | 1 => range.into(),
            doubled => u64::from(range % RANGES + RANGES).checked_shl(doubled - 1).unwrap_or(u64::MAX),
        }
    }
}

/// Fields of a sampled context: one frame of a stack, below the frame that called it. Its id is its offset in the file
/// divided by its size, and larger than that of its caller; 0 stands for the outermost.
pub mod context {
    /// `u64`: what the VM, or the machine, calls the code; see [`super::frame`]. Written last: 0 until then.
    pub const CODE: u64 = 0;
    /// `u32`: id of the caller's context, or 0.
    pub const PARENT: u64 = 8;
    /// `u32`: kind of frame (8 bits) and bytecode index (24 bits); see [`super::place_word`].
    pub const PLACE: u64 = 12;
    /// Size of a context.
    pub const SIZE: u64 = 16;
}

/// Kinds of frame.
pub mod frame {
    /// A Java method, nobody knows in which tier; the code is its `jmethodID`.
    pub const JAVA: u32 = 1;
    /// A Java method in the interpreter.
    pub const INTERPRETED: u32 = 2;
    /// A Java method compiled by C1.
    pub const C1: u32 = 3;
    /// A Java method compiled by C2.
    pub const C2: u32 = 4;
    /// A native Java method.
    pub const NATIVE: u32 = 5;
    /// Machine code that is not Java's; the code is its address.
    pub const FOREIGN: u32 = 6;
    /// Something to be said in place of a frame; the code is one of [`super::mark`].
    pub const MARK: u32 = 7;
    /// No frame, but a context of the tree of exact counts: the code is the offset of the slot that its method has published.
    pub const PUBLISHED: u32 = 8;
    /// No frame, but the place where those called from here on begin: bytes from where the stack does, or
    /// [`super::stack_base::BEGINNING`]. The callers of an outermost one are not told.
    pub const BASE: u32 = 9;
}

/// Places where frames begin.
pub mod stack_base {
    /// The beginning of the stack: there are no more callers.
    pub const BEGINNING: u64 = 1;
    /// The least that stands for another place.
    pub const LEAST: u64 = 2;
    /// Frames that are told of a stack that is not walked to its end; those that are inlined into each other are one.
    pub const NEAR: usize = 4;
}

/// What can be said in place of a frame.
pub mod mark {
    /// The walk failed: this plus the number of the cause in [`super::CAUSES`].
    pub const FAILED: u64 = 0x100;
    /// The thread is not one of Java's.
    pub const NOT_JAVA: u64 = 1;
    /// The thread is one of Java's, without a Java method on its stack.
    pub const NO_FRAMES: u64 = 2;
    /// A method the VM has no id for.
    pub const UNKNOWN_METHOD: u64 = 3;
    /// Callers that were to be found afterwards, and could not; nobody writes it.
    pub const NOT_CHAINED: u64 = 4;
}

/// Kind of frame and bytecode index in one word.
pub const fn place_word(kind: u32, bci: Option<u32>) -> u32 {
    match bci {
        Some(bci) if bci < NO_BCI => kind << 24 | bci,
        _ => kind << 24 | NO_BCI,
    }
}

/// Stands for a bytecode index nobody knows.
pub const NO_BCI: u32 = 0xff_ffff;

/// Fields of a sample: at this time, this context was charged so much of a metric.
pub mod sample {
    /// `u64`: when, in nanoseconds of the machine's monotonic clock.
    pub const TIME: u64 = 0;
    /// `u64`: how much it stands for, in the metric's unit.
    pub const VALUE: u64 = 8;
    /// `u32`: the context.
    pub const CONTEXT: u64 = 16;
    /// `u32`: the thread, see [`crate::record::Record::SampledThread`]; with [`super::VIRTUAL`], the rest is of a virtual
    /// one's own id.
    pub const THREAD: u64 = 20;
    /// `u32`: the metric (16 bits), see [`crate::record::Record::Metric`], and one of [`super::run_state`] (8 bits). Written
    /// last: 0 until then.
    pub const METRIC: u64 = 24;
    /// `u32`: on whose behalf, see [`crate::record::Record::SampledLabel`]; 0 for nothing in particular.
    pub const LABELS: u64 = 28;
    /// `u32`: how many occurrences it stands for.
    pub const COUNT: u64 = 32;
    /// `u32`: what it was about, see [`crate::record::Record::Detail`]; 0 for nothing in particular.
    pub const DETAIL: u64 = 36;
    /// Size of a sample.
    pub const SIZE: u64 = 40;
}

/// Fields of an object that is watched: those of a sample, which was taken when it was made, and two more. Other than
/// samples, its place is used again once it is gone; its metric is 0 then.
pub mod object {
    /// `u32`: how many collections there had been when it was made.
    pub const BORN: u64 = 40;
    /// `u32`: how many there had been when it was last seen to be there.
    pub const SEEN: u64 = 44;
    /// Size of an object.
    pub const SIZE: u64 = 48;
}

/// Fields of a series: what the objects of one class that one context made took after collections.
pub mod growth {
    /// `u32`: the context.
    pub const CONTEXT: u64 = 0;
    /// `u32`: the thread, as in a sample.
    pub const THREAD: u64 = 4;
    /// `u32`: the class, as in a sample.
    pub const DETAIL: u64 = 8;
    /// `u32`: one of the following (16 bits) and the number of points (16 bits); 0 if nothing is here. Written last.
    pub const WHAT: u64 = 12;
    /// A point is the number of bytes.
    pub const BYTES: u32 = 1;
    /// A point is the number of collections there had been, the same for all series; it has no context.
    pub const COLLECTIONS: u32 = 2;
    /// The points, `u64` each.
    pub const POINTS: u64 = 16;
    /// Points at the most.
    pub const MOST: usize = 16;
    /// Size of a series.
    pub const SIZE: u64 = POINTS + 8 * MOST as u64;
}

/// Fields of an event of the timeline: something that took place at a time, or over a stretch of it.
pub mod event {
    /// `u64`: when it began, in nanoseconds of the machine's monotonic clock.
    pub const TIME: u64 = 0;
    /// `u64`: nanoseconds it lasted; 0 for an instant.
    pub const DURATION: u64 = 8;
    /// Two `u64`: numbers that the kind of event has names for.
    pub const VALUES: u64 = 16;
    /// `u32`: what it was, see [`crate::record::Record::EventKind`]. Written last: 0 until then.
    pub const KIND: u64 = 32;
    /// `u32`: the thread, as in a sample; 0 for none.
    pub const THREAD: u64 = 36;
    /// `u32`: what it was about, as in a sample.
    pub const DETAIL: u64 = 40;
    /// `u32`: the context, or 0.
    pub const CONTEXT: u64 = 44;
    /// Size of an event.
    pub const SIZE: u64 = 48;
}

/// Bit of a sample's thread: it is a virtual one.
pub const VIRTUAL: u32 = 1 << 31;

/// What samples of a metric are told apart by, beside their sum.
pub mod parts {
    /// Nothing.
    pub const NONE: u32 = 0;
    /// The kind of code that was running: interpreted, compiled, native.
    pub const TIERS: u32 = 1;
    /// What the thread was doing, one of [`super::run_state`].
    pub const STATES: u32 = 2;
    /// How many collections an object has survived: the largest of [`AGES`] that is not more.
    pub const AGE: u32 = 3;
    /// Where groups of ages begin.
    pub const AGES: [u32; 6] = [1, 2, 4, 8, 16, 64];
}

/// How values of a metric combine.
pub mod aggregation {
    /// A node's total is the sum over its subtree.
    pub const SUM: u32 = 0;
    /// Adds up when nodes become one, but a total over a subtree means nothing.
    pub const COUNT: u32 = 1;
    /// The largest one.
    pub const MAX: u32 = 2;
}

/// What a detail of a sample, an event or a column is.
pub mod detail {
    /// A class of objects that were made.
    pub const ALLOCATED: u32 = 1;
    /// A lock that was waited for or held.
    pub const LOCK: u32 = 2;
    /// Something that was touched: a class of objects, or another place in memory.
    pub const OBJECT: u32 = 3;
    /// Just a name.
    pub const NAME: u32 = 4;
    /// A class.
    pub const CLASS: u32 = 5;
}

/// What a thread was doing.
pub mod run_state {
    /// Names, by number.
    pub const NAMES: [&str; 8] =
        ["unknown", "running", "runnable", "blocked", "waiting", "parked", "sleeping", "native"];
    /// On a processor.
    pub const RUNNING: u32 = 1;
    /// Waiting for a processor.
    pub const RUNNABLE: u32 = 2;
    /// Waiting for a monitor.
    pub const BLOCKED: u32 = 3;
    /// In `Object.wait`.
    pub const WAITING: u32 = 4;
    /// In `LockSupport.park`.
    pub const PARKED: u32 = 5;
    /// In `Thread.sleep`.
    pub const SLEEPING: u32 = 6;
    /// Waiting in native code: for a file, a socket, a lock of its own.
    pub const NATIVE: u32 = 7;
}

/// Method id of the root of every tree.
pub const ROOT_METHOD: u32 = 0;
/// Slots of a root.
pub const ROOT_SLOTS: u32 = 2;

/// Bit of a node's depth: it is not shown.
pub const HIDDEN: u32 = 1 << 30;

/// Roots of a tree, told apart by their [`node::SITE`].
pub mod root {
    /// Of what the thread calls.
    pub const CALLS: u16 = 0;
    /// Of what it does to load and link classes.
    pub const LOADING: u16 = 1;
    /// Of what opaque methods call.
    pub const HIDDEN: u16 = 2;
}
/// Method ids are below this: the table of node sizes is reserved for so many.
pub const MAX_METHODS: u32 = 1 << 22;
/// The most slots a node can have (its size must fit [`node::STRIDE`]).
pub const MAX_SLOTS: u32 = 20_000;

/// How a method id stands in [`node::METHOD`].
pub const fn method_word(method: u32) -> u32 {
    method << 1 | 1
}

/// Size in bytes of a node with this many slots and columns: counters of blocks, and others.
pub const fn node_size(slots: u32, columns: u32) -> u64 {
    node::SLOTS + slot::SIZE * slots as u64 + 8 * columns as u64
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
    // Contexts lie at multiples of their size from the start of the file.
    assert!(chunk::HEADER.is_multiple_of(context::SIZE) && CHUNK_ALIGN.is_multiple_of(context::SIZE));
    assert!(sample::SIZE.is_multiple_of(8) && event::SIZE.is_multiple_of(8));
    assert!(object::SIZE.is_multiple_of(8) && growth::SIZE.is_multiple_of(8) && object::BORN == sample::SIZE);
    assert!(header::LOST + 8 * CAUSES.len() as u64 <= HEADER_SIZE);
    assert!(MAX_LIMIT / context::SIZE <= u32::MAX as u64);
    assert!(slot::BYTECODES == node::BYTECODES);
    // What counts in a slot counts in a cell, at an address that is less by the difference.
    assert!(slot::BYTECODES - slot::CALLS == tally::BYTECODES);
    // A slot that is charged has the one behind it for that.
    assert!(header::NEW_THREAD + 2 * slot::SIZE <= header::LOST);
    assert!(MAX_LIMIT / LINK_UNIT <= i32::MAX as u64 + 1);
    assert!(header::NEW_THREAD.is_multiple_of(8) && header::NEW_THREAD + slot::SIZE <= HEADER_SIZE);
};
