//! The threads that are watched: who they are, and the clock of each.
//!
//! A signal handler sees a thread as a [`Watch`], found by the number its signal carries, or by the descriptor of the event
//! that sent it; everything else is behind a lock that handlers never take. A signal may be on its way while its clock is
//! stopped and number or descriptor go to another thread: a handler believes only what is said of its own thread.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use quipu_arena::record::{NO_GROUP, Record};
use quipu_arena::writer::ArenaWriter;
use quipu_jvm::jni::kind;
use quipu_jvm::sys::JNIEnv;
use quipu_jvm::{Env, Global, Thread};
use quipu_perf::Attributes;
use quipu_text::glob;

use super::clock::{Clock, Source};
use super::kernel::Ring;
use super::lost::{self, Cause};
use super::memory::{Zeroed, reserve};
use super::watch::{Identity, Watch};
use crate::locks::lock;
use crate::session::Session;

/// Threads that can be watched at the same time, and the largest descriptor of a perf event.
const MOST: usize = 1 << 16;

// SAFETY: an atomic.
unsafe impl Zeroed for AtomicU32 {}

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

/// What is to be counted of each thread.
#[derive(Debug, Clone)]
pub struct Counted {
    /// The events.
    pub events: Vec<Attributes>,
    /// The signal that their counters send.
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
    counted: Option<Arc<Counted>>,
    /// Names of the threads that are watched; all if there are none.
    chosen: Vec<Vec<u8>>,
    /// References of threads that are not watched any more.
    let_go: Vec<Global<kind::Thread>>,
}

impl State {
    fn is_chosen(&self, name: &[u8]) -> bool {
        self.chosen.is_empty() || self.chosen.iter().any(|pattern| glob(pattern, name))
    }
}

struct Watched {
    number: u32,
    id: u32,
    java: bool,
    name: Vec<u8>,
    told: bool,
    clock: Option<Clock>,
    counters: Vec<(OwnedFd, Option<Ring>)>,
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
        let number = self.by_descriptor.get(usize::try_from(fd).ok()?)?.load(Ordering::SeqCst);
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

    /// Counts these events of all threads, and of those to come; `None` counts nothing.
    pub fn set_counted(&self, arena: &ArenaWriter, counted: Option<Counted>) {
        let mut state = lock(&self.state);
        let state = &mut *state;
        state.counted = counted.map(Arc::new);
        for (&tid, watched) in &mut state.by_tid {
            self.end_counters(watched);
            if let Some(counted) = &state.counted {
                self.start_counters(arena, tid, watched, counted);
            }
        }
    }

    /// Watches only threads with names like these from now on; `*` stands for anything.
    pub fn choose(&self, patterns: Vec<Vec<u8>>) {
        lock(&self.state).chosen = patterns;
    }

    /// Whether threads with this name are watched.
    pub fn is_chosen(&self, name: &[u8]) -> bool {
        lock(&self.state).is_chosen(name)
    }

    /// Id, number and the kernel's id of each Java thread, by id.
    pub fn java(&self) -> Vec<(u32, u32, i32)> {
        Threads::java_in(&lock(&self.state))
    }

    /// The same, unless somebody else is at it, who may be stopped.
    pub fn try_java(&self) -> Option<Vec<(u32, u32, i32)>> {
        self.state.try_lock().ok().map(|state| Threads::java_in(&state))
    }

    fn java_in(state: &State) -> Vec<(u32, u32, i32)> {
        let java = state.by_tid.iter().filter(|(_, watched)| watched.java);
        let mut java: Vec<_> = java.map(|(&tid, watched)| (watched.id, watched.number, tid)).collect();
        java.sort_unstable();
        java
    }

    /// The kernel's id of the thread that has this environment.
    pub fn with_env(&self, env: *mut JNIEnv) -> Option<i32> {
        let state = lock(&self.state);
        let mut all = state.by_tid.values().filter_map(|watched| self.watch(watched.number)?.identity());
        all.find(|identity| identity.env == env).map(|identity| identity.tid)
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
        if !state.is_chosen(found.name) {
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
            state.let_go.extend(found.thread);
            return;
        };
        state.met += 1;
        let id = state.met;
        watch.set(Some(Identity { tid: found.tid, env: found.env, id }));
        let java = !found.env.is_null();
        let name = found.name.to_vec();
        let mut watched = Watched {
            number,
            id,
            java,
            name,
            told: false,
            clock: None,
            counters: Vec::new(),
            thread: found.thread,
        };
        if let Some(setting) = state.setting {
            self.start_clock(arena, found.tid, &mut watched, setting);
        }
        if let Some(counted) = &state.counted {
            self.start_counters(arena, found.tid, &mut watched, counted);
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
        self.end_counters(&mut watched);
        self.tell(arena, tid, &mut watched);
        state.let_go.extend(watched.thread.take());
        if let Some(watch) = self.watch(watched.number) {
            watch.set(None);
        }
        state.free.push(watched.number);
    }

    /// The number of the thread with this id, if it is watched.
    pub fn number(&self, tid: i32) -> Option<u32> {
        lock(&self.state).by_tid.get(&tid).map(|watched| watched.number)
    }

    /// Whether the thread with this id is watched.
    pub fn knows(&self, tid: i32) -> bool {
        lock(&self.state).by_tid.contains_key(&tid)
    }

    /// How many threads were met so far.
    pub fn met(&self) -> u32 {
        lock(&self.state).met
    }

    /// Tells names of threads that were sampled. Of so many that were met first, removes those that `alive` does not hold of.
    pub fn upkeep(&self, arena: &ArenaWriter, alive: Option<(u32, &dyn Fn(i32) -> bool)>) {
        let mut state = lock(&self.state);
        for (&tid, watched) in &mut state.by_tid {
            self.tell(arena, tid, watched);
        }
        let gone = |(tid, watched): &(&i32, &Watched)| {
            alive.is_some_and(|(met, alive)| watched.id <= met && !alive(**tid))
        };
        for tid in state.by_tid.iter().filter(gone).map(|(&tid, _)| tid).collect::<Vec<i32>>() {
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

    fn tell(&self, arena: &ArenaWriter, tid: i32, watched: &mut Watched) {
        let Some(watch) = self.watch(watched.number) else { return };
        if watched.told || !watch.is_sampled(watched.id) {
            return;
        }
        let told = arena.log(&Record::SampledThread {
            id: watched.id,
            java: watched.java.into(),
            tid: tid.unsigned_abs(),
            group: group_of(arena, &watched.name, false),
            name: &watched.name,
        });
        watched.told = told.is_some();
    }

    fn start_clock(&self, arena: &ArenaWriter, tid: i32, watched: &mut Watched, setting: Setting) {
        let Setting { source, period, signal } = setting;
        let register = |fd: i32, ring: Option<&Ring>| {
            if let Some(watch) = self.watch(watched.number) {
                watch.kernel().set(ring);
                watch.set_period(watched.id, period);
            }
            let slot = usize::try_from(fd).ok().and_then(|fd| self.by_descriptor.get(fd));
            slot.map(|slot| slot.store(watched.number + 1, Ordering::Release)).is_some()
        };
        let started = Clock::start(source, tid, signal, watched.number, period, &register)
            // Out of descriptors, for one: a timer needs none.
            .or_else(|_| Clock::start(Source::Timer, tid, signal, watched.number, period, &|_, _| false));
        if !matches!(started, Ok(Clock::Perf(_, Some(_)))) {
            if source == Source::Perf {
                lost::count(arena, Cause::NoKernelFrames);
            }
            // What was registered is gone again, if anything was.
            if let Some(watch) = self.watch(watched.number) {
                watch.kernel().set(None);
            }
        }
        match started {
            Ok(clock) => watched.clock = Some(clock),
            Err(_) => lost::count(arena, Cause::Unwatched),
        }
    }

    fn start_counters(&self, arena: &ArenaWriter, tid: i32, watched: &mut Watched, counted: &Counted) {
        let Some(watch) = self.watch(watched.number) else { return };
        let most = most_descriptors();
        for (at, attributes) in counted.events.iter().enumerate() {
            let opened = quipu_perf::open(attributes, tid).and_then(|counter| {
                let slot = usize::try_from(counter.as_raw_fd()).ok().filter(|&fd| fd < most);
                let Some(slot) = slot.and_then(|fd| self.by_descriptor.get(fd)) else {
                    return Err(io::ErrorKind::QuotaExceeded.into());
                };
                quipu_perf::arm(&counter, tid, counted.signal)?;
                slot.store(watched.number + 1, Ordering::Release);
                let addresses = attributes.has_address().then(|| Ring::of(&counter).ok()).flatten();
                watch.counters().add(at, counter.as_raw_fd(), addresses.as_ref());
                // Should that fail, it counts nothing.
                quipu_perf::enable(&counter)?;
                Ok((counter, addresses))
            });
            match opened {
                Ok(counter) => watched.counters.push(counter),
                // It has ended already.
                Err(why) if why.raw_os_error() == Some(libc::ESRCH) => {}
                Err(_) => lost::count(arena, Cause::WithoutEvents),
            }
        }
    }

    fn end_counters(&self, watched: &mut Watched) {
        let counters = std::mem::take(&mut watched.counters);
        if counters.is_empty() {
            return;
        }
        for (counter, _) in &counters {
            let fd = usize::try_from(counter.as_raw_fd()).ok();
            if let Some(slot) = fd.and_then(|fd| self.by_descriptor.get(fd)) {
                slot.store(0, Ordering::Release);
            }
        }
        let idle = self.watch(watched.number).is_none_or(|watch| watch.counters().clear());
        if !idle {
            // Rather lost than the program's while somebody reads from it.
            std::mem::forget(counters);
        }
    }

    fn silence(&self, watched: &mut Watched) {
        if let Some(Clock::Perf(event, _)) = &watched.clock {
            if let Some(watch) = self.watch(watched.number) {
                watch.kernel().set(None);
            }
            let fd = usize::try_from(std::os::fd::AsRawFd::as_raw_fd(event)).ok();
            if let Some(slot) = fd.and_then(|fd| self.by_descriptor.get(fd)) {
                slot.store(0, Ordering::SeqCst);
            }
            if self.watch(watched.number).is_some_and(|watch| !watch.counters().wait_until_idle()) {
                // As with counters.
                std::mem::forget(watched.clock.take());
            }
        }
        watched.clock = None;
    }
}

/// Descriptors below this one may be ours: the rest of those that the process may have are for the program.
fn most_descriptors() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one rlimit.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    usize::try_from(limit.rlim_cur / 4 * 3).unwrap_or(MOST)
}

/// The group of a thread with this name.
pub fn group_of(arena: &ArenaWriter, name: &[u8], is_virtual: bool) -> u32 {
    Session::get().and_then(|session| session.groups.meet(arena, name, is_virtual)).unwrap_or(NO_GROUP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arena(name: &str) -> ArenaWriter {
        let path = std::env::temp_dir().join(format!("quipu-test-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let arena = ArenaWriter::create(&path, 1 << 20).unwrap();
        std::fs::remove_file(path).unwrap();
        arena
    }

    fn found(tid: i32) -> Found<'static> {
        let reference = std::ptr::without_provenance_mut(tid as usize * 8);
        // SAFETY: nobody uses it: there is no VM here.
        let thread = unsafe { Global::from_raw(reference) };
        Found { tid, env: std::ptr::without_provenance_mut(tid as usize * 16), name: b"some thread", thread }
    }

    #[test]
    fn references_of_threads_that_are_not_watched_are_given_back() {
        let (arena, threads) = (arena("references"), Threads::new().unwrap());
        let most = MOST as i32;
        (1..=most).for_each(|tid| threads.add(&arena, found(tid)));
        assert_eq!(lock(&threads.state).let_go.len(), 0);
        // Watched already; too many; not chosen.
        threads.add(&arena, found(7));
        threads.add(&arena, found(most + 1));
        threads.choose(vec![b"another thread".to_vec()]);
        threads.add(&arena, found(most + 2));
        assert_eq!(lock(&threads.state).let_go.len(), 3);
        threads.clear(&arena);
        assert_eq!(lock(&threads.state).let_go.len(), MOST + 3);
    }

    #[test]
    fn a_thread_that_began_while_the_living_were_listed_is_not_gone() {
        let (arena, threads) = (arena("living"), Threads::new().unwrap());
        threads.add(&arena, found(1));
        threads.add(&arena, found(2));
        let met = threads.met();
        threads.add(&arena, found(3));
        threads.upkeep(&arena, Some((met, &|tid| tid == 1)));
        assert_eq!([1, 2, 3].map(|tid| threads.knows(tid)), [true, false, true]);
    }

    /// It would go on with a clock that another thread of the program has opened a file in place of.
    #[test]
    fn a_clock_is_not_closed_while_a_handler_is_at_it() {
        let (arena, threads) = (arena("clocks"), Threads::new().unwrap());
        let period = 1_000_000_000;
        threads.set_clocks(&arena, Some(Setting { source: Source::Perf, period, signal: libc::SIGPROF }));
        // SAFETY: a plain query.
        let tid = unsafe { libc::gettid() };
        let descriptor = || {
            let state = lock(&threads.state);
            match state.by_tid.get(&tid).map(|watched| (&watched.clock, watched.number)) {
                Some((Some(Clock::Perf(event, _)), number)) => Some((event.as_raw_fd(), number)),
                _ => None,
            }
        };
        for at_it in [true, false] {
            threads.add(&arena, found(tid));
            // Where there are only timers, there is nothing to close.
            let Some((fd, number)) = descriptor() else { return };
            // SAFETY: a plain query.
            let is_open = || unsafe { libc::fcntl(fd, libc::F_GETFD) } >= 0;
            assert!(is_open());
            let look = at_it.then(|| threads.watch(number).unwrap().counters().look());
            threads.remove(&arena, tid);
            assert!(threads.watch_of_descriptor(fd).is_none());
            drop(look);
            assert_eq!(is_open(), at_it);
        }
    }

    #[test]
    fn a_descriptor_that_went_to_another_thread_is_not_the_first_ones() {
        let (arena, threads) = (arena("descriptors"), Threads::new().unwrap());
        let number = |tid: i32| lock(&threads.state).by_tid.get(&tid).map(|watched| watched.number).unwrap();
        threads.add(&arena, found(1));
        threads.by_descriptor[5].store(number(1) + 1, Ordering::Release);
        assert!(threads.watch_of_descriptor(5).unwrap().of(1).is_some());
        // It ends, and number and descriptor become another's while its last signal is on its way.
        threads.remove(&arena, 1);
        assert!(threads.watch_of_descriptor(5).unwrap().of(1).is_none());
        threads.add(&arena, found(2));
        let watch = threads.watch_of_descriptor(5).unwrap();
        assert!(watch.of(1).is_none());
        let second = watch.of(2).unwrap();
        assert_eq!((second.env, second.id), (found(2).env, 2));
    }
}
