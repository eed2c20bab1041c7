//! The code cache: from an address to what the VM put there.

use quipu_unwind::Memory;

use super::instructions;
use super::layout::{Layout, Metadata, Place, Scopes};
use super::scopes::Descriptions;

/// Code the VM made: a compiled method, a stub, the interpreter.
#[derive(Debug, Clone, Copy)]
pub struct Blob {
    at: usize,
    /// What kind of code it is.
    pub kind: BlobKind,
}

/// Kinds of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobKind {
    /// A method that was compiled.
    Compiled,
    /// What calls a native method.
    NativeCall,
    /// What arguments go through between interpreted and compiled code.
    Adapter,
    /// Where a frame is replaced by others.
    Deoptimisation,
    /// What continuations are made with: as a caller, the place where the rest of the stack is put back.
    Continuation,
    /// Any other.
    Stub,
}

/// Finds code.
#[derive(Debug, Clone, Copy)]
pub struct CodeCache<'l> {
    /// Where memory is read.
    pub memory: Memory,
    /// Where things are in it.
    pub layout: &'l Layout,
}

impl CodeCache<'_> {
    /// Whether this may be code of the VM's.
    pub fn contains(&self, address: usize) -> bool {
        self.layout.code.0 <= address && address < self.layout.code.1
    }

    /// Whether this is in the interpreter.
    pub fn interpreted(&self, address: usize) -> bool {
        self.layout.interpreter.0 <= address && address < self.layout.interpreter.1
    }

    /// The code around this address, from its first byte to behind its last.
    pub fn extent(&self, address: usize) -> Option<(usize, usize)> {
        let blob = self.find(address)?;
        let size = usize::try_from(self.memory.i32(blob.at + self.layout.blob_size)?).ok()?;
        Some((blob.at, blob.at + size))
    }

    /// What is at this address.
    pub fn find(&self, address: usize) -> Option<Blob> {
        /// A segment in no block.
        const FREE: u8 = 0xff;
        let heap = self.layout.heaps.iter().find(|heap| heap.low <= address && address < heap.high)?;
        let mut segment = (address - heap.low) >> heap.shift;
        // Each segment says how far its block's beginning is at least; the first says 0.
        let block = loop {
            match self.memory.u8(heap.segments + segment)? {
                FREE => return None,
                0 => break heap.low + (segment << heap.shift),
                back => segment = segment.checked_sub(usize::from(back))?,
            }
        };
        if self.memory.u8(block + self.layout.block_used)? == 0 {
            return None;
        }
        let at = block + self.layout.block_size;
        let size = self.memory.i32(at + self.layout.blob_size)?;
        if address < at || address - at >= usize::try_from(size).ok()? {
            return None;
        }
        Some(Blob { at, kind: self.kind(at)? })
    }

    fn kind(&self, blob: usize) -> Option<BlobKind> {
        let name = self.memory.word(blob + self.layout.blob_name)?;
        let begins = |text: &[u8]| {
            text.iter().enumerate().all(|(i, byte)| self.memory.u8(name + i).as_ref() == Some(byte))
        };
        Some(match self.memory.u8(name)? {
            b'n' if begins(b"nmethod") => BlobKind::Compiled,
            b'n' if begins(b"native nmethod") => BlobKind::NativeCall,
            b'I' if begins(b"I2C/C2I") => BlobKind::Adapter,
            b'D' if begins(b"Deoptimization") => BlobKind::Deoptimisation,
            b'S' if begins(b"StubRoutines (cont") => BlobKind::Continuation,
            b'U' if begins(b"UncommonTrap") => BlobKind::Deoptimisation,
            _ => BlobKind::Stub,
        })
    }

    /// Whether a caller may go on at this address: only what the VM made calls what the VM made.
    pub fn is_return_address(&self, address: usize) -> bool {
        if !self.contains(address) {
            return false;
        }
        // Where the interpreter goes on is no place behind a call.
        let layout = self.layout;
        if self.interpreted(address)
            || [layout.call_stub_return, layout.continuation_return].contains(&address)
        {
            return true;
        }
        let Some(blob) = self.find(address) else { return false };
        let compiled = matches!(blob.kind, BlobKind::Compiled | BlobKind::NativeCall);
        let before = self.memory.bytes::<7>(address.wrapping_sub(7));
        compiled && before.is_some_and(|before| instructions::ends_with_call(&before))
    }
}

impl Blob {
    /// Size of its frames in bytes, return address included; 0 if they have none, or none that is known.
    pub fn frame_size(&self, code: &CodeCache<'_>) -> Option<usize> {
        let words = code.memory.i32(self.at + code.layout.blob_frame_size)?;
        Some(usize::try_from(words).unwrap_or(0) * size_of::<usize>())
    }

    /// Whether frames are complete at this address.
    pub fn is_complete_at(&self, code: &CodeCache<'_>, address: usize) -> Option<bool> {
        // As wide as in the version where it is narrowest; it is small, or -1 for never.
        let complete = code.memory.u16(self.at + code.layout.blob_frame_complete)?.cast_signed();
        let begin = self.begin(code)?;
        Some(usize::try_from(complete).is_ok_and(|complete| address >= begin + complete))
    }

    /// First address of its code.
    pub fn begin(&self, code: &CodeCache<'_>) -> Option<usize> {
        self.place(code, code.layout.blob_code, self.at)
    }

    fn place(&self, code: &CodeCache<'_>, place: Place, from: usize) -> Option<usize> {
        match place {
            Place::Pointer(field) => code.memory.word(self.at + field),
            Place::Distance(field) => from.checked_add_signed(code.memory.i32(self.at + field)? as isize),
            Place::ShortDistance(field) => from.checked_add(usize::from(code.memory.u16(self.at + field)?)),
        }
    }

    /// The method that was compiled.
    pub fn method(&self, code: &CodeCache<'_>) -> Option<usize> {
        code.memory.word(self.at + code.layout.compiled_method)
    }

    /// How it was compiled: 1 to 3 by C1, 4 by C2.
    pub fn level(&self, code: &CodeCache<'_>) -> Option<u8> {
        code.memory.u8(self.at + code.layout.compiled_level)
    }

    /// Where calls enter it; or where a loop does that was interpreted before.
    pub fn entry(&self, code: &CodeCache<'_>) -> Option<usize> {
        if code.memory.i32(self.at + code.layout.compiled_entry_bci)? >= 0 {
            return code.memory.word(self.at + code.layout.compiled_loop_entry);
        }
        self.place(code, code.layout.compiled_entry, self.begin(code)?)
    }

    /// Where the frame with this stack pointer really is: a frame that is to be replaced returns somewhere else.
    pub fn original_pc(&self, code: &CodeCache<'_>, pc: usize, sp: usize) -> Option<usize> {
        for place in code.layout.compiled_deoptimised {
            if self.place(code, place, self.at)? == pc {
                let distance = code.memory.i32(self.at + code.layout.compiled_original_pc)?;
                return code.memory.word(sp.checked_add_signed(distance as isize)?);
            }
        }
        Some(pc)
    }

    /// Its debug information.
    pub fn descriptions(&self, code: &CodeCache<'_>) -> Option<Descriptions> {
        let (memory, layout) = (code.memory, code.layout);
        let distance = |field: usize| Some(memory.i32(self.at + field)? as usize);
        let (places, places_end, descriptions) = match layout.scopes {
            Scopes::Inside { places, behind, descriptions } => (
                self.at.wrapping_add(distance(places)?),
                self.at.wrapping_add(distance(behind)?),
                self.place(code, descriptions, self.at)?,
            ),
            Scopes::Apart { memory: apart, places, descriptions } => {
                let base = memory.word(self.at + apart)?;
                let descriptions = base.wrapping_add(distance(descriptions)?);
                (base.wrapping_add(distance(places)?), descriptions, descriptions)
            }
        };
        let methods = match layout.metadata {
            Metadata::Inside(field) => self.at.wrapping_add(distance(field)?),
            Metadata::Apart { memory: apart, behind } => {
                memory.word(self.at + apart)?.wrapping_add(distance(behind)?)
            }
        };
        let lowest_byte = u32::from(layout.feature >= 20);
        Some(Descriptions { places, places_end, descriptions, methods, lowest_byte })
    }
}
