//! What is missing from a sampled profile, by cause: counters in the arena's header.

use quipu_arena::layout::{self, header};
use quipu_arena::writer::ArenaWriter;

/// Places in [`layout::CAUSES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    NoClassLoad,
    Gc,
    UnknownNotJava,
    NotWalkableNotJava,
    UnknownJava,
    NotWalkableJava,
    UnknownState,
    ThreadExit,
    Deoptimising,
    Safepoint,
    Fault,
    Truncated,
    NoRoom,
    TooManyAtOnce,
    Unwatched,
    UnknownCode,
    BrokenFrame,
    Interpreter,
    Stub,
    MachineCode,
    Continuation,
    NoKernelFrames,
    NoRoomForEvent,
    NoRoomForDetail,
    NoRoomForObject,
    WithoutEvents,
}

const _: () = assert!(Cause::WithoutEvents as usize + 1 == layout::CAUSES.len());

/// Counts one. For signal handlers, too.
pub fn count(arena: &ArenaWriter, cause: Cause) {
    arena.add(header::LOST + 8 * cause as u64, 1);
}
