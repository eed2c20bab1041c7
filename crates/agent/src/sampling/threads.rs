//! The threads that are watched: who they are, and the clock of each.
//!
//! A signal handler sees a thread as a [`Watch`], found by the number its signal carries; everything else is behind a
//! lock that handlers never take.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use quipu_arena::record::Record;
use quipu_arena::writer::ArenaWriter;
use quipu_jvm::jni::kind;
use quipu_jvm::sys::JNIEnv;
use quipu_jvm::{Env, Global, Thread};

use super::clock::{Clock, Source};
use super::kernel::{Reader, Ring};
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
    number: AtomicU32,
    /// Where it was seen last by the wall clock, 0 if nowhere yet; and what that clock wants a sample for.
    last_context: AtomicU32,
    wall_due: AtomicU64,
    /// What the kernel wrote of itself.
    kernel: Reader,
}

// SAFETY: atomics.
unsafe impl Zeroed for Watch {}
// SAFETY: an atomic.
unsafe impl Zeroed for AtomicU32 {}

impl Watch {
    /// What the kernel wrote of itself when the clock ran out.
    pub fn kernel(&self) -> &Reader {
        &self.kernel
    }

    /// The thread's environment; null if it is not Java's.
    pub fn env(&self) -> *mut JNIEnv {
        self.env.load(Ordering::Relaxed)
    }

    /// The number it has in samples.
    pub fn id(&self) -> u32 {
        self.id.load(Ordering::Relaxed)
    }

    /// The number that its signals carry.
    pub fn number(&self) -> u32 {
        self.number.load(Ordering::Relaxed)
    }

    /// Where the wall clock saw it last.
    pub fn last_context(&self) -> Option<u32> {
        Some(self.last_context.load(Ordering::Relaxed)).filter(|&context| context != 0)
    }

    /// The wall clock has seen it here.
    pub fn set_last_context(&self, context: u32) {
        self.last_context.store(context, Ordering::Relaxed);
    }

    /// The thread is about to be sent a signal to take a sample of so many nanoseconds.
    pub fn set_wall_due(&self, nanos: u64) {
        self.wall_due.store(nanos, Ordering::Release);
    }

    /// What a sample was asked for, once.
    pub fn take_wall_due(&self) -> u64 {
        self.wall_due.swap(0, Ordering::Acquire)
    }

    /// The kernel's id of it.
    pub fn tid(&self) -> i32 {
        self.tid.load(Ordering::Relaxed)
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
    /// The thread as Java has it.
    pub thread: Option<Global<kind::Thread>>,
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
    /// Names of the threads that are watched; all if there are none.
    chosen: Vec<Vec<u8>>,
    /// References of threads that are not watched any more.
    let_go: Vec<Global<kind::Thread>>,
}

struct Watched {
    number: u32,
    java: bool,
    name: Vec<u8>,
    told: bool,
    clock: Option<Clock>,
    thread: Option<Global<kind::Thread>>,
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

    /// Watches only threads with names like these from now on; `*` stands for anything.
    pub fn choose(&self, patterns: Vec<Vec<u8>>) {
        lock(&self.state).chosen = patterns;
    }

    /// Id, number and the kernel's id of each Java thread, by id.
    pub fn java(&self) -> Vec<(u32, u32, i32)> {
        let state = lock(&self.state);
        let java = state.by_tid.iter().filter(|(_, watched)| watched.java);
        let id = |number| self.watch(number).map_or(0, Watch::id);
        let mut java: Vec<_> =
            java.map(|(&tid, watched)| (id(watched.number), watched.number, tid)).collect();
        java.sort_unstable();
        java
    }

    /// The thread with this id, as Java has it.
    pub fn thread<'e>(&self, env: &Env<'e>, tid: i32) -> Option<Thread<'e>> {
        let state = lock(&self.state);
        env.new_local(state.by_tid.get(&tid)?.thread.as_ref()?.get()).ok()
    }

    /// Gives references back to the VM.
    pub fn release(&self, env: &Env<'_>) {
        let let_go = std::mem::take(&mut lock(&self.state).let_go);
        for thread in let_go {
            env.delete_global(thread);
        }
    }

    /// Begins to watch a thread, or learns more about one.
    pub fn add(&self, arena: &ArenaWriter, found: Found<'_>) {
        let mut state = lock(&self.state);
        let state = &mut *state;
        if !state.chosen.is_empty() && !state.chosen.iter().any(|pattern| glob(pattern, found.name)) {
            state.let_go.extend(found.thread);
            return;
        }
        match state.by_tid.get(&found.tid) {
            None => {}
            // Seen in the list of all threads before the VM told of it, or another one that had the same id.
            Some(watched) if !watched.java && !found.env.is_null() => self.forget(arena, state, found.tid),
            Some(_) => {
                state.let_go.extend(found.thread);
                return;
            }
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
        watch.number.store(number, Ordering::Relaxed);
        watch.last_context.store(0, Ordering::Relaxed);
        watch.wall_due.store(0, Ordering::Relaxed);
        watch.tid.store(found.tid, Ordering::Release);
        let java = !found.env.is_null();
        let name = found.name.to_vec();
        let mut watched = Watched { number, java, name, told: false, clock: None, thread: found.thread };
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
        state.let_go.extend(watched.thread.take());
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
        let register = |fd: i32, ring: Option<&Ring>| {
            if let Some(watch) = self.watch(watched.number) {
                watch.kernel.set(ring);
            }
            let slot = usize::try_from(fd).ok().and_then(|fd| self.by_descriptor.get(fd));
            slot.map(|slot| slot.store(watched.number + 1, Ordering::Release)).is_some()
        };
        let Setting { source, period, signal } = setting;
        let started = Clock::start(source, tid, signal, watched.number, period, &register)
            // Out of descriptors, for one: a timer needs none.
            .or_else(|_| Clock::start(Source::Timer, tid, signal, watched.number, period, &|_, _| false));
        if !matches!(started, Ok(Clock::Perf(_, Some(_)))) {
            if source == Source::Perf {
                lost::count(arena, Cause::NoKernelFrames);
            }
            // What was registered is gone again, if anything was.
            if let Some(watch) = self.watch(watched.number) {
                watch.kernel.set(None);
            }
        }
        match started {
            Ok(clock) => watched.clock = Some(clock),
            Err(_) => lost::count(arena, Cause::Unwatched),
        }
    }

    fn silence(&self, watched: &mut Watched) {
        if let Some(Clock::Perf(event, _)) = &watched.clock {
            if let Some(watch) = self.watch(watched.number) {
                watch.kernel.set(None);
            }
            let fd = usize::try_from(std::os::fd::AsRawFd::as_raw_fd(event)).ok();
            if let Some(slot) = fd.and_then(|fd| self.by_descriptor.get(fd)) {
                slot.store(0, Ordering::Release);
            }
        }
        watched.clock = None;
    }
}

/// Whether a name is like a pattern, in which `*` stands for anything.
fn glob(pattern: &[u8], name: &[u8]) -> bool {
    let mut pieces = pattern.split(|&byte| byte == b'*');
    let Some(mut rest) = pieces.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut pieces: Vec<&[u8]> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
        let Some(at) = rest.windows(piece.len()).position(|found| found == piece) else { return false };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name) in
            [("main", "main"), ("*", ""), ("pool-*-thread-*", "pool-1-thread-22"), ("*x*", "axb")]
        {
            assert!(glob(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
        for (pattern, name) in [("main", "main2"), ("a*b", "a"), ("pool-*", "pol-1"), ("*ab", "aba")] {
            assert!(!glob(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
    }
}
