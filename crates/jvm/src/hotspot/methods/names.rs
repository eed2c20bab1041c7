//! What methods are called, without asking the VM: JVMTI believes any id it is given.

use quipu_unwind::Memory;

use super::{Chain, MethodLayout, Source, WORD, pointer};
use crate::hotspot::Structs;

/// Reads names of methods.
#[derive(Debug, Clone, Copy)]
pub struct MethodNames {
    memory: Memory,
    pub(super) layout: MethodLayout,
}

/// Where the names of a method are, in the room they were written to: class, name, descriptor and source file, one
/// behind the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Named {
    ends: [u32; 4],
    /// Whether it is native.
    pub native: bool,
}

impl Named {
    /// The texts: class (with slashes), name, descriptor, source file (empty if it has none).
    pub fn texts<'r>(&self, room: &'r [u8]) -> [&'r [u8]; 4] {
        let mut begin = 0;
        self.ends.map(|end| {
            let text = room.get(begin..end as usize).unwrap_or_default();
            begin = end as usize;
            text
        })
    }
}

/// What names are read from; if it is the same before and after, nothing was freed meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sources {
    method: usize,
    chain: Chain,
    texts: [usize; 3],
    source: Option<usize>,
}

impl MethodNames {
    /// A reader for the VM with these tables; `None` if they do not say enough, or if ids are numbers: there JVMTI looks
    /// them up, and knows which are not valid any more.
    pub fn of(structs: &Structs, memory: Memory) -> Option<MethodNames> {
        let layout = MethodLayout::of(structs).ok().filter(|layout| layout.ids_are_places)?;
        Some(MethodNames { memory, layout })
    }

    /// Writes what the method with this id is called. `None` if there is no such method (any more), or not enough room.
    /// For signal handlers.
    pub fn read(&self, id: usize, room: &mut [u8]) -> Option<Named> {
        let found = self.sources(id)?;
        let [class, name, descriptor] = found.texts;
        let (mut ends, mut written) = ([0; 4], 0);
        for (end, text) in ends.iter_mut().zip([Some(class), Some(name), Some(descriptor), found.source]) {
            if let Some(text) = text {
                written += self.copy(text, room.get_mut(written..)?)?;
            }
            *end = u32::try_from(written).ok()?;
        }
        /// In class files, and here.
        const NATIVE: u16 = 0x100;
        let native = self.memory.u16(found.method + self.layout.access)? & NATIVE != 0;
        (self.sources(id)? == found).then_some(Named { ends, native })
    }

    /// The lines of the method with this id, as pairs of bytecode index and line; none if it has none, or is gone.
    pub fn lines(&self, id: usize) -> Vec<(u16, u16)> {
        let read = || {
            let found = self.sources(id)?;
            let lines = self.layout.lines(self.memory, found.chain.constant)?;
            (self.sources(id)? == found).then_some(lines)
        };
        read().unwrap_or_default()
    }

    fn sources(&self, id: usize) -> Option<Sources> {
        let (memory, layout) = (self.memory, &self.layout);
        if id < 0x1000 || !id.is_multiple_of(WORD) {
            return None;
        }
        let method = pointer(memory, id)?;
        let chain = layout.chain(memory, method)?;
        if layout.listed(memory, chain)? != id {
            return None;
        }
        let (name, descriptor) = layout.texts(memory, chain)?;
        let class = pointer(memory, chain.holder + layout.class_name)?;
        let source = match layout.source {
            Source::OfClass(field) => chain.holder + field,
            Source::OfConstants(field) => chain.constants + field,
        };
        let source = match memory.u16(source)? {
            0 => None,
            index => Some(layout.text_of(memory, chain, index)?),
        };
        Some(Sources { method, chain, texts: [class, name, descriptor], source })
    }

    /// Copies a text; its length.
    fn copy(&self, text: usize, room: &mut [u8]) -> Option<usize> {
        let length = usize::from(self.memory.u16(text + self.layout.text_length)?);
        for (i, byte) in room.get_mut(..length)?.iter_mut().enumerate() {
            *byte = self.memory.u8(text + self.layout.text + i)?;
        }
        Some(length)
    }
}
