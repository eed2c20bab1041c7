//! The threads that are watched: who they are, and the clock of each.
//!
//! A signal handler sees a thread as a [`Watch`], found by the number its signal carries; everything else is behind a
//! lock that handlers never take.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering};

use quipu_arena::record::Record;
use quipu_arena::writer::ArenaWriter;
use quipu_jvm::sys::JNIEnv;

use super::clock::{Clock, Source};
use super::lost::{self, Cause};
use super::memory::{Zeroed, reserve};
use crate::locks::lock;

/// Threads that can be watched at the same time, and the largest descriptor of a perf event.
const MOST: usize = 1 << 16;

/// A thread as its signal handler sees it.
pub struct Watch {
    tid: AtomicI32,
    env: AtomicPtr<JNIEnv>,
    id: AtomicU32,
    sampled: AtomicBool,
}

// SAFETY: atomics.
unsafe impl Zeroed for Watch {}
// SAFETY: an atomic.
unsafe impl Zeroed for AtomicU32 {}

impl Watch {
    /// The thread's environment; null if it is not Java's.
    pub fn env(&self) -> *mut JNIEnv {
        self.env.load(Ordering::Relaxed)
    }

    /// The number it has in samples.
    pub fn id(&self) -> u32 {
        self.id.load(Ordering::Relaxed)
    }

    /// Whether it is the thread with this id.
    pub fn is(&self, tid: i32) -> bool {
        self.tid.load(Ordering::Acquire) == tid
    }

    /// There is a sample of it: its name must be told.
    pub fn mark_sampled(&self) {
        if !self.sampled.load(Ordering::Relaxed) {
            self.sampled.store(true, Ordering::Relaxed);
        }
    }
}

/// How clocks are to be set.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// What makes them tick.
    pub source: Source,
    /// Nanoseconds of CPU time.
    pub period: u64,
    /// The signal they send.
    pub signal: i32,
}

/// What is told about a thread when it is found.
pub struct Found<'a> {
    /// The kernel's id.
    pub tid: i32,
    /// Its environment; null if it is not Java's.
    pub env: *mut JNIEnv,
    /// Its name.
    pub name: &'a [u8],
}

/// All threads that are watched.
pub struct Threads {
    watches: &'static [Watch],
    /// Number of the watch, plus one, by descriptor of its perf event.
    by_descriptor: &'static [AtomicU32],
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    by_tid: HashMap<i32, Watched>,
    free: Vec<u32>,
    /// Watches in use so far, and threads met so far.
    used: u32,
    met: u32,
    setting: Option<Setting>,
}

struct Watched {
    number: u32,
    java: bool,
    name: Vec<u8>,
    told: bool,
    clock: Option<Clock>,
}

impl Threads {
    /// None yet; `None` without memory.
    pub fn new() -> Option<Threads> {
        Some(Threads { watches: reserve(MOST)?, by_descriptor: reserve(MOST)?, state: Mutex::default() })
    }

    /// The thread with this number. For signal handlers.
    pub fn watch(&self, number: u32) -> Option<&Watch> {
        self.watches.get(number as usize)
    }

    /// The thread whose perf event has this descriptor. For signal handlers.
    pub fn watch_of_descriptor(&self, fd: i32) -> Option<&Watch> {
        let number = self.by_descriptor.get(usize::try_from(fd).ok()?)?.load(Ordering::Acquire);
        self.watch(number.checked_sub(1)?)
    }

    /// Sets all clocks, and those of threads to come; `None` stops them.
    pub fn set_clocks(&self, arena: &ArenaWriter, setting: Option<Setting>) {
        let mut state = lock(&self.state);
        let state = &mut *state;
        state.setting = setting;
        for (&tid, watched) in &mut state.by_tid {
            self.silence(watched);
            if let Some(setting) = setting {
                self.start_clock(arena, tid, watched, setting);
            }
        }
    }

    /// Begins to watch a thread, or learns more about one.
    pub fn add(&self, arena: &ArenaWriter, found: &Found<'_>) {
        let mut state = lock(&self.state);
        let state = &mut *state;
        match state.by_tid.get(&found.tid) {
            None => {}
            // Seen in the list of all threads before the VM told of it, or another one that had the same id.
            Some(watched) if !watched.java && !found.env.is_null() => self.forget(arena, state, found.tid),
            Some(_) => return,
        }
        let number = state.free.pop().or_else(|| {
            let next = state.used;
            ((next as usize) < MOST).then(|| state.used += 1).map(|()| next)
        });
        let Some((number, watch)) = number.and_then(|number| Some((number, self.watch(number)?))) else {
            lost::count(arena, Cause::Unwatched);
            return;
        };
        state.met += 1;
        watch.env.store(found.env, Ordering::Relaxed);
        watch.id.store(state.met, Ordering::Relaxed);
        watch.sampled.store(false, Ordering::Relaxed);
        watch.tid.store(found.tid, Ordering::Release);
        let java = !found.env.is_null();
        let mut watched = Watched { number, java, name: found.name.to_vec(), told: false, clock: None };
        if let Some(setting) = state.setting {
            self.start_clock(arena, found.tid, &mut watched, setting);
        }
        state.by_tid.insert(found.tid, watched);
    }

    /// The thread is about to end; called on it, or when it is gone.
    pub fn remove(&self, arena: &ArenaWriter, tid: i32) {
        self.forget(arena, &mut lock(&self.state), tid);
    }

    fn forget(&self, arena: &ArenaWriter, state: &mut State, tid: i32) {
        let Some(mut watched) = state.by_tid.remove(&tid) else { return };
        self.silence(&mut watched);
        self.tell(arena, &mut watched);
        if let Some(watch) = self.watch(watched.number) {
            watch.tid.store(0, Ordering::Release);
            watch.env.store(std::ptr::null_mut(), Ordering::Relaxed);
        }
        state.free.push(watched.number);
    }

    /// Whether the thread with this id is watched.
    pub fn knows(&self, tid: i32) -> bool {
        lock(&self.state).by_tid.contains_key(&tid)
    }

    /// Removes those that `alive` does not hold of, and tells names of threads that were sampled.
    pub fn upkeep(&self, arena: &ArenaWriter, alive: Option<&dyn Fn(i32) -> bool>) {
        let mut state = lock(&self.state);
        for watched in state.by_tid.values_mut() {
            self.tell(arena, watched);
        }
        let gone = |tid: &&i32| alive.is_some_and(|alive| !alive(**tid));
        for tid in state.by_tid.keys().filter(gone).copied().collect::<Vec<i32>>() {
            self.forget(arena, &mut state, tid);
        }
    }

    /// Forgets all threads; their clocks stop.
    pub fn clear(&self, arena: &ArenaWriter) {
        let mut state = lock(&self.state);
        for tid in state.by_tid.keys().copied().collect::<Vec<i32>>() {
            self.forget(arena, &mut state, tid);
        }
    }

    fn tell(&self, arena: &ArenaWriter, watched: &mut Watched) {
        let Some(watch) = self.watch(watched.number) else { return };
        if watched.told || !watch.sampled.load(Ordering::Relaxed) {
            return;
        }
        let told = arena.log(&Record::SampledThread {
            id: watch.id(),
            java: watched.java.into(),
            tid: watch.tid.load(Ordering::Relaxed).unsigned_abs(),
            name: &watched.name,
        });
        watched.told = told.is_some();
    }

    fn start_clock(&self, arena: &ArenaWriter, tid: i32, watched: &mut Watched, setting: Setting) {
        let register = |fd: i32| {
            let slot = usize::try_from(fd).ok().and_then(|fd| self.by_descriptor.get(fd));
            slot.map(|slot| slot.store(watched.number + 1, Ordering::Release)).is_some()
        };
        let Setting { source, period, signal } = setting;
        let started = Clock::start(source, tid, signal, watched.number, period, register)
            // Out of descriptors, for one: a timer needs none.
            .or_else(|_| Clock::start(Source::Timer, tid, signal, watched.number, period, |_| false));
        match started {
            Ok(clock) => watched.clock = Some(clock),
            Err(_) => lost::count(arena, Cause::Unwatched),
        }
    }

    fn silence(&self, watched: &mut Watched) {
        if let Some(Clock::Perf(event)) = &watched.clock {
            let fd = usize::try_from(std::os::fd::AsRawFd::as_raw_fd(event)).ok();
            if let Some(slot) = fd.and_then(|fd| self.by_descriptor.get(fd)) {
                slot.store(0, Ordering::Release);
            }
        }
        watched.clock = None;
    }
}
