//! How much of the heap is in use, by the VM's own counters: those that `jstat` shows. They are plain memory that the VM
//! writes and everybody may read at any moment, also while it collects and can be asked nothing.

use super::Structs;
use std::sync::atomic::{AtomicU64, Ordering};

const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
/// Entries of the prologue and of each counter that are looked at, as the VM's `perfMemory.hpp` has them.
const FIRST: usize = 24;
const COUNT: usize = 28;
const NAME: usize = 4;
const KIND: usize = 12;
const VALUE: usize = 16;
/// The memory of the counters has no reason to be near this.
const MOST: usize = 16 << 20;

/// The counters of the spaces that objects lie in.
#[derive(Debug)]
pub struct HeapUse(Vec<&'static AtomicU64>);

impl HeapUse {
    /// The counters of this VM; `None` if it keeps none (`-XX:-UsePerfData`), or does not say where.
    pub fn of(structs: &Structs) -> Option<HeapUse> {
        let pointer = |field| structs.address(c"PerfMemory", field).map(|at| at.cast::<usize>());
        let (start, end) = (pointer(c"_start")?, pointer(c"_end")?);
        // SAFETY: static fields of the VM that hold addresses.
        let (start, end) = unsafe { (start.read_volatile(), end.read_volatile()) };
        let length = end.checked_sub(start).filter(|&length| length <= MOST)?;
        if start == 0 || !start.is_multiple_of(8) {
            return None;
        }
        // SAFETY: the VM's memory for counters, which stays as long as it lives: names and places do not change once they
        // are there. Values do, and are read by themselves.
        let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, length) };
        let counters: Vec<&'static AtomicU64> = spaces(bytes)?
            .into_iter()
            // SAFETY: inside the memory and aligned, as was checked; the VM writes it with plain stores.
            .map(|at| unsafe { AtomicU64::from_ptr((start + at) as *mut u64) })
            .collect();
        (!counters.is_empty()).then_some(HeapUse(counters))
    }

    /// Bytes in use, as the VM has counted last.
    pub fn bytes(&self) -> u64 {
        self.0.iter().fold(0, |sum, counter| sum.saturating_add(counter.load(Ordering::Relaxed)))
    }
}

/// Where the counters of used bytes are; `None` if these are not the VM's counters.
fn spaces(bytes: &[u8]) -> Option<Vec<usize>> {
    let int = |at: usize| {
        let field = bytes.get(at..at.checked_add(4)?)?;
        usize::try_from(u32::from_ne_bytes(field.try_into().ok()?)).ok()
    };
    if bytes.get(..4)? != MAGIC {
        return None;
    }
    let (mut at, mut found) = (int(FIRST)?, Vec::new());
    for _ in 0..int(COUNT)? {
        let length = int(at).filter(|&length| length > 0)?;
        let name = bytes.get(at.checked_add(int(at + NAME)?)?..at.checked_add(length)?)?;
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        let value = at.checked_add(int(at + VALUE)?)?;
        let is_long = bytes.get(at + KIND) == Some(&b'J');
        if is_of_space(name) && is_long && value.is_multiple_of(8) && value.checked_add(8)? <= bytes.len() {
            found.push(value);
        }
        at = at.checked_add(length)?;
    }
    Some(found)
}

/// `sun.gc.generation.0.space.1.used`. What is not for objects (`sun.gc.metaspace.used`) is named otherwise.
fn is_of_space(name: &[u8]) -> bool {
    let Some(rest) = name.strip_prefix(b"sun.gc.generation.") else { return false };
    let parts: Vec<&[u8]> = rest.split(|&byte| byte == b'.').collect();
    matches!(parts.as_slice(), [_, b"space", _, b"used"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(name: &str, value: u64) -> Vec<u8> {
        let at = (20 + name.len() + 1).next_multiple_of(8);
        let mut bytes = vec![0; at + 8];
        for (place, number) in [(0, at + 8), (NAME, 20), (VALUE, at)] {
            bytes[place..place + 4].copy_from_slice(&(number as u32).to_ne_bytes());
        }
        bytes[KIND] = b'J';
        bytes[20..20 + name.len()].copy_from_slice(name.as_bytes());
        bytes[at..].copy_from_slice(&value.to_ne_bytes());
        bytes
    }

    #[test]
    fn counters_are_found_by_name_and_damage_is_harmless() {
        let mut bytes = MAGIC.to_vec();
        bytes.resize(32, 0);
        bytes[FIRST..FIRST + 4].copy_from_slice(&32_u32.to_ne_bytes());
        bytes[COUNT..COUNT + 4].copy_from_slice(&3_u32.to_ne_bytes());
        for (name, value) in [
            ("sun.gc.generation.0.space.0.used", 5),
            ("sun.gc.metaspace.used", 7),
            ("sun.gc.generation.1.space.0.used", 9),
        ] {
            bytes.extend(counter(name, value));
        }
        let found = spaces(&bytes).unwrap();
        assert_eq!(found.iter().map(|&at| bytes[at]).collect::<Vec<_>>(), [5, 9]);
        for cut in 0..bytes.len() {
            let _ = spaces(&bytes[..cut]);
        }
        assert_eq!(spaces(b"something else, and long enough to have fields"), None);
    }
}
