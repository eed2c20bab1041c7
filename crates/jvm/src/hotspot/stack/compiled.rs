//! Frames of compiled methods: of a fixed size, except in a method's first and last instructions.

use quipu_unwind::Registers;

use super::code::{Blob, BlobKind};
use super::instructions::{self, Prologue};
use super::{Broken, Kind, WORD, Walk, caller};
use crate::hotspot::methods::Identity;

/// Words that compiled code may have pushed beyond its frame.
const MOST_PUSHED: usize = 4;

impl Walk<'_> {
    pub(super) fn compiled(&mut self, at: &Registers, blob: Blob) -> Result<Registers, Broken> {
        let code = self.code;
        let sp = at.sp();
        let there =
            if at.youngest { self.how_much(at, blob).ok_or(Broken::Fault)? } else { Prologue::Complete };
        let pc = match there {
            Prologue::Complete => blob.original_pc(&code, at.pc, sp).ok_or(Broken::Fault)?,
            _ => at.pc,
        };
        self.scopes(pc, at.youngest, blob)?;
        let size = match there {
            Prologue::Nothing => WORD,
            Prologue::Pushed => 2 * WORD,
            Prologue::Complete => {
                blob.frame_size(&code).filter(|&size| size >= 2 * WORD).ok_or(Broken::Frame)?
            }
        };
        let behind = sp.checked_add(size).ok_or(Broken::Frame)?;
        let mut next = self.called(behind, there, at.fp())?;
        if !code.contains(next.pc) {
            // Around some calls of stubs, C1 has a few words more on the stack.
            let more = (1..=MOST_PUSHED).map(|words| self.called(behind + words * WORD, there, at.fp()));
            next = more.flatten().find(|next| code.is_return_address(next.pc)).unwrap_or(next);
        }
        Ok(next)
    }

    /// The caller of a compiled frame that ends here.
    fn called(&self, behind: usize, there: Prologue, fp: usize) -> Result<Registers, Broken> {
        let fp = match there {
            Prologue::Nothing => fp,
            _ => self.linked(behind - 2 * WORD)?,
        };
        Ok(caller(self.word(behind - WORD)?, behind, fp))
    }

    /// How much of the youngest frame is there.
    fn how_much(&self, at: &Registers, blob: Blob) -> Option<Prologue> {
        /// Longer than all instructions of an entry, or of an exit.
        const BYTES: usize = 32;
        let code = self.code;
        let entry = blob.entry(&code)?;
        let complete = blob.is_complete_at(&code, at.pc)?;
        if at.pc < entry && !complete {
            // The check of the receiver's class comes before the entry.
            return Some(Prologue::Nothing);
        }
        if (entry..entry + BYTES).contains(&at.pc) || !complete {
            let mut bytes = [0u8; BYTES];
            let executed = bytes.get_mut(..(at.pc - entry).min(BYTES))?;
            for (i, byte) in executed.iter_mut().enumerate() {
                *byte = code.memory.u8(entry + i)?;
            }
            let built = instructions::below_return(executed);
            if built != Prologue::Complete {
                return Some(built);
            }
        }
        let coming = code.memory.bytes::<BYTES>(at.pc)?;
        Some(instructions::epilogue(&coming).unwrap_or(Prologue::Complete))
    }

    /// The methods at a place of a compiled one.
    fn scopes(&mut self, pc: usize, youngest: bool, blob: Blob) -> Result<(), Broken> {
        let code = self.code;
        let memory = code.memory;
        if blob.kind == BlobKind::NativeCall {
            let method = blob.method(&code).ok_or(Broken::Fault)?;
            return self.push_method(Kind::Native, method, -1);
        }
        let kind = match blob.level(&code).ok_or(Broken::Fault)? {
            1..=3 => Kind::C1,
            _ => Kind::C2,
        };
        // What is described for an address holds for the instructions before it: for a caller that is where it goes on.
        let place = pc + usize::from(youngest);
        let place = place.checked_sub(blob.begin(&code).ok_or(Broken::Fault)?).ok_or(Broken::Frame)?;
        let mut pushed = Ok(());
        let described = blob.descriptions(&code).and_then(|descriptions| {
            descriptions.at(memory, place, |scope| {
                pushed = self.push_method(kind, scope.method, scope.bci.max(0));
                pushed.is_ok()
            })
        });
        match described {
            Some(()) => pushed,
            None => {
                let method = blob.method(&code).ok_or(Broken::Fault)?;
                self.push_method(kind, method, 0)
            }
        }
    }

    fn push_method(&mut self, kind: Kind, method: usize, bci: i32) -> Result<(), Broken> {
        match self.code.layout.methods.identify(self.code.memory, method) {
            Some(found) => self.push_identified(kind, found, bci),
            None => self.found.push(Kind::Nameless, 0, bci),
        }
    }

    /// Tells of a frame; where it is in an old version of its method means nothing in the one it goes by.
    pub(super) fn push_identified(&mut self, kind: Kind, found: Identity, bci: i32) -> Result<(), Broken> {
        self.found.push(kind, found.id, if found.replaced { -1 } else { bci })
    }
}
