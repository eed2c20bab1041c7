//! Frames of virtual threads: the older ones are in the heap ([`super::continuations`]).

use quipu_unwind::Registers;

use super::code::BlobKind;
use super::{Broken, HEAP_WORDS, LARGEST_FRAME, WORD, Walk, caller};

/// Chunks that the frames of one virtual thread are in, at most.
const MOST_CHUNKS: usize = 64;

impl Walk<'_> {
    /// Whether a frame would return to where the next ones of a virtual thread are put on the stack.
    pub(super) fn is_barrier(&self, at: &Registers) -> bool {
        !at.youngest
            && !self.code.interpreted(at.pc)
            && self.code.find(at.pc).is_some_and(|blob| blob.kind == BlobKind::Continuation)
    }

    /// Whether this is the frame that entered a continuation. There are two calls in it: a thread that was never taken off its
    /// carrier returns to behind the one, any other to behind the other, which is the one that the VM tells of.
    pub(super) fn is_entry(&self, at: &Registers) -> bool {
        let (begin, end) = self.entry;
        at.pc == self.code.layout.continuation_return || !at.youngest && begin <= at.pc && at.pc < end
    }

    pub(super) fn virtual_id(&self) -> Result<u64, Broken> {
        let id = self.continuations.and_then(|known| known.id(self.code.memory, self.thread));
        id.ok_or(Broken::Continuation)
    }

    /// The frames of a virtual thread that are in the heap.
    pub(super) fn heap(&mut self) -> Result<(), Broken> {
        let memory = self.code.memory;
        self.virtual_thread = Some(self.virtual_id()?);
        let continuations = self.continuations.ok_or(Broken::Continuation)?;
        // Something must be there: that is what the barrier is for.
        let mut next = Some(continuations.tail(memory, self.thread).ok_or(Broken::Continuation)?);
        (self.in_heap, self.top) = (true, usize::MAX);
        for _ in 0..MOST_CHUNKS {
            let Some(chunk) = next else {
                let oldest = self.found.count.checked_sub(1).and_then(|last| self.found.frames.get(last));
                let whole = oldest.is_some_and(|frame| frame.code == continuations.enter());
                return if whole { Ok(()) } else { Err(Broken::Continuation) };
            };
            if chunk.sp < chunk.end {
                let link = chunk.sp - 2 * WORD;
                let mut at = caller(self.word(chunk.sp - WORD)?, chunk.sp, self.linked(link)?);
                // What called the oldest is not noted in a chunk.
                while at.sp() < chunk.end
                    && (self.code.contains(at.pc) || chunk.end - at.sp() > HEAP_WORDS * WORD)
                {
                    let next = self.called_by(&at)?;
                    if next.sp() <= at.sp() || next.sp() - at.sp() > LARGEST_FRAME {
                        return Err(Broken::Continuation);
                    }
                    at = next;
                }
            }
            next = continuations.parent(memory, chunk);
        }
        Err(Broken::Continuation)
    }

    /// The frame pointer that was saved at an address.
    pub(super) fn linked(&self, address: usize) -> Result<usize, Broken> {
        let saved = self.word(address)?;
        Ok(if self.in_heap { address.wrapping_add(saved.wrapping_mul(WORD)) } else { saved })
    }
}
