//! The signal handler: one sample of the thread it runs on. It allocates nothing, takes no lock and is bounded by the
//! depth of the stack.

use std::ffi::c_void;

use quipu_arena::append::Sample;
use quipu_arena::layout::{header, run_state};

use super::clock;
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
}

impl Signals {
    /// Takes signals that nobody uses.
    pub fn take() -> Option<Signals> {
        let (cpu, wall) = ([libc::SIGPROF, libc::SIGVTALRM], libc::SIGRTMIN() + 10..libc::SIGRTMAX());
        // A sample that is due while another is taken waits: it is to show the thread, not our handler.
        // SAFETY: plain data, to which signals are added.
        let both = unsafe {
            let mut both: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut both);
            for signal in cpu.into_iter().chain(wall.clone()) {
                libc::sigaddset(&mut both, signal);
            }
            both
        };
        Some(Signals { cpu: install(cpu.into_iter(), both)?, wall: install(wall, both)? })
    }
}

/// Installs the handler for the first of these signals that nobody uses, and returns it. It stays: a signal may be on its
/// way when the last clock is stopped, and the default action is to end the process. Signals of `meanwhile` wait for it.
fn install(candidates: impl Iterator<Item = i32>, meanwhile: libc::sigset_t) -> Option<i32> {
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
            action.sa_mask = meanwhile;
            if libc::sigaction(signal, &action, std::ptr::null_mut()) == 0 {
                return Some(signal);
            }
        }
    }
    None
}

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
        1.. => (engine.threads.watch_of_descriptor(said.value), 1),
        _ => return,
    };
    // SAFETY: a plain query.
    let tid = unsafe { libc::gettid() };
    // Numbers and descriptors are given to other threads when theirs ended, and anybody can send signals.
    let Some((watch, thread)) = watch.and_then(|watch| Some((watch, watch.of(tid)?))) else { return };
    let (clock, value) = match expirations {
        0 => (Clock::Wall, watch.take_wall_due(thread.id)),
        _ => (Clock::Cpu, engine.cpu_period().saturating_mul(expirations)),
    };
    if value > 0 {
        take(engine, watch, thread, clock, value, ucontext);
    }
    // Only now: another thread's clock must not be told to go on, and a descriptor that is the target's not be touched.
    if said.code > 0 {
        clock::one_more(said.value);
    }
}

/// What made a sample be due.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    Cpu,
    Wall,
}

fn take(engine: &Engine, watch: &Watch, thread: Identity, clock: Clock, value: u64, ucontext: *mut c_void) {
    let time = monotonic();
    let Identity { tid, env, id } = thread;
    let interrupted = Interrupted { tid, env, ucontext };
    let published = published::slot(engine.arena, env);
    let (walker, arena, contexts) = (&engine.walker, engine.arena, &engine.contexts);
    // SAFETY: the identity is this thread's, so the environment is; the context is the handler's.
    let stack = unsafe {
        match published {
            Some(slot) => walker
                .walk_published(arena, contexts, interrupted, slot)
                .map(|context| Stack { context, virtual_thread: None }),
            None => walker.walk(arena, contexts, interrupted),
        }
    };
    let Some(Stack { mut context, virtual_thread }) = stack else { return };
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
    let sample = Sample {
        time,
        value,
        context,
        thread: virtual_thread.unwrap_or(id),
        labels: labels::of(tid),
        metric: match clock {
            Clock::Cpu => engine.cpu_metric(),
            Clock::Wall => engine.wall_metric(),
        },
        count: 1,
        detail: 0,
        state: run_state::RUNNING,
    };
    if engine.arena.append_sample(super::appender(), &sample) {
        watch.mark_sampled(id);
    } else {
        lost::count(engine.arena, Cause::NoRoom);
    }
    engine.arena.add(header::SAMPLES, 1);
    engine.arena.add(header::SAMPLING_NANOS, monotonic().saturating_sub(time));
    if engine.wants_upkeep() {
        engine.wake();
    }
}
