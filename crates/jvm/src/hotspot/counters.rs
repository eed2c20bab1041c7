//! The VM's own counters (`-XX:+UsePerfData`, which is on unless somebody switched it off), where they lie in its memory.

use quipu_unwind::Memory;

use super::Structs;

/// Entries that are looked at: HotSpot has some 300.
const MOST: u32 = 4096;
/// Where things are in the head of the memory, and in an entry; the same in all versions since JDK 1.4.2.
const MAGIC: u32 = 0xcafe_c0c0;
const FIRST_ENTRY: usize = 24;
const ENTRIES: usize = 28;
const NAME: usize = 4;
const DATA: usize = 16;

/// A counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    address: usize,
}

impl Counter {
    /// The counter of this name; `None` if the VM has none.
    pub fn find(structs: &Structs, memory: Memory, name: &str) -> Option<Counter> {
        let start =
            memory.word(structs.address(c"PerfMemory", c"_start")? as usize).filter(|&start| start != 0)?;
        // In the order of bytes of the machine.
        if memory.u32(start)?.swap_bytes() != MAGIC && memory.u32(start)? != MAGIC {
            return None;
        }
        let mut entry = start.checked_add(memory.u32(start + FIRST_ENTRY)? as usize)?;
        for _ in 0..memory.u32(start + ENTRIES)?.min(MOST) {
            let length = memory.u32(entry)? as usize;
            let text = entry.checked_add(memory.u32(entry + NAME)? as usize)?;
            if length == 0 {
                return None;
            }
            if is(memory, text, name.as_bytes())? {
                return Some(Counter { address: entry.checked_add(memory.u32(entry + DATA)? as usize)? });
            }
            entry = entry.checked_add(length)?;
        }
        None
    }

    /// Its value; `None` if the memory is gone.
    pub fn get(self, memory: Memory) -> Option<u64> {
        memory.word(self.address).map(|word| word as u64)
    }
}

/// Whether a C string at an address is this text.
fn is(memory: Memory, address: usize, text: &[u8]) -> Option<bool> {
    for (at, &byte) in text.iter().chain(&[0]).enumerate() {
        if memory.u8(address + at)? != byte {
            return Some(false);
        }
    }
    Some(true)
}
