//! Frames of the interpreter: the frame pointer is in a register, method and bytecode pointer in fixed places from it.

use quipu_unwind::{Registers, dwarf};

use super::{Broken, HEAP_WORDS, Kind, WORD, Walk, caller};
use crate::hotspot::methods::Identity;

/// Places in an interpreted frame, in words from the frame pointer.
mod interpreted {
    pub const CALLER_SP: usize = 1;
    pub const METHOD: usize = 3;
    /// Words below the frame pointer that are not operands, and some more that a call may have put there.
    pub const MORE: usize = 48;
    /// Words below the frame pointer that every frame has, beside those down to the bytecode pointer.
    pub const MORE_AT_LEAST: usize = 1;
}

impl Walk<'_> {
    pub(super) fn interpreted(&mut self, at: &Registers) -> Result<Registers, Broken> {
        let (memory, layout) = (self.code.memory, self.code.layout);
        let (fp, sp) = (at.fp(), at.sp());
        let slot = |words: usize| memory.word(fp.wrapping_sub(words * WORD));
        if fp.is_multiple_of(WORD)
            && fp > sp
            && fp < self.top
            && let Some(method) = slot(interpreted::METHOD)
            && let Some(found) = self.method_of_frame(at, method)
        {
            let (begin, length) = layout.methods.bytecode(memory, method).ok_or(Broken::Fault)?;
            let place = |pointer: usize| pointer.checked_sub(begin).filter(|&bci| bci < length);
            // The youngest has its place in a register, and writes it down when it calls.
            let register = at.get(dwarf::R13).filter(|_| at.youngest).and_then(place);
            let bci =
                register.or_else(|| place(slot(layout.interpreted_bytecode)?)).map_or(0, |bci| bci as i32);
            match length {
                0 => self.found.push(Kind::Native, found.id, -1)?,
                _ => self.push_identified(Kind::Interpreted, found, bci)?,
            }
            let (pc, outer) = (self.word(fp + WORD)?, self.linked(fp)?);
            let behind = fp + 2 * WORD;
            if self.in_heap {
                // Arguments of a compiled caller may lie between the frames.
                let places: [usize; HEAP_WORDS] = std::array::from_fn(|words| behind + words * WORD);
                return Ok(self.first_frame(pc, outer, places).unwrap_or(caller(pc, behind, outer)));
            }
            let caller_sp = slot(interpreted::CALLER_SP).ok_or(Broken::Fault)?;
            return Ok(caller(pc, if caller_sp > fp { caller_sp } else { behind }, outer));
        }
        if self.thread != 0 && self.word(self.thread + layout.thread_deoptimising)? != 0 {
            return Err(Broken::Deoptimising);
        }
        if at.youngest { self.entering_interpreter(at) } else { Err(Broken::Interpreter) }
    }

    /// How the method of an interpreted frame is known, if it is one.
    fn method_of_frame(&self, at: &Registers, method: usize) -> Option<Identity> {
        let (memory, layout) = (self.code.memory, self.code.layout);
        if !at.youngest {
            return layout.methods.identify(memory, method);
        }
        // The frame pointer may still be, or be again, that of a caller further up.
        let operands = layout.methods.max_stack(memory, method)?;
        let near = at.fp() - at.sp() <= (operands + interpreted::MORE) * WORD;
        near.then(|| layout.methods.identify_suspect(memory, method))?
    }

    /// A method that has not built its frame yet: the method is in a register, and so may be the return address.
    fn entering_interpreter(&mut self, at: &Registers) -> Result<Registers, Broken> {
        let (memory, layout) = (self.code.memory, self.code.layout);
        let method = at.get(dwarf::RBX).ok_or(Broken::Interpreter)?;
        let found = layout.methods.identify_suspect(memory, method).ok_or(Broken::Interpreter)?;
        let next = self.entering(at).ok_or(Broken::Interpreter)?;
        self.push_identified(Kind::Interpreted, found, 0)?;
        Ok(next)
    }

    /// The caller of what is on its way into the interpreter.
    pub(super) fn entering(&self, at: &Registers) -> Option<Registers> {
        let (memory, sp, fp) = (self.code.memory, at.sp(), at.fp());
        // Compiled callers have room for arguments added to their frame, and leave word of where it ended.
        let noted = at.get(dwarf::R13)?;
        let least = self.code.layout.interpreted_bytecode + interpreted::MORE_AT_LEAST;
        if fp >= sp && fp - sp < least * WORD {
            // The frame is being built: what is above the frame pointer is there already.
            let pc = memory.word(fp + WORD).filter(|&pc| self.code.is_return_address(pc))?;
            let pushed = if fp > sp { memory.word(fp - WORD)? } else { noted };
            let outer = memory.word(fp)?;
            return self.first_frame(pc, outer, [pushed, fp + 2 * WORD]);
        }
        let on_stack = memory.word(sp)?;
        let pc = [on_stack, at.get(dwarf::RAX)?].into_iter().find(|&pc| self.code.is_return_address(pc))?;
        let behind = if pc == on_stack { sp + WORD } else { sp };
        self.first_frame(pc, fp, [behind, noted])
    }
}
