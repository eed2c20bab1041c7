//! For tests: beside the context that a thread has published, the one that a walk finds in the same signal. Both are told as
//! events with the sample's time, so that they can be compared sample by sample.
//!
//! It is in agents with debug assertions only, and does something only if `QUIPU_COMPARE_WALKS` is in the environment.

use std::sync::atomic::{AtomicU32, Ordering};

use quipu_arena::append::Event;
use quipu_arena::writer::ArenaWriter;

use super::Engine;
use super::chain::Extent;
use super::timeline;
use super::walk::Interrupted;

/// Where the thread is as it has published it, and as a walk finds it.
static KINDS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
const NAMES: [&str; 2] = ["test.published", "test.walked"];

/// Slots are published from now on.
pub fn begin(arena: &ArenaWriter) {
    if std::env::var_os("QUIPU_COMPARE_WALKS").is_none() {
        return;
    }
    for (kind, name) in KINDS.iter().zip(NAMES) {
        let event = quipu_kinds::Event { name, values: ["", ""], help: "" };
        kind.store(timeline::declare(arena, &event), Ordering::Release);
    }
    timeline::make_room(arena);
}

/// Tells of a sample with a published context. For signal handlers.
pub fn tell(engine: &Engine, interrupted: Interrupted, time: u64, thread: u32, context: u32) {
    let [published, walked] = KINDS.each_ref().map(|kind| kind.load(Ordering::Acquire));
    if published == 0 {
        return;
    }
    // SAFETY: the identity is this thread's, so the environment is; the context is the handler's.
    let stack = unsafe { engine.walker.walk(engine.arena, &engine.contexts, interrupted, Extent::WALK) };
    let Some(stack) = stack else { return };
    for (kind, context) in [(published, context), (walked, stack.context)] {
        timeline::append(engine.arena, &Event { time, thread, kind, context, ..Event::default() });
    }
}
