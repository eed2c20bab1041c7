//! The counters of a thread, as its signal handler sees them.
//!
//! A signal only says that it is time to look: several can become one, and events go on while it is on its way. So the
//! handler reads all counters of its thread and takes what they say; no event is lost or counted twice. It reads them again
//! when it is done: what it did itself (it touches memory, and takes time) is not the program's.
//!
//! A descriptor that was closed may be the program's a moment later, and reading is no harmless thing to do to it. So whoever
//! takes counters away waits until the handler is not at them.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

use quipu_perf::Count;
use quipu_unwind::Memory;

use super::kernel::{Reader, Ring};

/// Events that can be counted at the same time.
pub const MOST: usize = 8;

/// The counters of a thread.
pub struct Counters {
    /// Whether there are any.
    any: AtomicBool,
    /// Whether the thread's handler is at them.
    busy: AtomicBool,
    counters: [Counter; MOST],
}

struct Counter {
    /// Its descriptor, plus one; 0 for none.
    fd: AtomicI32,
    /// What it said when a sample of it was taken last. The handler's own.
    events: AtomicU64,
    enabled: AtomicU64,
    running: AtomicU64,
    /// Where the kernel writes the addresses that events are about, if it does.
    addresses: Reader,
}

impl Counter {
    fn last(&self) -> Count {
        Count {
            events: self.events.load(Ordering::Relaxed),
            enabled: self.enabled.load(Ordering::Relaxed),
            running: self.running.load(Ordering::Relaxed),
        }
    }

    fn set_last(&self, count: Count) {
        self.events.store(count.events, Ordering::Relaxed);
        self.enabled.store(count.enabled, Ordering::Relaxed);
        self.running.store(count.running, Ordering::Relaxed);
    }

    fn read(&self) -> Option<Count> {
        quipu_perf::read(self.fd.load(Ordering::SeqCst).checked_sub(1).filter(|&fd| fd >= 0)?)
    }
}

impl Counters {
    /// Adds a new counter, which has not counted yet.
    pub fn add(&self, at: usize, fd: i32, addresses: Option<&Ring>) {
        if let Some(counter) = self.counters.get(at) {
            counter.set_last(Count::default());
            counter.addresses.set(addresses);
            counter.fd.store(fd.saturating_add(1), Ordering::SeqCst);
            self.any.store(true, Ordering::SeqCst);
        }
    }

    /// Takes all away. Whether nobody is at them any more: otherwise the descriptors must stay open.
    pub fn clear(&self) -> bool {
        self.any.store(false, Ordering::SeqCst);
        for counter in &self.counters {
            counter.fd.store(0, Ordering::SeqCst);
            counter.addresses.set(None);
        }
        self.wait_until_idle()
    }

    /// Waits until the handler is not at any descriptor that it found before; whether it is.
    pub fn wait_until_idle(&self) -> bool {
        const PATIENCE: u32 = 2000;
        const MEANWHILE: Duration = Duration::from_millis(1);
        let mut waited = 0;
        while self.busy.load(Ordering::SeqCst) && waited < PATIENCE {
            std::thread::sleep(MEANWHILE);
            waited += 1;
        }
        waited < PATIENCE
    }

    /// Reads them all. For the handler on the thread itself, which is not interrupted by another one.
    pub fn look(&self) -> Look<'_> {
        let mut look = Look { counters: self, seen: [None; MOST], due: [false; MOST] };
        self.busy.store(true, Ordering::SeqCst);
        if self.any.load(Ordering::SeqCst) {
            for (seen, counter) in look.seen.iter_mut().zip(&self.counters) {
                *seen = counter.read();
            }
        }
        look
    }
}

/// What counters said when a handler began.
pub struct Look<'c> {
    counters: &'c Counters,
    seen: [Option<Count>; MOST],
    due: [bool; MOST],
}

impl Look<'_> {
    /// How many events a sample of this counter stands for; 0 if none is due.
    pub fn due(&mut self, at: usize, period: u64) -> u64 {
        let (Some(Some(seen)), Some(counter), Some(due)) =
            (self.seen.get(at), self.counters.counters.get(at), self.due.get_mut(at))
        else {
            return 0;
        };
        let last = counter.last();
        *due = period > 0 && seen.events.saturating_sub(last.events) >= period;
        if *due { seen.since(&last) } else { 0 }
    }

    /// For how many nanoseconds a counter of which a sample is due was there since the last one, and in how many of those it
    /// counted.
    pub fn times(&self, at: usize) -> Option<[u64; 2]> {
        let (Some(Some(seen)), Some(counter)) = (self.seen.get(at), self.counters.counters.get(at)) else {
            return None;
        };
        Some(seen.times_since(&counter.last()))
    }

    /// What events of a counter were about since the last sample, as far as the kernel has told.
    pub fn addresses(&self, at: usize, memory: Memory, each: impl FnMut(usize)) {
        if let Some(counter) = self.counters.counters.get(at) {
            counter.addresses.addresses(memory, each);
        }
    }

    /// The handler is done. What a counter of which a sample was taken says is known from here on; of the others, what the
    /// handler did. So many more will come that are its doing as well.
    pub fn leave(self, memory: Memory, more: impl Fn(usize) -> u64) {
        for (at, counter) in self.counters.counters.iter().enumerate() {
            counter.addresses.skip(memory);
            let (Some(Some(seen)), Some(&due)) = (self.seen.get(at), self.due.get(at)) else { continue };
            let Some(now) = counter.read() else { continue };
            let Count { events, enabled, running } = if due { *seen } else { counter.last() };
            counter.set_last(Count {
                events: events + now.events.saturating_sub(seen.events) + more(at),
                enabled: enabled + now.enabled.saturating_sub(seen.enabled),
                running: running + now.running.saturating_sub(seen.running),
            });
        }
    }
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        self.counters.busy.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    fn faults() -> std::os::fd::OwnedFd {
        let event = quipu_perf::Event::parse("page-faults").unwrap();
        let counter = quipu_perf::open(&event.attributes().unwrap(), 0).expect("software events can be had");
        quipu_perf::enable(&counter).unwrap();
        counter
    }

    fn memory() -> Memory {
        // SAFETY: no read of these tests faults.
        unsafe { Memory::guarded() }
    }

    fn counters() -> &'static Counters {
        // SAFETY: atomics, of which zeros are a value.
        Box::leak(Box::new(unsafe { std::mem::zeroed() }))
    }

    /// Touches pages that nobody has touched.
    fn fault(pages: usize) {
        // SAFETY: a fresh mapping, and writes within it.
        unsafe {
            let (length, access) = (pages * 4096, libc::PROT_READ | libc::PROT_WRITE);
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let memory = libc::mmap(std::ptr::null_mut(), length, access, flags, -1, 0);
            assert_ne!(memory, libc::MAP_FAILED);
            libc::madvise(memory, length, libc::MADV_NOHUGEPAGE);
            (0..pages).for_each(|page| memory.cast::<u8>().add(page * 4096).write_volatile(1));
            libc::munmap(memory, length);
        }
    }

    #[test]
    fn what_a_handler_does_itself_is_not_the_programs() {
        let (counters, counter) = (counters(), faults());
        counters.add(0, counter.as_raw_fd(), None);
        fault(100);
        let mut look = counters.look();
        let due = look.due(0, 100);
        assert!((100..200).contains(&due), "{due}");
        fault(500);
        look.leave(memory(), |_| 0);
        let mut look = counters.look();
        assert_eq!(look.due(0, 100), 0, "too few");
        fault(500);
        look.leave(memory(), |_| 0);
        fault(100);
        let mut look = counters.look();
        let due = look.due(0, 100);
        assert!((100..200).contains(&due), "{due}");
        look.leave(memory(), |_| 500);
        fault(500);
        assert_eq!(counters.look().due(0, 100), 0, "these were expected");
    }

    #[test]
    fn how_long_a_counter_counted_is_told_of_each_sample() {
        let (counters, counter) = (counters(), faults());
        counters.add(0, counter.as_raw_fd(), None);
        fault(100);
        let mut look = counters.look();
        assert!(look.due(0, 100) > 0);
        let [there, counted] = look.times(0).unwrap();
        // The kernel counts faults itself, and so always.
        assert!(there > 0 && there == counted, "{counted} of {there} ns");
        look.leave(memory(), |_| 0);
        let [since, _] = counters.look().times(0).unwrap();
        assert!(since < there + counted, "{since} ns since the last, {there} before");
        assert_eq!(counters.look().times(1), None);
    }

    #[test]
    fn counters_are_not_taken_away_while_a_handler_is_at_them() {
        let (counters, counter) = (counters(), faults());
        counters.add(0, counter.as_raw_fd(), None);
        let look = counters.look();
        assert!(!counters.clear());
        drop(look);
        assert!(counters.clear());
        assert_eq!(counters.look().due(0, 1), 0);
    }
}
