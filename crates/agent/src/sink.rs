//! Nodes outside every tree, for calls whose context cannot be kept.

use quipu_arena::layout::{self, node};

/// Makes one, with as many slots as any method may use. It is never freed: compiled code knows its address.
pub fn new(slot: u32) -> *mut u8 {
    let header = node::SLOTS as usize / 8;
    let size = layout::node_size(layout::MAX_SLOTS, 0) as usize / 8;
    // In words of 8 bytes, so that the counters in it are aligned.
    let pair = u64::from(slot) << 32 | u64::from(slot);
    let words: Vec<u64> = (0..size).map(|i| if i < header { 0 } else { pair }).collect();
    words.leak().as_mut_ptr().cast()
}
