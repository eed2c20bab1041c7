//! A clock for one thread that sends it a signal whenever it has used so much CPU time.
//!
//! `perf_event_open`'s cpu-clock is the better of two: it is a high-resolution timer, so 10 kHz are 10 kHz. Where it is
//! not allowed (containers, `perf_event_paranoid`), there are POSIX timers, which the kernel looks at 100 to 1000 times
//! a second only; it says how many expirations went by, and the sample stands for all of them.
//!
//! A clock's first period is shorter, by chance: a thread that lives for a tenth of a period is sampled in one of ten cases,
//! and so threads that live too briefly for a whole one are charged what they use, all of them together.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use quipu_perf::Attributes;

use super::kernel::Ring;
use super::monotonic;

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
        match quipu_perf::open(&Attributes::cpu_clock(1_000_000_000), tid) {
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
    /// what the kernel writes of itself. Nor has it two periods: who handles its first signal sets the other (`quipu_perf::settle`).
    pub fn start(
        source: Source,
        tid: i32,
        signal: i32,
        token: u32,
        period: u64,
        register: &dyn Fn(i32, Option<&Ring>) -> bool,
    ) -> io::Result<Clock> {
        if source == Source::Perf {
            let event = quipu_perf::open(&Attributes::cpu_clock(phase(period)), tid)?;
            let ring = Ring::of(&event).ok();
            if register(event.as_raw_fd(), ring.as_ref()) {
                quipu_perf::arm(&event, tid, signal)?;
                // It sends one signal at a time: a walk that takes longer than the period would otherwise be followed by the
                // next at once, and the thread would do nothing else.
                if !quipu_perf::refresh(event.as_raw_fd()) {
                    return Err(io::Error::last_os_error());
                }
                return Ok(Clock::Perf(event, ring));
            }
        }
        Timer::start(tid, signal, token, period).map(Clock::Timer)
    }
}

/// How much of the first period is to come: from 1 to all of it, each as likely as the others.
fn phase(period: u64) -> u64 {
    // Weyl's sequence, mixed (Steele, Lea and Flood's SplitMix64). It begins where the time happens to be.
    static SEQUENCE: AtomicU64 = AtomicU64::new(0);
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut mixed = SEQUENCE.fetch_add(STEP, Ordering::Relaxed).wrapping_add(monotonic());
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    1 + (mixed ^ mixed >> 31) % period.max(1)
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
        let time = |nanos: u64| libc::timespec {
            tv_sec: (nanos / 1_000_000_000) as _,
            tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
        };
        let setting = libc::itimerspec { it_interval: time(period), it_value: time(phase(period)) };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_periods_are_of_all_lengths() {
        const PERIOD: u64 = 10_000_000;
        let mut tenths = [0; 10];
        for _ in 0..10_000 {
            let phase = phase(PERIOD);
            assert!((1..=PERIOD).contains(&phase), "{phase}");
            tenths[((phase - 1) * 10 / PERIOD) as usize] += 1;
        }
        // Their standard deviation is 30.
        assert!(tenths.iter().all(|&n| (820..1180).contains(&n)), "{tenths:?}");
        assert_eq!(phase(1), 1);
    }
}
