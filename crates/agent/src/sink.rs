//! Nodes outside every tree, for calls whose context cannot be kept.

use quipu_arena::layout::{self, node, slot};

/// Makes one, with as many slots as any method may use, all of them empty and owned by `owner`. It is never freed:
/// compiled code knows its address.
pub fn new(owner: u32) -> *mut u8 {
    // In words of 8 bytes, so that the counters in it are aligned.
    let mut words = vec![0u64; layout::node_size(layout::MAX_SLOTS, 0) as usize / 8];
    let slots = words.iter_mut().skip(node::SLOTS as usize / 8).step_by(slot::SIZE as usize / 8);
    for word in slots {
        // The method word is the lower half in memory, the node's id the upper one.
        *word = if cfg!(target_endian = "little") { u64::from(owner) << 32 } else { owner.into() };
    }
    words.leak().as_mut_ptr().cast()
}
