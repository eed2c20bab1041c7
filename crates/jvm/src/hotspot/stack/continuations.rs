//! Virtual threads: frames that are not on the stack.
//!
//! While a virtual thread runs, only its youngest frames are on its carrier's stack. They return to a barrier that puts
//! the next ones there; until then these lie in *stack chunks*, objects in the heap, as they lay on the stack, except
//! that frame pointers are distances. Java's own fields lead there: `VirtualThread.cont`, `Continuation.tail`,
//! `StackChunk.parent`, `size`, `sp` and `bottom`.
//!
//! A thread that is being sampled in Java code is not at a safepoint, so most collectors move no chunk meanwhile. ZGC does,
//! and then a reference may lead to where a chunk was ([`super::oops`]). Whoever changes a chunk has read
//! `Continuation.tail` before, which corrects that reference; so what lies at the old place is what is at the new one,
//! unless the memory has been used again. The class in the header tells that, and so does the oldest frame: it is always
//! `Continuation.enter`. The continuation itself is noted on the carrier's stack, where references are always right.

use std::ffi::CStr;

use quipu_unwind::Memory;

use super::oops::{Oops, Reference};
use crate::hotspot::Structs;
use crate::{Class, Env, Error};

/// Where things are.
#[derive(Debug, Clone, Copy)]
pub struct Continuations {
    /// In the VM's thread: a handle of the virtual thread that it runs, or of itself.
    current: usize,
    /// There, too: where on the stack its continuation was entered.
    entry: Option<usize>,
    handle: usize,
    oops: Oops,
    moving: Option<Moving>,
    enter: usize,
    id: usize,
    name: Option<Names>,
    continuation: usize,
    tail: usize,
    parent: usize,
    size: usize,
    sp: usize,
    bottom: usize,
    /// From a chunk to its frames.
    frames: usize,
}

/// What it takes where objects are moved while Java runs.
#[derive(Debug, Clone, Copy)]
struct Moving {
    /// In the VM's thread: where on the stack its continuation was entered.
    entry: usize,
    /// In an object's header: its class.
    class: usize,
    thread: u32,
    continuation: u32,
    chunk: u32,
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

const THREAD: &CStr = c"java/lang/VirtualThread";
const CONTINUATION: &CStr = c"jdk/internal/vm/Continuation";
const CHUNK: &CStr = c"jdk/internal/vm/StackChunk";
/// Classes, fields and types that are asked for. (As one text, since each of many would be an address to relocate.)
const FIELDS: &[u8] = b"jdk/internal/vm/StackChunk\0parent\0Ljdk/internal/vm/StackChunk;\0\
    jdk/internal/vm/StackChunk\0size\0I\0\
    jdk/internal/vm/StackChunk\0sp\0I\0\
    jdk/internal/vm/StackChunk\0bottom\0I\0\
    java/lang/VirtualThread\0cont\0Ljdk/internal/vm/Continuation;\0\
    java/lang/VirtualThread\0runContinuation\0Ljava/lang/Runnable;\0\
    jdk/internal/vm/Continuation\0tail\0Ljdk/internal/vm/StackChunk;\0\
    java/lang/Thread\0tid\0J\0\
    java/lang/Thread\0name\0Ljava/lang/String;\0\
    java/lang/String\0value\0[B\0\
    java/lang/String\0coder\0B\0";

impl Continuations {
    /// Learns where things are; `None` if this VM has no virtual threads, or does not say.
    pub fn of(structs: &Structs, env: &Env<'_>, memory: Memory) -> Result<Option<Continuations>, Error> {
        let Some(current) = structs.offset(c"JavaThread", c"_vthread") else { return Ok(None) };
        let mut texts = FIELDS.split_inclusive(|&byte| byte == 0).flat_map(CStr::from_bytes_with_nul);
        let mut fields = [0; 11];
        for at in &mut fields {
            let [Some(class), Some(name), Some(descriptor)] = [(); 3].map(|()| texts.next()) else {
                return Ok(None);
            };
            *at = env.field(env.find_class(class)?, name, descriptor)?.offset();
        }
        let [parent, size, sp, bottom, continuation, task, tail, id, of_thread, bytes, wide] = fields;
        // References are four bytes wide where two of them are four bytes apart.
        let narrow = continuation.abs_diff(task) == size_of::<u32>();
        let (Some(handle), Some(oops), Some(frames)) = (
            structs.offset(c"OopHandle", c"_obj"),
            Oops::of(structs, memory, narrow),
            instance_size(structs, memory, env.find_class(CHUNK)?),
        ) else {
            return Ok(None);
        };
        if [parent, size, sp, bottom].iter().any(|&field| field >= frames) {
            return Ok(None);
        }
        let moving = if oops.coloured() { Moving::of(structs, env, memory)? } else { None };
        if oops.coloured() && moving.is_none() {
            return Ok(None);
        }
        let enter = c"(Ljdk/internal/vm/Continuation;Z)V";
        let enter = env.static_method(env.find_class(CONTINUATION)?, c"enter", enter)?.raw() as usize;
        let mut continuations = Continuations {
            current,
            entry: structs.offset(c"JavaThread", c"_cont_entry"),
            handle,
            oops,
            moving,
            enter,
            id,
            name: None,
            continuation,
            tail,
            parent,
            size,
            sp,
            bottom,
            frames,
        };
        let names = Names { of_thread, bytes, wide, first: 0 };
        continuations.name = continuations.first_byte(env, memory, names)?;
        Ok(Some(continuations))
    }

    /// Finds out where arrays begin, by one that is known.
    fn first_byte(&self, env: &Env<'_>, memory: Memory, names: Names) -> Result<Option<Names>, Error> {
        const EXAMPLE: &str = "An example.";
        let text = env.new_text(EXAMPLE)?;
        // A local reference is the address of the reference.
        let array = memory.word(text.raw() as usize);
        let array = array.and_then(|text| Some(self.oops.field(memory, text + names.bytes)?.object));
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
        // Where it may have been moved, another sample will tell it.
        let sure =
            |at: usize| self.oops.field(memory, at).filter(|found| found.sure).map(|found| found.object);
        let text = sure(self.current(memory, thread)? + names.of_thread)?;
        if memory.u8(text + names.wide)? != 0 {
            return None;
        }
        let bytes = sure(text + names.bytes)?;
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
    #[inline(never)]
    fn current(&self, memory: Memory, thread: usize) -> Option<usize> {
        let handle = memory.word(thread + self.current + self.handle)?;
        self.checked(memory, self.oops.handle(memory, handle)?, |moving| moving.thread)
    }

    /// The object of a reference, unless it was moved and something else is there now.
    fn checked(&self, memory: Memory, found: Reference, class: fn(&Moving) -> u32) -> Option<usize> {
        let is_there = |moving: &Moving| memory.u32(found.object + moving.class) == Some(class(moving));
        (found.sure || self.moving.as_ref().is_some_and(is_there)).then_some(found.object)
    }

    /// The id of the method that every continuation begins with.
    pub fn enter(&self) -> usize {
        self.enter
    }

    /// Its id, as `Thread.threadId` has it.
    pub fn id(&self, memory: Memory, thread: usize) -> Option<u64> {
        memory.word(self.current(memory, thread)? + self.id).map(|id| id as u64)
    }

    /// The youngest chunk of the virtual thread that the VM's thread runs.
    pub fn tail(&self, memory: Memory, thread: usize) -> Option<Chunk> {
        let continuation = match &self.moving {
            None => self.oops.field(memory, self.current(memory, thread)? + self.continuation)?.object,
            Some(moving) => {
                // It is one of the first things noted there; versions differ in which.
                let entry = memory.word(thread + moving.entry)?;
                (0..4).find_map(|i| {
                    let noted =
                        Reference { object: memory.word(entry + i * size_of::<usize>())?, sure: false };
                    self.checked(memory, noted, |moving| moving.continuation)
                })?
            }
        };
        self.chunk(memory, continuation + self.tail)
    }

    /// Whether the VM's thread may be carrying a virtual one.
    pub fn may_carry(&self, memory: Memory, thread: usize) -> bool {
        self.entry.is_none_or(|entry| memory.word(thread + entry) != Some(0))
    }

    /// The chunk whose frames called those of this one.
    pub fn parent(&self, memory: Memory, chunk: Chunk) -> Option<Chunk> {
        self.chunk(memory, chunk.at + self.parent)
    }

    /// The chunk that the reference in a field leads to.
    fn chunk(&self, memory: Memory, field: usize) -> Option<Chunk> {
        let at = self.checked(memory, self.oops.field(memory, field)?, |moving| moving.chunk)?;
        let words = |field: usize| usize::try_from(memory.i32(at + field)?).ok();
        let (sp, bottom) = (words(self.sp)?, words(self.bottom)?);
        if sp > bottom || bottom > words(self.size)? {
            return None;
        }
        let frames = at.checked_add(self.frames)?;
        let place = |words: usize| frames.checked_add(words * size_of::<usize>());
        Some(Chunk { at, sp: place(sp)?, end: place(bottom)? })
    }
}

impl Moving {
    fn of(structs: &Structs, env: &Env<'_>, memory: Memory) -> Result<Option<Moving>, Error> {
        let classes = [THREAD, c"java/lang/VirtualThread$VThreadContinuation", CHUNK, c"java/lang/String"];
        let mut written = [0; 4];
        for (written, class) in written.iter_mut().zip(classes) {
            match written_class(structs, memory, env.find_class(class)?) {
                Some(class) => *written = class,
                None => return Ok(None),
            }
        }
        let [thread, continuation, chunk, string] = written;
        let (Some(entry), Some(class)) = (
            structs.offset(c"JavaThread", c"_cont_entry"),
            structs.offset(c"oopDesc", c"_metadata._compressed_klass"),
        ) else {
            return Ok(None);
        };
        // There are VMs that write it differently: of this object it is known.
        let example = env.new_text("An example.")?;
        let example = memory.word(example.raw() as usize).and_then(|text| memory.u32(text + class));
        Ok((example == Some(string)).then_some(Moving { entry, class, thread, continuation, chunk }))
    }
}

/// How the class of an object is written in its header.
fn written_class(structs: &Structs, memory: Memory, class: Class<'_>) -> Option<u32> {
    let of = |name| Some(structs.address(c"CompressedKlassPointers", name)? as usize);
    let (base, shift) = (memory.word(of(c"_base")?)?, memory.u32(of(c"_shift")?)? & 31);
    Some((vm_class(structs, memory, class)?.checked_sub(base)? >> shift) as u32)
}

/// What the VM knows of a class.
fn vm_class(structs: &Structs, memory: Memory, class: Class<'_>) -> Option<usize> {
    let of_mirror = structs.address(c"java_lang_Class", c"_klass_offset")?;
    let of_mirror = usize::try_from(memory.i32(of_mirror as usize)?).ok()?;
    // A local reference is the address of the reference.
    memory.word(memory.word(class.raw() as usize)? + of_mirror)
}

/// Size of an object of this class, without what it may have at its end.
fn instance_size(structs: &Structs, memory: Memory, class: Class<'_>) -> Option<usize> {
    let size = structs.offset(c"Klass", c"_layout_helper")?;
    let size = || {
        let size = memory.i32(vm_class(structs, memory, class)? + size)?;
        usize::try_from(size & !1).ok()
    };
    // A collection may move the class's object between two reads: what is read twice is right.
    let first = size().filter(|size| (16..1024).contains(size));
    first.filter(|_| size() == first)
}
