//! Frames of stubs: they may have one or none, so the return address is looked for where it can be.

use quipu_unwind::Registers;

use super::code::{Blob, BlobKind};
use super::{Broken, LARGEST_FRAME, WORD, Walk, caller};

/// Words of a stub's frame that are searched for a return address.
const STUB_WORDS: usize = 16;

impl Walk<'_> {
    /// The caller of a stub.
    pub(super) fn stub(&mut self, at: &Registers, blob: Blob) -> Result<Registers, Broken> {
        let code = self.code;
        let (sp, fp) = (at.sp(), at.fp());
        if blob.kind == BlobKind::Adapter {
            return self.entering(at).ok_or(Broken::Stub);
        }
        let size = blob.frame_size(&code).ok_or(Broken::Fault)?;
        let complete = !at.youngest || blob.is_complete_at(&code, at.pc).ok_or(Broken::Fault)?;
        if size >= 2 * WORD && complete {
            let behind = sp.checked_add(size).ok_or(Broken::Frame)?;
            let pc = self.word(behind - WORD)?;
            // A frame that is to be replaced has no return address, but where that is arranged.
            let replaced = blob.kind == BlobKind::Deoptimisation && code.contains(pc);
            if replaced || code.is_return_address(pc) {
                return Ok(caller(pc, behind, self.word(behind - 2 * WORD)?));
            }
        }
        let on_stack = |words: usize| code.memory.word(sp + words * WORD);
        if let Some(pc) = on_stack(0).filter(|&pc| code.is_return_address(pc)) {
            return Ok(caller(pc, sp + WORD, fp));
        }
        if fp >= sp && fp - sp < LARGEST_FRAME && fp.is_multiple_of(WORD) {
            // Above the caller's frame pointer; or one further, if room was left for another stack pointer.
            for words in [1, 2] {
                if let Some(pc) = code.memory.word(fp + words * WORD).filter(|&pc| code.is_return_address(pc))
                {
                    return Ok(caller(pc, fp + (words + 1) * WORD, self.word(fp)?));
                }
            }
        }
        for words in 1..STUB_WORDS {
            if let Some(pc) = on_stack(words).filter(|&pc| code.is_return_address(pc)) {
                return Ok(caller(pc, sp + (words + 1) * WORD, on_stack(words - 1).unwrap_or(0)));
            }
        }
        Err(if blob.kind == BlobKind::Deoptimisation { Broken::Deoptimising } else { Broken::Stub })
    }
}
