//! The stack of the interrupted thread, as frames in the tree of contexts.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use quipu_arena::append::Context;
use quipu_arena::layout::{self, frame, header, mark, place_word};
use quipu_arena::writer::ArenaWriter;
use quipu_jvm::hotspot::{AsyncGetCallTrace, CallFrame, CallTrace, WalkFailure};
use quipu_jvm::sys::{JNIEnv, jvmtiFrameInfo};

use super::contexts::Contexts;
use super::fault::{self, Recovery};
use super::lost::{self, Cause};
use super::memory::{Zeroed, reserve};

/// Frames of one walk; older ones are cut off.
pub const DEEPEST: usize = 4096;
/// Walks that can be under way at the same time.
const AT_ONCE: usize = 64;

/// Walks stacks, in memory that was laid out before.
pub struct Walker {
    walk: AsyncGetCallTrace,
    buffers: &'static [Buffer],
    recoveries: &'static [Recovery],
}

/// Room for one walk.
struct Buffer {
    taken: AtomicBool,
    frames: UnsafeCell<[CallFrame; DEEPEST]>,
}

// SAFETY: `frames` is used by whoever took the buffer, alone.
unsafe impl Sync for Buffer {}
// SAFETY: an atomic, numbers and pointers.
unsafe impl Zeroed for Buffer {}

impl Walker {
    /// A walker that uses HotSpot's own walk; `None` without memory.
    pub fn new(walk: AsyncGetCallTrace) -> Option<Walker> {
        let walker = Walker { walk, buffers: reserve(AT_ONCE)?, recoveries: reserve(AT_ONCE)? };
        fault::install(walker.recoveries);
        Some(walker)
    }

    /// Walks the stack of this thread, whose id is `tid`, interrupted in `ucontext`, and returns its context; a stack that
    /// cannot be walked is the context of a mark that says why. `None` if there is no room. For signal handlers.
    ///
    /// # Safety
    /// `env` is this thread's, or null; `ucontext` is what the kernel passed to the signal handler.
    pub unsafe fn walk(
        &self,
        arena: &ArenaWriter,
        contexts: &Contexts,
        tid: i32,
        env: *mut JNIEnv,
        ucontext: *mut c_void,
    ) -> Option<u32> {
        if env.is_null() {
            return find(arena, contexts, marked(0, mark::NOT_JAVA));
        }
        let start = tid as usize % AT_ONCE;
        let order = (start..AT_ONCE).chain(0..start);
        let free = |&at: &usize| {
            self.buffers.get(at).is_some_and(|buffer| {
                buffer.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
            })
        };
        let Some((buffer, recovery)) = order
            .into_iter()
            .find(free)
            .and_then(|at| Some((self.buffers.get(at)?, self.recoveries.get(at)?)))
        else {
            lost::count(arena, Cause::TooManyAtOnce);
            return None;
        };
        arena.add(header::WALKS, 1);
        let frames = buffer.frames.get().cast::<CallFrame>();
        let mut trace = CallTrace { env, frames_or_failure: 0, frames };
        // SAFETY: the caller's promises; the buffer is ours until it is given back.
        let found = unsafe {
            match recovery.walk(tid, self.walk, &raw mut trace, DEEPEST as i32, ucontext) {
                false => failed(arena, contexts, Cause::Fault),
                true => match usize::try_from(trace.frames_or_failure) {
                    Ok(0) => find(arena, contexts, marked(0, mark::NO_FRAMES)),
                    Ok(count) => {
                        let frames = std::slice::from_raw_parts(frames, count.min(DEEPEST));
                        let frames = frames
                            .iter()
                            .map(|frame| (frame.method as usize as u64, u32::try_from(frame.bci).ok()));
                        insert(arena, contexts, frames)
                    }
                    Err(_) => failed(arena, contexts, cause_of(trace.frames_or_failure)),
                },
            }
        };
        buffer.taken.store(false, Ordering::Release);
        found
    }
}

impl Walker {
    /// The context of a stack that the VM walked. Not in signal handlers, though it could be.
    pub fn insert_waiting(
        &self,
        arena: &ArenaWriter,
        contexts: &Contexts,
        frames: &[jvmtiFrameInfo],
    ) -> Option<u32> {
        if frames.is_empty() {
            return find(arena, contexts, marked(0, mark::NO_FRAMES));
        }
        let frames =
            frames.iter().map(|frame| (frame.method as usize as u64, u32::try_from(frame.location).ok()));
        insert(arena, contexts, frames)
    }
}

/// The context of a stack, given with the youngest frame first.
fn insert(
    arena: &ArenaWriter,
    contexts: &Contexts,
    frames: impl DoubleEndedIterator<Item = (u64, Option<u32>)> + ExactSizeIterator,
) -> Option<u32> {
    let mut context = 0;
    if frames.len() == DEEPEST {
        context = failed(arena, contexts, Cause::Truncated)?;
    }
    for (code, bci) in frames.rev() {
        let next = match (code, bci) {
            (0, _) => marked(context, mark::UNKNOWN_METHOD),
            (code, Some(bci)) => Context { code, parent: context, place: place_word(frame::JAVA, Some(bci)) },
            (code, None) => Context { code, parent: context, place: place_word(frame::NATIVE, None) },
        };
        context = find(arena, contexts, next)?;
    }
    Some(context)
}

fn marked(parent: u32, mark: u64) -> Context {
    Context { code: mark, parent, place: place_word(frame::MARK, None) }
}

fn failed(arena: &ArenaWriter, contexts: &Contexts, cause: Cause) -> Option<u32> {
    lost::count(arena, cause);
    find(arena, contexts, marked(0, mark::FAILED + cause as u64))
}

fn find(arena: &ArenaWriter, contexts: &Contexts, wanted: Context) -> Option<u32> {
    let found = contexts.find(arena, wanted);
    if found.is_none() {
        lost::count(arena, Cause::NoRoom);
    }
    found
}

fn cause_of(answer: i32) -> Cause {
    match WalkFailure::of(answer) {
        Some(WalkFailure::NoClassLoad) => Cause::NoClassLoad,
        Some(WalkFailure::Gc) => Cause::Gc,
        Some(WalkFailure::UnknownNotJava) => Cause::UnknownNotJava,
        Some(WalkFailure::NotWalkableNotJava) => Cause::NotWalkableNotJava,
        Some(WalkFailure::UnknownJava) => Cause::UnknownJava,
        Some(WalkFailure::NotWalkableJava) => Cause::NotWalkableJava,
        Some(WalkFailure::ThreadExit) => Cause::ThreadExit,
        Some(WalkFailure::Deoptimising) => Cause::Deoptimising,
        Some(WalkFailure::Safepoint) => Cause::Safepoint,
        Some(WalkFailure::UnknownState) | None => Cause::UnknownState,
    }
}

const _: () = assert!(mark::FAILED as usize > layout::CAUSES.len());
