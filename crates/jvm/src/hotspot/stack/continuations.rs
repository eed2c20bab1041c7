//! Virtual threads: frames that are not on the stack.
//!
//! While a virtual thread runs, only its youngest frames are on its carrier's stack. They return to a barrier that puts
//! the next ones there; until then these lie in *stack chunks*, objects in the heap, as they lay on the stack, except
//! that frame pointers are distances. Java's own fields lead there: `VirtualThread.cont`, `Continuation.tail`,
//! `StackChunk.parent`, `size`, `sp` and `bottom`.
//!
//! A thread that is being sampled in Java code is not at a safepoint, so nobody moves the chunks meanwhile; collectors
//! that move objects without one (ZGC, Shenandoah) leave what is read unchecked until the code cache says that it is no
//! frame, and the walk ends there, counted.

use std::ffi::CStr;

use quipu_unwind::Memory;

use crate::hotspot::Structs;
use crate::{Env, Error};

/// Where things are.
#[derive(Debug, Clone, Copy)]
pub struct Continuations {
    /// In the VM's thread: a handle of the virtual thread that it runs, or of itself.
    current: usize,
    handle: usize,
    oops: Oops,
    id: usize,
    name: Option<Names>,
    continuation: usize,
    tail: usize,
    parent: usize,
    sp: usize,
    bottom: usize,
    /// From a chunk to its frames.
    frames: usize,
}

/// How references are written in objects.
#[derive(Debug, Clone, Copy)]
struct Oops {
    narrow: bool,
    base: usize,
    shift: u32,
}

/// Where a thread's name is, and the text of a string.
#[derive(Debug, Clone, Copy)]
struct Names {
    of_thread: usize,
    bytes: usize,
    wide: usize,
    /// In an array of bytes: the first; the length is the word of four before it.
    first: usize,
}

/// Frames in the heap.
#[derive(Debug, Clone, Copy)]
pub struct Chunk {
    at: usize,
    /// Where the youngest of its frames is.
    pub sp: usize,
    /// Behind the oldest.
    pub end: usize,
}

impl Continuations {
    /// Learns where things are; `None` if this VM has no virtual threads, or does not say.
    pub fn of(structs: &Structs, env: &Env<'_>, memory: Memory) -> Result<Option<Continuations>, Error> {
        let Some(current) = structs.offset(c"JavaThread", c"_vthread") else { return Ok(None) };
        let field = |class: &CStr, name: &CStr, descriptor: &CStr| {
            let class = env.find_class(class)?;
            // HotSpot's ids of fields are their offsets, above two bits.
            env.field(class, name, descriptor).map(|id| id.raw() as usize >> 2)
        };
        const CHUNK: &CStr = c"jdk/internal/vm/StackChunk";
        let parent = field(CHUNK, c"parent", c"Ljdk/internal/vm/StackChunk;")?;
        let (size, sp) = (field(CHUNK, c"size", c"I")?, field(CHUNK, c"sp", c"I")?);
        let static_word = |structure: &CStr, name: &CStr| {
            structs.address(structure, name).and_then(|address| memory.word(address as usize))
        };
        let (Some(handle), Some(base), Some(shift)) = (
            structs.offset(c"OopHandle", c"_obj"),
            static_word(c"CompressedOops", c"_base"),
            static_word(c"CompressedOops", c"_shift"),
        ) else {
            return Ok(None);
        };
        // References are four bytes wide where two of them are four bytes apart.
        let thread = c"java/lang/VirtualThread";
        let continuation = field(thread, c"cont", c"Ljdk/internal/vm/Continuation;")?;
        let task = field(thread, c"runContinuation", c"Ljava/lang/Runnable;")?;
        let narrow = continuation.abs_diff(task) == size_of::<u32>();
        let bottom = field(CHUNK, c"bottom", c"I")?;
        let Some(frames) = instance_size(structs, env, memory, CHUNK)? else { return Ok(None) };
        if [parent, size, sp, bottom].iter().any(|&field| field >= frames) {
            return Ok(None);
        }
        let mut continuations = Continuations {
            current,
            handle,
            oops: Oops { narrow, base, shift: shift as u32 & 31 },
            id: field(c"java/lang/Thread", c"tid", c"J")?,
            name: None,
            continuation,
            tail: field(c"jdk/internal/vm/Continuation", c"tail", c"Ljdk/internal/vm/StackChunk;")?,
            parent,
            sp,
            bottom,
            frames,
        };
        let names = Names {
            of_thread: field(c"java/lang/Thread", c"name", c"Ljava/lang/String;")?,
            bytes: field(c"java/lang/String", c"value", c"[B")?,
            wide: field(c"java/lang/String", c"coder", c"B")?,
            first: 0,
        };
        continuations.name = continuations.first_byte(env, memory, names)?;
        Ok(Some(continuations))
    }

    /// Finds out where arrays begin, by one that is known.
    fn first_byte(&self, env: &Env<'_>, memory: Memory, names: Names) -> Result<Option<Names>, Error> {
        const EXAMPLE: &str = "An example.";
        let text = env.new_text(EXAMPLE)?;
        // A local reference is the address of the reference.
        let array =
            memory.word(text.raw() as usize).and_then(|text| self.reference(memory, text + names.bytes));
        let is_there = |first: &usize| {
            let bytes = EXAMPLE.bytes().enumerate();
            bytes
                .into_iter()
                .all(|(i, byte)| array.and_then(|array| memory.u8(array + first + i)) == Some(byte))
        };
        Ok((8..=32).find(is_there).map(|first| Names { first, ..names }))
    }

    /// The name of the virtual thread that the VM's thread runs, as far as there is room; its length. Names with letters
    /// beyond Latin-1 are not read.
    pub fn name(&self, memory: Memory, thread: usize, name: &mut [u8]) -> Option<usize> {
        let names = self.name?;
        let text = self.reference(memory, self.current(memory, thread)? + names.of_thread)?;
        if memory.u8(text + names.wide)? != 0 {
            return None;
        }
        let bytes = self.reference(memory, text + names.bytes)?;
        let length = memory.u32(bytes + names.first - size_of::<u32>())? as usize;
        let mut written = 0;
        for i in 0..length {
            let letter = char::from(memory.u8(bytes + names.first + i)?);
            let Some(room) = name.get_mut(written..written + letter.len_utf8()) else { break };
            letter.encode_utf8(room);
            written += letter.len_utf8();
        }
        Some(written)
    }

    /// The virtual thread that the VM's thread runs.
    fn current(&self, memory: Memory, thread: usize) -> Option<usize> {
        let handle = memory.word(thread + self.current + self.handle)?;
        memory.word(handle).filter(|&object| object != 0)
    }

    /// Its id, as `Thread.threadId` has it.
    pub fn id(&self, memory: Memory, thread: usize) -> Option<u64> {
        memory.word(self.current(memory, thread)? + self.id).map(|id| id as u64)
    }

    /// The youngest chunk of the virtual thread that the VM's thread runs.
    pub fn tail(&self, memory: Memory, thread: usize) -> Option<Chunk> {
        let continuation = self.reference(memory, self.current(memory, thread)? + self.continuation)?;
        self.chunk(memory, self.reference(memory, continuation + self.tail)?)
    }

    /// The chunk whose frames called those of this one.
    pub fn parent(&self, memory: Memory, chunk: Chunk) -> Option<Chunk> {
        self.chunk(memory, self.reference(memory, chunk.at + self.parent)?)
    }

    fn chunk(&self, memory: Memory, at: usize) -> Option<Chunk> {
        let word = |field: usize| Some(usize::try_from(memory.i32(at + field)?).ok()? * size_of::<usize>());
        let frames = at.checked_add(self.frames)?;
        Some(Chunk {
            at,
            sp: frames.checked_add(word(self.sp)?)?,
            end: frames.checked_add(word(self.bottom)?)?,
        })
    }

    fn reference(&self, memory: Memory, at: usize) -> Option<usize> {
        let object = match self.oops {
            Oops { narrow: false, .. } => memory.word(at)?,
            Oops { base, shift, .. } => match memory.u32(at)? as usize {
                0 => 0,
                narrow => base.wrapping_add(narrow << shift),
            },
        };
        (object != 0).then_some(object)
    }
}

/// Size of an object of this class, without what it may have at its end.
fn instance_size(
    structs: &Structs,
    env: &Env<'_>,
    memory: Memory,
    class: &CStr,
) -> Result<Option<usize>, Error> {
    let (Some(of_mirror), Some(size)) =
        (structs.address(c"java_lang_Class", c"_klass_offset"), structs.offset(c"Klass", c"_layout_helper"))
    else {
        return Ok(None);
    };
    let class = env.find_class(class)?;
    let size = || {
        let of_mirror = usize::try_from(memory.i32(of_mirror as usize)?).ok()?;
        // A local reference is the address of the reference.
        let mirror = memory.word(class.raw() as usize)?;
        let class = memory.word(mirror + of_mirror)?;
        memory.i32(class + size).and_then(|size| usize::try_from(size & !1).ok())
    };
    // A collection may move the class's object between two reads: what is read twice is right.
    let first = size().filter(|size| (16..1024).contains(size));
    Ok(first.filter(|_| size() == first))
}
