//! The signal handler: one sample of the thread it runs on. It allocates nothing, takes no lock and is bounded by the
//! depth of the stack.

use std::ffi::c_void;
use std::sync::OnceLock;

use quipu_arena::append::Sample;
use quipu_arena::layout::{header, run_state};
use quipu_unwind::{Memory, Registers, dwarf};

use super::areas::{self, Area};
use super::asking;
use super::chain::Extent;
use super::counters::{self, Look};
use super::labels;
use super::lost::{self, Cause};
use super::published;
use super::walk::{Interrupted, Stack};
use super::watch::{Identity, Watch};
use super::{Engine, monotonic};

/// The signals that samples are taken at.
pub struct Signals {
    /// Clocks of CPU time send it. A plain one: were it queued, and the queue full, the kernel would send SIGIO in its
    /// place, which ends the process.
    pub cpu: i32,
    /// The wall clock sends it. Another one: of two plain signals that are pending only one is delivered, and a clock
    /// whose signal is not delivered stops.
    pub wall: i32,
    /// Counters of events send it, once there are any. A plain one like that of CPU time, and not the same: a clock whose signal is
    /// one with another's stops. Counters do not: each is looked at, whichever sent it.
    events: OnceLock<Option<i32>>,
}

/// Signals that programs seldom use for anything else.
const PLAIN: [i32; 4] = [libc::SIGPROF, libc::SIGVTALRM, libc::SIGSTKFLT, libc::SIGURG];

fn real_time() -> std::ops::Range<i32> {
    libc::SIGRTMIN() + 10..libc::SIGRTMAX()
}

impl Signals {
    /// Takes signals that nobody uses.
    pub fn take() -> Option<Signals> {
        let cpu = install([libc::SIGPROF, libc::SIGVTALRM].into_iter())?;
        Some(Signals { cpu, wall: install(real_time())?, events: OnceLock::new() })
    }

    /// What counters of events send; `None` if all are in use.
    pub fn events(&self) -> Option<i32> {
        *self.events.get_or_init(|| install(PLAIN.into_iter().filter(|&signal| signal != self.cpu)))
    }

    fn is_of_events(&self, signal: i32) -> bool {
        self.events.get() == Some(&Some(signal))
    }
}

/// What waits while a sample is taken: the next one is to show the thread, not our handler.
fn meanwhile() -> libc::sigset_t {
    // SAFETY: plain data, to which signals are added.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut all);
        for signal in PLAIN.into_iter().chain(real_time()) {
            libc::sigaddset(&mut all, signal);
        }
        all
    }
}

/// Installs the handler for the first of these signals that nobody uses, and returns it. It stays: a signal may be on its
/// way when the last clock is stopped, and the default action is to end the process.
fn install(candidates: impl Iterator<Item = i32>) -> Option<i32> {
    for signal in candidates {
        // SAFETY: plain data; zeros are valid.
        let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: a query that writes to `before`.
        let known = unsafe { libc::sigaction(signal, std::ptr::null(), &mut before) } == 0;
        let ours = handler as extern "C" fn(_, _, _) as usize;
        if known && before.sa_sigaction == ours {
            // From a start that came to nothing.
            return Some(signal);
        }
        if !known || !matches!(before.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) {
            continue;
        }
        // SAFETY: as above; the handler has the signature that SA_SIGINFO stands for.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = ours;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            action.sa_mask = meanwhile();
            if libc::sigaction(signal, &action, std::ptr::null_mut()) == 0 {
                return Some(signal);
            }
        }
    }
    None
}

/// Somebody sent a signal to one thread.
const SI_TKILL: i32 = -6;

/// What a signal says, in the words of `siginfo_t` on 64-bit Linux.
#[repr(C)]
struct Said {
    signal: i32,
    error: i32,
    code: i32,
    pad: i32,
    /// A timer: its id. A descriptor: what happened.
    first: i32,
    /// A timer: expirations that went by.
    second: i32,
    /// A timer: our token. A descriptor: which one.
    value: i32,
}

extern "C" fn handler(_: i32, info: *mut libc::siginfo_t, ucontext: *mut c_void) {
    // SAFETY: the interrupted code must find its errno again.
    let errno = unsafe { *libc::__errno_location() };
    if let Some(engine) = Engine::get() {
        // SAFETY: the kernel passes 128 bytes that begin as `Said` does.
        let said = unsafe { &*info.cast::<Said>() };
        sample(engine, said, ucontext);
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

fn sample(engine: &Engine, said: &Said, ucontext: *mut c_void) {
    let (watch, expirations) = match said.code {
        libc::SI_TIMER => (engine.threads.watch(said.value.cast_unsigned()), said.second.max(0) as u64 + 1),
        libc::SI_QUEUE => (engine.threads.watch(said.value.cast_unsigned()), 0),
        // SAFETY: a plain query.
        SI_TKILL => return asking::answer(engine.vm, unsafe { libc::gettid() }),
        1.. => (engine.threads.watch_of_descriptor(said.value), 1),
        _ => return,
    };
    // SAFETY: a plain query.
    let tid = unsafe { libc::gettid() };
    // Numbers and descriptors are given to other threads when theirs ended, and anybody can send signals.
    let Some((watch, thread)) = watch.and_then(|watch| Some((watch, watch.of(tid)?))) else { return };
    let mut look = watch.counters().look();
    let of_events = said.code > 0 && engine.signals.is_of_events(said.signal);
    let mut due = [Due::default(); counters::MOST];
    let clock = match expirations {
        _ if of_events => {
            // SAFETY: the context is the handler's.
            let sp = unsafe { Registers::of(ucontext) }.sp();
            events_due(engine, thread, sp, &mut look, &mut due);
            Clock::Events
        }
        0 => {
            let value = watch.take_wall_due(thread.id);
            due[0] = Due { metric: engine.wall_metric(), value, ..Due::default() };
            Clock::Wall
        }
        _ => {
            let value = engine.cpu_period().saturating_mul(expirations);
            due[0] = Due { metric: engine.cpu_metric(), value, ..Due::default() };
            Clock::Cpu
        }
    };
    if due.iter().any(|due| due.value > 0) {
        take(engine, watch, thread, clock, &due, ucontext);
    }
    // Only now: another thread's clock must not be told to go on, and a descriptor that is the target's not be touched.
    // One that was closed meanwhile is not found any more; whoever closes it waits for a handler that has found it.
    let is_still =
        || engine.threads.watch_of_descriptor(said.value).is_some_and(|now| std::ptr::eq(now, watch));
    if said.code > 0 && !of_events && is_still() {
        if let Some(period) = watch.take_period(thread.id) {
            quipu_perf::settle(said.value, period);
        }
        quipu_perf::refresh(said.value);
    }
    // SAFETY: the context is the handler's.
    let waits = || unsafe { goes_on_waiting(engine.walker.memory(), ucontext) };
    look.leave(engine.walker.memory(), |at| {
        u64::from(engine.counted(at).is_some_and(|event| event.wakes()) && waits())
    });
}

/// What counters have counted enough of for a sample, and which areas of memory that was about.
fn events_due(
    engine: &Engine,
    thread: Identity,
    sp: usize,
    look: &mut Look<'_>,
    due: &mut [Due; counters::MOST],
) {
    for (at, due) in due.iter_mut().enumerate() {
        let Some(event) = engine.counted(at) else { continue };
        due.metric = event.metric();
        due.chained = event.chained_metric();
        due.value = look.due(at, event.period());
        if due.value == 0 {
            continue;
        }
        if let Some(times) = look.times(at) {
            event.turns().add(times);
        }
        if event.has_address() {
            let memory = engine.walker.memory();
            look.addresses(at, memory, |address| {
                due.touch(engine.areas.of(&engine.walker, thread, sp, address));
            });
            if due.areas == [0; areas::COUNT] {
                due.touch(Area::Unknown);
            }
        }
    }
}

/// Whether a thread was woken from a system call by our signal, and calls it again: the kernel has taken it back to the
/// instruction, or told it that it was interrupted, which who waits takes for that.
///
/// # Safety
/// The context is the one that the kernel passed to the handler that runs.
unsafe fn goes_on_waiting(memory: Memory, ucontext: *mut c_void) -> bool {
    const SYSCALL: u16 = u16::from_le_bytes([0x0f, 0x05]);
    const INTERRUPTED: usize = -(libc::EINTR as isize) as usize;
    // SAFETY: by this function's contract.
    let registers = unsafe { Registers::of(ucontext) };
    let result = registers.get(dwarf::RAX);
    memory.u16(registers.pc) == Some(SYSCALL)
        || (result == Some(INTERRUPTED) && memory.u16(registers.pc.wrapping_sub(2)) == Some(SYSCALL))
}

/// What a sample adds to a metric; nothing if it is none.
#[derive(Clone, Copy, Default)]
struct Due {
    metric: u16,
    value: u64,
    /// The metric of what is chained beside that; 0 if nothing is.
    chained: u16,
    /// How many of its events were about each area of memory; none if that is not asked.
    areas: [u16; areas::COUNT],
}

impl Due {
    fn touch(&mut self, area: Area) {
        if let Some(times) = self.areas.get_mut(area as usize) {
            *times = times.saturating_add(1);
        }
    }

    /// Its value by area, each with a number that says which; all of it with none, if it is about none.
    fn parts(&self, number: impl Fn(usize) -> u32) -> impl Iterator<Item = (u64, u32)> {
        let all: u64 = self.areas.iter().map(|&times| u64::from(times)).sum();
        let mut rest = self.value;
        let mut left = all;
        let areas = self.areas.into_iter().enumerate().filter(|(_, times)| *times > 0);
        let parts = areas.map(move |(area, times)| {
            // What is left after the last is nothing.
            let part = (u128::from(rest) * u128::from(times) / u128::from(left.max(1))) as u64;
            (rest, left) = (rest - part, left - u64::from(times));
            (part, number(area))
        });
        let whole = (all == 0).then_some((self.value, 0));
        whole.into_iter().chain(parts).filter(|(part, _)| *part > 0)
    }
}

/// What made a sample be due.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    Cpu,
    Wall,
    Events,
}

fn take(engine: &Engine, watch: &Watch, thread: Identity, clock: Clock, due: &[Due], ucontext: *mut c_void) {
    let time = monotonic();
    let Identity { tid, env, id } = thread;
    let interrupted = Interrupted { tid, env, ucontext };
    let published = published::slot(engine.arena, env);
    let (walker, arena, contexts) = (&engine.walker, engine.arena, &engine.contexts);
    let extent = match clock {
        Clock::Events => Extent::of(engine.contexts_by(), watch.next_stack()),
        Clock::Cpu | Clock::Wall => Extent::WALK,
    };
    // SAFETY: the identity is this thread's, so the environment is; the context is the handler's.
    let stack = unsafe {
        match published {
            Some(slot) => walker.walk_published(arena, contexts, interrupted, slot).map(Stack::of),
            None => walker.walk(arena, contexts, interrupted, extent),
        }
    };
    let Some(Stack { mut context, chained, virtual_thread }) = stack else { return };
    #[cfg(debug_assertions)]
    if published.is_some() && published::is_of_everything() {
        super::compared::tell(engine, interrupted, time, id, context);
    }
    if clock == Clock::Cpu && published.is_none() {
        // What was read is this thread's if the watch still is.
        let own = || watch.of(tid) == Some(thread);
        let kernel = watch.kernel();
        let Some(deeper) = engine.walker.enter_kernel(engine.arena, &engine.contexts, context, kernel, own)
        else {
            return;
        };
        context = deeper;
    }
    if clock == Clock::Wall {
        watch.set_last_seen(id, virtual_thread.unwrap_or(id), context);
    }
    let thread = virtual_thread.unwrap_or(id);
    let labels = labels::of(tid);
    for due in due.iter().filter(|due| due.value > 0) {
        let (metric, count, state) = (due.metric, 1, run_state::RUNNING);
        for (value, detail) in due.parts(|area| engine.areas.number(area)) {
            let sample = Sample { time, value, context, thread, labels, metric, count, detail, state };
            let chained = chained.filter(|_| due.chained > 0);
            let chained = chained.map(|context| Sample { context, metric: due.chained, ..sample });
            for sample in std::iter::once(sample).chain(chained) {
                if engine.arena.append_sample(super::appender(), &sample) {
                    watch.mark_sampled(id);
                } else {
                    lost::count(engine.arena, Cause::NoRoom);
                }
            }
        }
        engine.arena.add(header::SAMPLES, 1);
    }
    engine.arena.add(header::SAMPLING_NANOS, monotonic().saturating_sub(time));
    if engine.wants_upkeep() {
        engine.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_divided_among_areas_and_nothing_is_lost() {
        let mut due = Due { value: 10, ..Due::default() };
        let parts = |due: &Due| due.parts(|area| area as u32 + 100).collect::<Vec<_>>();
        assert_eq!(parts(&due), [(10, 0)]);
        due.touch(Area::Heap);
        assert_eq!(parts(&due), [(10, 101)]);
        due.touch(Area::Heap);
        due.touch(Area::Elsewhere);
        assert_eq!(parts(&due), [(6, 101), (4, 105)]);
        due.value = 1;
        assert_eq!(parts(&due), [(1, 105)]);
    }
}
