//! A clock for one thread that sends it a signal whenever it has used so much CPU time.
//!
//! `perf_event_open`'s cpu-clock is the better of two: it is a high-resolution timer, so 10 kHz are 10 kHz. Where it is
//! not allowed (containers, `perf_event_paranoid`), there are POSIX timers, which the kernel looks at 100 to 1000 times
//! a second only; it says how many expirations went by, and the sample stands for all of them.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::kernel::Ring;

/// What makes clocks tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `perf_event_open`, cpu-clock.
    Perf,
    /// `timer_create` on the thread's CPU clock.
    Timer,
}

impl Source {
    /// The better one of those that work here, and why not the best.
    pub fn choose() -> (Source, Option<io::Error>) {
        // SAFETY: a plain query.
        let tid = unsafe { libc::gettid() };
        match open_perf(tid, 1_000_000_000) {
            Ok(_) => (Source::Perf, None),
            Err(why) => (Source::Timer, Some(why)),
        }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Source::Perf => "perf_event_open cpu-clock",
            Source::Timer => "POSIX timers on threads' CPU clocks",
        }
    }
}

/// The clock of one thread; it stops when dropped.
pub enum Clock {
    /// A perf event, and where the kernel writes its part of the stack, if that was to be had.
    Perf(OwnedFd, #[allow(dead_code, reason = "kept for its end")] Option<Ring>),
    /// A POSIX timer, kept for its end.
    Timer(#[allow(dead_code, reason = "dropping it stops it")] Timer),
}

impl Clock {
    /// Starts a clock for a thread of this process, with a signal that carries `token` every `period` nanoseconds. A
    /// perf event cannot carry anything: its signal names the descriptor, which `register` is told before the first, with
    /// what the kernel writes of itself.
    pub fn start(
        source: Source,
        tid: i32,
        signal: i32,
        token: u32,
        period: u64,
        register: &dyn Fn(i32, Option<&Ring>) -> bool,
    ) -> io::Result<Clock> {
        if source == Source::Perf {
            let event = open_perf(tid, period)?;
            let ring = Ring::of(&event).ok();
            if register(event.as_raw_fd(), ring.as_ref()) {
                arm_perf(&event, tid, signal)?;
                return Ok(Clock::Perf(event, ring));
            }
        }
        Timer::start(tid, signal, token, period).map(Clock::Timer)
    }
}

/// `struct perf_event_attr`, as far as the first version of it went.
#[repr(C)]
#[derive(Default)]
struct PerfEventAttr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_COUNT_SW_CPU_CLOCK: u64 = 0;
const PERF_SAMPLE_CALLCHAIN: u64 = 1 << 5;
const DISABLED: u64 = 1;
/// Of the stack, the kernel's part only.
const EXCLUDE_CALLCHAIN_USER: u64 = 1 << 22;
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;
const PERF_EVENT_IOC_REFRESH: libc::c_ulong = 0x2402;

fn open_perf(tid: i32, period: u64) -> io::Result<OwnedFd> {
    let attributes = PerfEventAttr {
        kind: PERF_TYPE_SOFTWARE,
        size: size_of::<PerfEventAttr>() as u32,
        config: PERF_COUNT_SW_CPU_CLOCK,
        sample_period: period,
        sample_type: PERF_SAMPLE_CALLCHAIN,
        flags: DISABLED | EXCLUDE_CALLCHAIN_USER,
        wakeup_events: 1,
        ..PerfEventAttr::default()
    };
    // SAFETY: the kernel reads `size` bytes; a descriptor it returns is ours alone.
    unsafe {
        let fd = libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            tid,
            -1,
            -1,
            PERF_FLAG_FD_CLOEXEC,
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

const F_SETOWN_EX: i32 = 15;
const F_OWNER_TID: i32 = 0;
const F_SETSIG: i32 = 10;

fn arm_perf(event: &OwnedFd, tid: i32, signal: i32) -> io::Result<()> {
    let fd = event.as_raw_fd();
    let owner = Owner { kind: F_OWNER_TID, id: tid };
    // SAFETY: calls on our own descriptor; the kernel reads one `f_owner_ex`.
    let armed = unsafe {
        libc::fcntl(fd, libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK) != -1
            && libc::fcntl(fd, F_SETSIG, signal) != -1
            && libc::fcntl(fd, F_SETOWN_EX, &raw const owner) != -1
            && libc::ioctl(fd, PERF_EVENT_IOC_REFRESH, 1) != -1
    };
    if armed { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets a perf event send one more signal. It sends one at a time: a walk that takes longer than the period would
/// otherwise be followed by the next at once, and the thread would do nothing else. For signal handlers.
pub fn one_more(fd: i32) {
    // SAFETY: a plain call; on a descriptor that was closed meanwhile it fails or, at worst, is one the event does not
    // have (ENOTTY).
    unsafe { libc::ioctl(fd, PERF_EVENT_IOC_REFRESH, 1) };
}

/// The clock of the CPU time that a thread of this process uses: the kernel's own encoding, which is what
/// `pthread_getcpuclockid` gives for threads it knows.
pub fn of_thread(tid: i32) -> libc::clockid_t {
    const PER_THREAD_SCHEDULED: i32 = 6;
    !tid << 3 | PER_THREAD_SCHEDULED
}

/// A POSIX timer on a thread's CPU clock.
pub struct Timer(libc::timer_t);

// SAFETY: a timer's id may be used by all threads of the process.
unsafe impl Send for Timer {}

impl Timer {
    fn start(tid: i32, signal: i32, token: u32, period: u64) -> io::Result<Timer> {
        let clock = of_thread(tid);
        // SAFETY: a sigevent is plain data, and all zeros are valid.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event.sigev_notify_thread_id = tid;
        event.sigev_value.sival_ptr = std::ptr::without_provenance_mut(token as usize);
        let mut id: libc::timer_t = std::ptr::null_mut();
        // SAFETY: both point to locals of these types.
        if unsafe { libc::timer_create(clock, &mut event, &mut id) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let timer = Timer(id);
        let every = libc::timespec {
            tv_sec: (period / 1_000_000_000) as libc::time_t,
            tv_nsec: (period % 1_000_000_000) as libc::c_long,
        };
        let setting = libc::itimerspec { it_interval: every, it_value: every };
        // SAFETY: our own timer; the old setting is not asked for.
        if unsafe { libc::timer_settime(timer.0, 0, &setting, std::ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(timer)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: our own timer, deleted once.
        unsafe { libc::timer_delete(self.0) };
    }
}
