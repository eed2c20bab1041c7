//! What inserted code takes for granted of the memory that it counts in. This crate does not know that memory: the
//! crates that give it to rewritten code assert that it is as described here.

/// Bytes that a method takes in a tally.
pub const TALLY_CELL: u32 = 16;

/// Slots that a node can have.
pub const MOST_SLOTS: u32 = 20_000;

/// How a method stands in a node, or in a slot that holds a node of it.
pub const fn method_word(id: u32) -> u32 {
    id << 1 | 1
}
