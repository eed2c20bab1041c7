//! What a thread was doing in the kernel when its clock ran out: the kernel writes its own part of the stack where we can
//! read it.
//!
//! The ring is mapped to be read only, so nobody has to be told how far it was read: the kernel writes on, and each record
//! begins where the last one ended. It may be unmapped by another thread while a signal handler reads it; so all reads are
//! guarded.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};

use quipu_unwind::Memory;

/// Bytes of records: more than the longest, of 127 frames.
const DATA: usize = 4096;
/// The page before them, and what it says in it: how much was written so far.
const PAGE: usize = 4096;
const HEAD: usize = 1024;
/// A record of a sample.
const SAMPLE: usize = 9;
/// Frames from here on are none, but say what the next ones are.
const MARKS: usize = -4095isize as usize;
/// Frames of one sample; older ones are left out.
pub const MOST: usize = 64;
const WORD: usize = size_of::<usize>();

/// Where the kernel writes for one clock.
pub struct Ring(usize);

impl Ring {
    /// Maps the ring of a perf event.
    pub fn of(event: &OwnedFd) -> std::io::Result<Ring> {
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory = unsafe {
            let (length, fd) = (PAGE + DATA, event.as_raw_fd());
            libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, fd, 0)
        };
        match memory {
            libc::MAP_FAILED => Err(std::io::Error::last_os_error()),
            memory => Ok(Ring(memory as usize)),
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: our own mapping; who still reads from it does so with guarded reads.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(self.0), PAGE + DATA) };
    }
}

/// A ring as a signal handler sees it, and how far it was read.
pub struct Reader {
    ring: AtomicUsize,
    read: AtomicUsize,
}

impl Reader {
    /// Reads from this ring now, which is new; or from none.
    pub fn set(&self, ring: Option<&Ring>) {
        self.read.store(0, Ordering::Relaxed);
        self.ring.store(ring.map_or(0, |ring| ring.0), Ordering::Release);
    }

    /// Frames of the newest sample, the youngest first, and how many there are. For signal handlers.
    pub fn frames(&self, memory: Memory, frames: &mut [usize; MOST]) -> usize {
        match self.ring.load(Ordering::Acquire) {
            0 => 0,
            ring => self.newest(memory, ring, frames).unwrap_or(0),
        }
    }

    /// Addresses of the samples since the last time, the oldest first, if they were not written over. For signal handlers.
    pub fn addresses(&self, memory: Memory, mut each: impl FnMut(usize)) {
        let ring = self.ring.load(Ordering::Acquire);
        if ring == 0 {
            return;
        }
        let Some(head) = memory.word(ring + HEAD) else { return };
        let mut at = self.read.swap(head, Ordering::Relaxed);
        let word = |at: usize| memory.word(ring + PAGE + at % DATA);
        while at < head && head - at <= DATA {
            let Some(record) = word(at) else { return };
            if record & u32::MAX as usize == SAMPLE
                && let Some(address) = word(at + WORD)
            {
                each(address);
            }
            at += (record >> 48).max(WORD);
        }
    }

    /// What was written until now is not looked at. For signal handlers.
    pub fn skip(&self, memory: Memory) {
        self.addresses(memory, |_| {});
    }

    fn newest(&self, memory: Memory, ring: usize, frames: &mut [usize; MOST]) -> Option<usize> {
        let head = memory.word(ring + HEAD)?;
        let mut at = self.read.swap(head, Ordering::Relaxed);
        let word = |at: usize| memory.word(ring + PAGE + at % DATA);
        let mut count = 0;
        // What is further back has been written over.
        while at < head && head - at <= DATA {
            let record = word(at)?;
            if record & u32::MAX as usize == SAMPLE {
                count = 0;
                for i in 0..word(at + WORD)?.min(DATA / WORD) {
                    let frame = word(at + (i + 2) * WORD)?;
                    if frame < MARKS
                        && let Some(slot) = frames.get_mut(count)
                    {
                        // Callers go on behind their call.
                        *slot = frame - usize::from(count > 0);
                        count += 1;
                    }
                }
            }
            at += (record >> 48).max(WORD);
        }
        Some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring with these words as its records.
    fn ring(words: &[usize]) -> Vec<usize> {
        let mut ring = vec![0; (PAGE + DATA) / WORD];
        for (i, word) in words.iter().enumerate() {
            ring[(PAGE + i * WORD % DATA) / WORD] = *word;
        }
        ring[HEAD / WORD] = words.len() * WORD;
        ring
    }

    #[test]
    fn addresses_are_those_since_the_last_time() {
        // SAFETY: no read of this test faults.
        let memory = unsafe { Memory::guarded() };
        let header = |kind: usize, words: usize| kind | (words * WORD) << 48;
        let words = [header(SAMPLE, 2), 0x1000, header(5, 4), 0, 0, 0, header(SAMPLE, 2), 0x2000];
        let written = ring(&words);
        let reader = Reader { ring: AtomicUsize::new(written.as_ptr() as usize), read: AtomicUsize::new(0) };
        let all = || {
            let mut all = Vec::new();
            reader.addresses(memory, |address| all.push(address));
            all
        };
        assert_eq!(all(), [0x1000, 0x2000]);
        assert!(all().is_empty(), "nothing new");
        reader.read.store(0, Ordering::Relaxed);
        reader.skip(memory);
        assert!(all().is_empty(), "not wanted");
        let lapped = ring(&vec![header(SAMPLE, 2); 2 * DATA / WORD]);
        reader.ring.store(lapped.as_ptr() as usize, Ordering::Relaxed);
        reader.read.store(0, Ordering::Relaxed);
        assert!(all().is_empty(), "written over");
    }

    #[test]
    fn the_newest_sample_counts_and_what_is_no_frame_does_not() {
        // SAFETY: no read of this test faults.
        let memory = unsafe { Memory::guarded() };
        let header = |kind: usize, words: usize| kind | (words * WORD) << 48;
        let mut words = vec![header(SAMPLE, 3), 1, 0x30, header(11, 2), 0, header(SAMPLE, 5), 3];
        words.extend([-128isize as usize, 0x10, 0x20]);
        let written = ring(&words);
        let reader = Reader { ring: AtomicUsize::new(written.as_ptr() as usize), read: AtomicUsize::new(0) };
        let mut frames = [0; MOST];
        assert_eq!(reader.frames(memory, &mut frames), 2);
        assert_eq!(frames[..2], [0x10, 0x1f]);
        assert_eq!(reader.frames(memory, &mut frames), 0, "nothing new");
        // A ring that was written over is not read, and one that makes no sense comes to an end.
        let lapped = ring(&vec![header(SAMPLE, 0); 2 * DATA / WORD]);
        reader.ring.store(lapped.as_ptr() as usize, Ordering::Relaxed);
        assert_eq!(reader.frames(memory, &mut frames), 0);
        reader.read.store(DATA + 8, Ordering::Relaxed);
        assert!(reader.frames(memory, &mut frames) <= MOST);
    }
}
