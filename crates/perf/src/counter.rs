//! Counters of single threads: opened here, read in signal handlers.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::attributes::Attributes;

const CLOSE_ON_EXEC: libc::c_ulong = 8;
const ENABLE: libc::Ioctl = 0x2400;
const REFRESH: libc::Ioctl = 0x2402;
const PERIOD: libc::Ioctl = 0x4008_2404;
const F_SETSIG: i32 = 10;
const F_SETOWN_EX: i32 = 15;
const F_OWNER_TID: i32 = 0;

/// Opens a counter of a thread. It does not count yet.
pub fn open(attributes: &Attributes, tid: i32) -> io::Result<OwnedFd> {
    // SAFETY: the kernel reads as many bytes as they say they are; a descriptor it returns is ours alone.
    unsafe {
        let fd = libc::syscall(
            libc::SYS_perf_event_open,
            std::ptr::from_ref(attributes),
            tid,
            -1,
            -1,
            CLOSE_ON_EXEC,
        );
        match i32::try_from(fd) {
            Ok(fd) if fd >= 0 => Ok(OwnedFd::from_raw_fd(fd)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// `struct f_owner_ex`.
#[repr(C)]
struct Owner {
    kind: i32,
    id: i32,
}

/// Has a counter send its thread a signal whenever a sample is due.
pub fn arm(counter: &OwnedFd, tid: i32, signal: i32) -> io::Result<()> {
    let fd = counter.as_raw_fd();
    let owner = Owner { kind: F_OWNER_TID, id: tid };
    // SAFETY: calls on our own descriptor; the kernel reads one `f_owner_ex`.
    let armed = unsafe {
        libc::fcntl(fd, libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK) != -1
            && libc::fcntl(fd, F_SETSIG, signal) != -1
            && libc::fcntl(fd, F_SETOWN_EX, &raw const owner) != -1
    };
    if armed { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has it count from now on.
pub fn enable(counter: &OwnedFd) -> io::Result<()> {
    // SAFETY: a plain call on our own descriptor.
    match unsafe { libc::ioctl(counter.as_raw_fd(), ENABLE, 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Has a counter go on until one more sample is due, and then stop. For signal handlers: on a descriptor that was closed
/// meanwhile it fails or, at worst, is a call that the file does not have (ENOTTY).
pub fn refresh(fd: i32) -> bool {
    // SAFETY: a plain call.
    unsafe { libc::ioctl(fd, REFRESH, 1) != -1 }
}

/// A counter whose first period is over has this one from now on. For signal handlers, before [`refresh`]; of descriptors that
/// were closed, as there.
pub fn settle(fd: i32, period: u64) {
    // SAFETY: a call that reads one number.
    unsafe { libc::ioctl(fd, PERIOD, &raw const period) };
}

/// What a counter says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Count {
    /// Events so far.
    pub events: u64,
    /// Nanoseconds for which it was there, while its thread ran.
    pub enabled: u64,
    /// Nanoseconds of those in which it counted.
    pub running: u64,
}

impl Count {
    /// How many there were since an earlier count. If the processor had no counter for it at times, as many as there would
    /// have been.
    pub fn since(&self, before: &Count) -> u64 {
        let events = self.events.saturating_sub(before.events);
        let enabled = self.enabled.saturating_sub(before.enabled);
        let running = self.running.saturating_sub(before.running);
        if running == 0 || running >= enabled {
            return events;
        }
        let scaled = u128::from(events) * u128::from(enabled) / u128::from(running);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }

    /// For how many nanoseconds it was there since an earlier count, and in how many of those it counted.
    pub fn times_since(&self, before: &Count) -> [u64; 2] {
        [self.enabled.saturating_sub(before.enabled), self.running.saturating_sub(before.running)]
    }
}

/// Reads a counter. For signal handlers; the descriptor must be a counter's, since anything else would be read from.
pub fn read(fd: i32) -> Option<Count> {
    let mut count = Count::default();
    let size = size_of::<Count>();
    // SAFETY: the kernel writes at most the bytes of `count`, which may have any values.
    let read = unsafe { libc::read(fd, (&raw mut count).cast(), size) };
    usize::try_from(read).is_ok_and(|read| read == size).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Event;

    #[test]
    fn a_counter_counts_what_its_thread_does() {
        // Pages that nobody has touched fault once each.
        const PAGES: usize = 1000;
        let event = Event::parse("page-faults").unwrap();
        let counter = open(&event.attributes().unwrap(), 0).expect("software events can be had");
        // SAFETY: a fresh mapping, and writes within it.
        unsafe {
            let memory = libc::mmap(
                std::ptr::null_mut(),
                PAGES * 4096,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(memory, libc::MAP_FAILED);
            libc::madvise(memory, PAGES * 4096, libc::MADV_NOHUGEPAGE);
            enable(&counter).unwrap();
            let before = read(counter.as_raw_fd()).unwrap();
            (0..PAGES).for_each(|page| memory.cast::<u8>().add(page * 4096).write_volatile(1));
            let faults = read(counter.as_raw_fd()).unwrap().since(&before);
            libc::munmap(memory, PAGES * 4096);
            assert!((PAGES as u64..PAGES as u64 + 20).contains(&faults), "{faults}");
        }
    }

    #[test]
    fn what_was_not_counted_for_lack_of_counters_is_estimated() {
        let before = Count { events: 100, enabled: 1_000, running: 1_000 };
        let count = |events, enabled, running| Count { events, enabled, running }.since(&before);
        assert_eq!(count(150, 2_000, 2_000), 50);
        assert_eq!(count(150, 2_000, 1_250), 200);
        assert_eq!(count(100, 2_000, 1_000), 0);
        assert_eq!(count(u64::MAX, u64::MAX, 1_001), u64::MAX);
    }
}
