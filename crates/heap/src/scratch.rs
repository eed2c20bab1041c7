//! Memory for tables with an entry for every object. Where it comes from is the caller's choice: of the process, or files
//! that are mapped, so that the system can put away what is not being looked at and a heap may be larger than the memory.

use std::io;

use crate::error::HeapError;

/// Bytes that can be changed.
pub trait Bytes: Send + Sync {
    /// All of them.
    fn get(&self) -> &[u8];
    /// All of them, to be changed.
    fn get_mut(&mut self) -> &mut [u8];
}

impl Bytes for Vec<u8> {
    fn get(&self) -> &[u8] {
        self
    }

    fn get_mut(&mut self) -> &mut [u8] {
        self
    }
}

/// A place that bytes come from.
pub trait Scratch: Sync {
    /// So many bytes, all 0.
    fn bytes(&self, size: usize) -> io::Result<Box<dyn Bytes>>;
}

/// The memory of this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct InMemory;

impl Scratch for InMemory {
    fn bytes(&self, size: usize) -> io::Result<Box<dyn Bytes>> {
        let mut bytes = Vec::<u8>::new();
        bytes.try_reserve_exact(size).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        drop(bytes);
        // Asked for anew, in the way for which the system gives pages of zeros when they are first written to.
        Ok(Box::new(vec![0_u8; size]))
    }
}

pub(crate) fn allocate(scratch: &dyn Scratch, size: u64) -> Result<Box<dyn Bytes>, HeapError> {
    let failed = |source| HeapError::Io {
        doing: "getting memory for a table (`--index DIR` takes it from files)",
        offset: 0,
        source,
    };
    let size = usize::try_from(size).map_err(|_| failed(io::ErrorKind::OutOfMemory.into()))?;
    scratch.bytes(size).map_err(failed)
}

/// A table of numbers, each in as many bytes as the largest needs: 4 for up to 4,294,967,295 objects, 5 for more.
pub(crate) struct Numbers {
    bytes: Box<dyn Bytes>,
    width: usize,
}

/// Entries are read eight bytes at a time.
const PADDING: u64 = 8;

impl Numbers {
    /// All 0, for numbers up to `most`.
    pub fn new(scratch: &dyn Scratch, length: u64, most: u64) -> Result<Numbers, HeapError> {
        let width = (64 - most.leading_zeros()).div_ceil(8).max(1) as usize;
        let size = length.saturating_mul(width as u64).saturating_add(PADDING);
        Ok(Numbers { bytes: allocate(scratch, size)?, width })
    }

    /// A copy.
    pub fn copy(&self, scratch: &dyn Scratch) -> Result<Numbers, HeapError> {
        let mut bytes = allocate(scratch, self.bytes.get().len() as u64)?;
        bytes.get_mut().copy_from_slice(self.bytes.get());
        Ok(Numbers { bytes, width: self.width })
    }

    /// To be read often.
    pub fn view(&self) -> View<'_> {
        View { bytes: self.bytes.get(), width: self.width, mask: mask(self.width) }
    }

    /// To be changed often.
    pub fn view_mut(&mut self) -> ViewMut<'_> {
        ViewMut { width: self.width, mask: mask(self.width), bytes: self.bytes.get_mut() }
    }

    /// One entry.
    pub fn get(&self, at: u64) -> u64 {
        self.view().get(at)
    }
}

fn mask(width: usize) -> u64 {
    u64::MAX >> (64 - 8 * width)
}

#[derive(Clone, Copy)]
pub(crate) struct View<'n> {
    bytes: &'n [u8],
    width: usize,
    mask: u64,
}

impl View<'_> {
    #[inline(always)]
    pub fn get(&self, at: u64) -> u64 {
        load(self.bytes, at as usize * self.width) & self.mask
    }
}

pub(crate) struct ViewMut<'n> {
    bytes: &'n mut [u8],
    width: usize,
    mask: u64,
}

impl ViewMut<'_> {
    #[inline(always)]
    pub fn get(&self, at: u64) -> u64 {
        load(self.bytes, at as usize * self.width) & self.mask
    }

    #[inline(always)]
    pub fn set(&mut self, at: u64, value: u64) {
        let from = at as usize * self.width;
        let word = load(self.bytes, from) & !self.mask | value & self.mask;
        self.bytes[from..from + 8].copy_from_slice(&word.to_le_bytes());
    }
}

#[inline(always)]
fn load(bytes: &[u8], from: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[from..from + 8]);
    u64::from_le_bytes(word)
}

/// A bit for every object.
pub(crate) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    pub fn new(length: u64) -> Bits {
        Bits { words: vec![0; length.div_ceil(64) as usize] }
    }

    #[inline]
    pub fn has(&self, at: u64) -> bool {
        self.words[(at / 64) as usize] >> (at % 64) & 1 == 1
    }

    /// Whether it was not set before.
    #[inline]
    pub fn set(&mut self, at: u64) -> bool {
        let word = &mut self.words[(at / 64) as usize];
        let fresh = *word >> (at % 64) & 1 == 0;
        *word |= 1 << (at % 64);
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_do_not_touch_each_other() {
        for most in [1, 255, 256, 1 << 24, u64::from(u32::MAX), 1 << 32, 1 << 40, u64::MAX] {
            let mut numbers = Numbers::new(&InMemory, 10, most).unwrap();
            let mut view = numbers.view_mut();
            for at in (0..10).chain([3, 9, 0]) {
                view.set(at, most - at % 2);
            }
            view.set(4, 0);
            let seen: Vec<u64> = (0..10).map(|at| numbers.get(at)).collect();
            let expected: Vec<u64> = (0..10).map(|at| if at == 4 { 0 } else { most - at % 2 }).collect();
            assert_eq!(seen, expected, "{most}");
        }
    }
}
