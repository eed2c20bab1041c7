//! Wall-clock samples: what every Java thread is doing at regular moments, whether it runs or waits.
//!
//! A thread that has used no CPU time since it was last looked at has done nothing, so it is where it was: a thread that
//! waits costs one look at its clock. Of one that has moved, the VM tells the state; if it waits, the VM walks its
//! stack without disturbing it, and if it runs, it is sent a signal and takes its own sample. Virtual threads that wait are
//! looked at apart ([`super::unmounted`]).

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quipu_arena::append::Sample;
use quipu_arena::layout::run_state;
use quipu_jvm::sys::{self, jvmtiFrameInfo};
use quipu_jvm::{Env, Error, Jvmti, Thread};

use super::labels;
use super::lost::{self, Cause};
use super::published;
use super::unmounted::Unmounted;
use super::walk::{self, DEEPEST};
use super::watch::Watch;
use super::{Engine, monotonic};
use crate::locks::lock;
use crate::own_thread;
use crate::session::Session;

/// What was seen of a thread.
struct Seen {
    cpu: u64,
    state: u32,
}

/// When to look, and the thread that does.
#[derive(Default)]
pub struct Clock {
    /// Nanoseconds between looks at all threads; 0 while there are none.
    period: AtomicU64,
    /// When it was switched on last. A thread that was asleep meanwhile finds another time here.
    began: AtomicU64,
    /// Whether there is a thread. It may be asleep when the clock is switched off, and still be when that is on again: then it
    /// goes on, and there is no second one, which would count all time twice.
    running: Mutex<bool>,
}

impl Clock {
    /// Nanoseconds between looks; 0 while there are none.
    pub fn period(&self) -> u64 {
        self.period.load(Ordering::Acquire)
    }

    /// Looks every so often from now on. Those who call this or `stop` do so one after the other.
    pub fn start(&self, jvmti: Jvmti, env: &Env<'_>, period: u64) -> Result<(), Error> {
        if self.period() == 0 {
            self.began.store(monotonic(), Ordering::Release);
        }
        self.period.store(period, Ordering::Release);
        let mut running = lock(&self.running);
        if !*running {
            let started = own_thread::start(jvmti, env, "Quipu wall clock", run);
            started.inspect_err(|_| self.stop())?;
            *running = true;
        }
        Ok(())
    }

    /// Looks no more.
    pub fn stop(&self) {
        self.period.store(0, Ordering::Release);
    }

    /// Whether the thread is to go on; otherwise there is none any more.
    fn goes_on(&self) -> bool {
        let mut running = lock(&self.running);
        *running = self.period() > 0;
        *running
    }

    /// Whether it has been on since that time.
    fn is_on_since(&self, began: u64) -> bool {
        self.period() > 0 && self.began.load(Ordering::Acquire) == began
    }
}

/// Samples until it is switched off. The thread's body.
fn run(env: &mut Env<'_>) {
    let Some(engine) = Engine::get() else { return };
    engine.forget_own_thread();
    while engine.wall.goes_on() {
        go_round(engine, env);
    }
}

/// Samples until it is switched off, or was meanwhile: what was seen of threads then is nothing to another profile.
fn go_round(engine: &Engine, env: &mut Env<'_>) {
    let mut frames = vec![jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 }; DEEPEST];
    let mut seen: HashMap<u32, Seen> = HashMap::new();
    let began = engine.wall.began.load(Ordering::Acquire);
    let mut unmounted = Session::get().and_then(|session| Unmounted::find(session, env));
    let mut then = began;
    let mut next = Instant::now();
    loop {
        let period = Duration::from_nanos(engine.wall.period());
        // A round that took longer than the period is followed by the next one, not by several.
        next = (next + period).max(Instant::now());
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        if !engine.wall.is_on_since(began) {
            if let Some(unmounted) = unmounted {
                unmounted.end(env);
            }
            return;
        }
        let now = monotonic();
        let round = Round { engine, now, value: now.saturating_sub(then) };
        then = now;
        let present = engine.threads.java();
        seen.retain(|id, _| present.binary_search_by_key(id, |thread| thread.0).is_ok());
        for (id, number, tid) in present {
            if let Some(watch) = engine.threads.watch(number) {
                let thread = Visited { watch, id, tid, number };
                round.visit(env, thread, &mut seen, &mut frames);
            }
        }
        if let Some(unmounted) = &mut unmounted {
            unmounted.visit(env, &round, &mut frames);
        }
        if engine.wants_upkeep() {
            engine.wake();
        }
    }
}

/// A thread that is looked at.
#[derive(Clone, Copy)]
struct Visited<'w> {
    watch: &'w Watch,
    id: u32,
    tid: i32,
    number: u32,
}

/// One look at all threads.
pub struct Round<'e> {
    pub engine: &'e Engine,
    pub now: u64,
    /// Nanoseconds since the one before.
    pub value: u64,
}

impl Round<'_> {
    fn visit(
        &self,
        env: &mut Env<'_>,
        thread: Visited<'_>,
        seen: &mut HashMap<u32, Seen>,
        frames: &mut [jvmtiFrameInfo],
    ) {
        let Visited { watch, id, tid, number } = thread;
        let Some(cpu) = cpu_time(tid) else { return };
        if let Some(before) = seen.get(&id).filter(|before| before.cpu == cpu)
            && let Some((of, context)) = watch.last_seen(id)
        {
            // It was running and has not run since: it waits for a processor.
            let state = if before.state == run_state::RUNNING { run_state::RUNNABLE } else { before.state };
            return self.append(thread, of, context, state);
        }
        let engine = self.engine;
        let state = env.with_frame(4, |env| {
            let java = engine.threads.thread(env, tid)?;
            let state = self.state(java, tid)?;
            if state != run_state::RUNNING {
                let context = stack(engine, env, java, frames)?;
                watch.set_last_seen(id, id, context);
                self.append(thread, id, context, state);
            }
            Some(state)
        });
        let Ok(Some(state)) = state else { return };
        if state == run_state::RUNNING {
            watch.set_wall_due(id, self.value);
            send(tid, engine.signals.wall, number);
        }
        seen.insert(id, Seen { cpu, state });
    }

    /// A sample of a thread, or `of` a virtual one that it carries.
    fn append(&self, thread: Visited<'_>, of: u32, context: u32, state: u32) {
        let sample = Sample {
            time: self.now,
            value: self.value,
            context,
            thread: of,
            labels: labels::of(thread.tid),
            metric: self.engine.wall_metric(),
            count: 1,
            detail: 0,
            state,
        };
        if self.engine.arena.append_sample(super::appender(), &sample) {
            thread.watch.mark_sampled(thread.id);
        } else {
            lost::count(self.engine.arena, Cause::NoRoom);
        }
    }

    /// What a thread is doing; `None` if it has ended.
    fn state(&self, thread: Thread<'_>, tid: i32) -> Option<u32> {
        let flags = self.engine.jvmti.thread_state(Some(thread)).ok()?;
        if flags & sys::JVMTI_THREAD_STATE_ALIVE == 0 {
            return None;
        }
        // Java calls everything else runnable, a thread that waits in native code as well.
        waiting_state(flags)
            .or_else(|| Some(if waits_in_kernel(tid)? { run_state::NATIVE } else { run_state::RUNNING }))
    }
}

/// What a thread waits for, by what the VM says of it; `None` if it does not.
pub fn waiting_state(flags: i32) -> Option<u32> {
    const STATES: [(i32, u32); 5] = [
        (sys::JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER, run_state::BLOCKED),
        (sys::JVMTI_THREAD_STATE_SLEEPING, run_state::SLEEPING),
        (sys::JVMTI_THREAD_STATE_PARKED, run_state::PARKED),
        (sys::JVMTI_THREAD_STATE_IN_OBJECT_WAIT, run_state::WAITING),
        (sys::JVMTI_THREAD_STATE_WAITING, run_state::WAITING),
    ];
    STATES.iter().find(|(flag, _)| flags & flag != 0).map(|&(_, state)| state)
}

/// The context of a thread that waits: the one that it has published, with the method that waits. Otherwise the VM walks its
/// stack; a thread that starts to run meanwhile is walked when it comes to a safepoint.
pub fn stack(
    engine: &Engine,
    env: &Env<'_>,
    thread: Thread<'_>,
    frames: &mut [jvmtiFrameInfo],
) -> Option<u32> {
    if let Some(slot) = published::slot_of(engine.arena, env, thread) {
        let youngest = frames.get_mut(..1)?;
        let count = engine.jvmti.stack_trace(Some(thread), 0, youngest).ok()?;
        let youngest = youngest.first().filter(|_| count > 0);
        return walk::insert_published(engine.arena, &engine.contexts, slot, youngest);
    }
    let count = engine.jvmti.stack_trace(Some(thread), 0, frames).ok()?;
    walk::insert_waiting(engine.arena, &engine.contexts, frames.get(..count)?)
}

/// Nanoseconds of CPU time that a thread of this process has used.
pub fn cpu_time(tid: i32) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec, or fails for a thread that is gone.
    let known = unsafe { libc::clock_gettime(super::clock::of_thread(tid), &mut time) } == 0;
    known.then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Whether the kernel has a thread waiting for something.
fn waits_in_kernel(tid: i32) -> Option<bool> {
    let stat = std::fs::read(format!("/proc/self/task/{tid}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let behind = stat.iter().rposition(|&byte| byte == b')')?;
    Some(!matches!(stat.get(behind + 2), Some(b'R')))
}

/// Sends a thread the signal that makes it take its own sample.
fn send(tid: i32, signal: i32, number: u32) {
    #[repr(C)]
    struct Info {
        signal: i32,
        error: i32,
        code: i32,
        pad: i32,
        pid: i32,
        uid: u32,
        value: usize,
        rest: [u64; 12],
    }
    const _: () = assert!(size_of::<Info>() == 128);
    // SAFETY: plain queries and a call that reads one siginfo; a thread that is gone makes it fail.
    unsafe {
        let (pid, uid) = (libc::getpid(), libc::getuid());
        let info = Info {
            signal,
            error: 0,
            code: libc::SI_QUEUE,
            pad: 0,
            pid,
            uid,
            value: number as usize,
            rest: [0; 12],
        };
        libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, tid, signal, &raw const info);
    }
}
