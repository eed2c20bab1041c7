//! Areas of memory: what an address is of that a page fault was about. Signal handlers ask.

use std::sync::atomic::{AtomicU32, Ordering};

use quipu_arena::layout::detail;
use quipu_arena::writer::ArenaWriter;
use quipu_jvm::hotspot::Structs;
use quipu_unwind::Memory;

use super::details;
use super::walk::Walker;
use super::watch::Identity;

/// How many there are.
pub const COUNT: usize = 6;

/// An area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Area {
    /// The address is not known.
    Unknown,
    /// Where objects are.
    Heap,
    /// The thread's own stack.
    Stack,
    /// Where the VM puts code that it made.
    Code,
    /// Code and variables of libraries.
    Library,
    /// Everything else: what was mapped or allocated by the VM, by libraries, and for direct buffers.
    Elsewhere,
}

impl Area {
    const ALL: [(Area, &'static str); COUNT] = [
        (Area::Unknown, "address not known"),
        (Area::Heap, "Java heap"),
        (Area::Stack, "stack"),
        (Area::Code, "compiled code"),
        (Area::Library, "libraries"),
        (Area::Elsewhere, "outside of the heap"),
    ];
    /// What [`Area::Elsewhere`] is called where the VM does not say where its heap is.
    const PERHAPS_HEAP: &'static str = "outside of the heap, or in it";
}

/// How far below the stack pointer a stack may grow at once, and how large one of a thread that is not Java's may be.
const BELOW: usize = 1 << 20;
const LARGEST_STACK: usize = 8 << 20;

/// Where areas are.
pub struct Areas {
    heap: Option<(usize, usize)>,
    /// In the VM's thread: where its stack begins. From a thread's environment back to the VM's thread.
    stack_base: Option<usize>,
    env: usize,
    /// Their numbers as details.
    numbers: [AtomicU32; COUNT],
}

impl Areas {
    /// Those of this VM; its heap must be there.
    pub fn new(structs: &Structs, memory: Memory, env: usize) -> Areas {
        let of_threads = [c"JavaThread", c"Thread"];
        let stack_base = of_threads.iter().find_map(|of| structs.offset(of, c"_stack_base"));
        Areas { heap: heap(structs, memory), stack_base, env, numbers: Default::default() }
    }

    /// Tells the arena what they are called.
    pub fn tell(&self, arena: &ArenaWriter) {
        for ((area, name), number) in Area::ALL.iter().zip(&self.numbers) {
            let name = match area {
                Area::Elsewhere if self.heap.is_none() => Area::PERHAPS_HEAP,
                _ => *name,
            };
            let told = details::number(arena, detail::OBJECT, name.as_bytes(), 0);
            number.store(told, Ordering::Release);
        }
    }

    /// The number of the area at a place in [`Area::ALL`], as a detail.
    pub fn number(&self, area: usize) -> u32 {
        self.numbers.get(area).map_or(0, |number| number.load(Ordering::Acquire))
    }

    /// What an address is of, for a thread with this stack pointer.
    pub fn of(&self, walker: &Walker, thread: Identity, sp: usize, address: usize) -> Area {
        let within = |(begin, end): (usize, usize)| begin <= address && address < end;
        if self.heap.is_some_and(within) {
            return Area::Heap;
        }
        let of_vm = (!thread.env.is_null()).then(|| (thread.env as usize).wrapping_sub(self.env));
        let base = of_vm.zip(self.stack_base).and_then(|(vm, at)| walker.memory().word(vm.wrapping_add(at)));
        let base = base.unwrap_or(sp.saturating_add(LARGEST_STACK));
        if within((sp.saturating_sub(BELOW), base)) {
            return Area::Stack;
        }
        if walker.is_code(address) {
            return Area::Code;
        }
        if walker.is_library(address) { Area::Library } else { Area::Elsewhere }
    }
}

/// Where objects are; `None` where the VM does not say, as with ZGC.
fn heap(structs: &Structs, memory: Memory) -> Option<(usize, usize)> {
    let heap = memory.word(structs.address(c"Universe", c"_collectedHeap")? as usize)?;
    let reserved = heap.checked_add(structs.offset(c"CollectedHeap", c"_reserved")?)?;
    let start = memory.word(reserved + structs.offset(c"MemRegion", c"_start")?)?;
    let words = memory.word(reserved + structs.offset(c"MemRegion", c"_word_size")?)?;
    let end = start.checked_add(words.checked_mul(size_of::<usize>())?)?;
    (start != 0 && words != 0).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_by_the_place() {
        for (at, (area, _)) in Area::ALL.iter().enumerate() {
            assert_eq!(*area as usize, at);
        }
    }
}
