//! Stacks of threads: a service of all kinds that charge something to the context in which a thread is. Those are the two
//! clocks, CPU time and elapsed time, [`events`] that the kernel counts, and kinds whose moments the VM tells of, through [`record`].
//!
//! Each thread has a [`clock`] of its CPU time that sends it a signal; the [`wall`] clock goes round all threads. The
//! [`handler`] walks the stack ([`walk`]), finds its place in the tree of [`contexts`] and appends a sample to the arena, all in
//! memory that was laid out before. What samples are of is declared ([`metrics`]), what they are about has a number
//! ([`details`]), and what took place when goes to the [`timeline`]. Everything that may take its time is done by [`upkeep`] on a
//! thread of ours: laying out more memory, looking up names of [`methods`], finding threads that are not Java's. No class is
//! changed, and when nothing is on, nothing runs.

mod areas;
mod asking;
pub mod busy;
pub mod chain;
mod clock;
#[cfg(debug_assertions)]
mod compared;
mod contexts;
mod counters;
mod declaring;
pub mod details;
mod events;
mod fault;
mod handler;
mod kernel;
pub mod labels;
pub mod lost;
mod memory;
mod methods;
pub mod metrics;
mod names;
mod probes;
mod published;
pub mod record;
pub mod survivors;
mod threads;
pub mod timeline;
mod unmounted;
mod upkeep;
mod virtual_threads;
mod vm_names;
mod vm_threads;
mod walk;
mod wall;
mod watch;

use std::collections::HashMap;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use quipu_arena::append::Appender;
use quipu_arena::layout::parts;
use quipu_arena::writer::ArenaWriter;
use quipu_jvm::hotspot::{Library, MethodNames, Structs};
use quipu_jvm::{Capabilities, Capability, Class, Env, Error, Jvm, Jvmti, Thread, sys};
use quipu_kinds::Kind;
use quipu_perf::Event;
use quipu_unwind::Memory;

use crate::calibration;
use crate::events::Listener;
use crate::locks::lock;
use crate::own_thread;
use crate::session::Session;
use clock::Source;
use contexts::Contexts;
use declaring::Declaring;
use events::Counted;
use handler::Signals;
use metrics::Declared;
use names::Names;
use threads::{Found, Setting, Threads};
use upkeep::Upkeep;
use vm_threads::VmThreads;
use walk::Walker;

/// Memory of the VM's that may be gone, safe to look at.
pub fn guarded_memory() -> Memory {
    static MEMORY: OnceLock<Memory> = OnceLock::new();
    *MEMORY.get_or_init(|| fault::install(&[]))
}

/// What is on, for those who switch.
#[derive(Default)]
struct State {
    wanted: Wanted,
    has_upkeep: bool,
}

/// What threads had allocated when somebody asked last; those that are gone stay in the sum.
#[derive(Default)]
struct Allocated {
    by_thread: HashMap<u32, u64>,
    total: u64,
}

impl State {
    fn start_upkeep(&mut self, engine: &'static Engine, env: &Env<'_>) -> Result<(), Error> {
        if !self.has_upkeep {
            own_thread::start(engine.jvmti, env, "Quipu", upkeep::body)?;
            self.has_upkeep = true;
        }
        Ok(())
    }
}

/// Everything that stacks need; made once, never dropped.
pub struct Engine {
    arena: &'static ArenaWriter,
    vm: Jvm,
    jvmti: Jvmti,
    walker: Walker,
    areas: areas::Areas,
    contexts: Contexts,
    declaring: Mutex<Declaring>,
    threads: Threads,
    vm_threads: VmThreads,
    signals: Signals,
    /// Nanoseconds of CPU time between samples; 0 while there are none.
    cpu_period: AtomicU64,
    wall: wall::Clock,
    /// The numbers of the two clocks' metrics.
    cpu_metric: AtomicU16,
    wall_metric: AtomicU16,
    /// The events that are counted, in the order of each thread's counters, and which those are.
    counted: [Counted; counters::MOST],
    events: Mutex<Vec<Event>>,
    contexts_by: chain::Chosen,
    probes: Mutex<probes::Switched>,
    /// Whether a kind records.
    recording: AtomicBool,
    /// Whether anything is on, or about to be.
    on: AtomicBool,
    wake: OwnedFd,
    upkeep: Mutex<Upkeep>,
    allocated: Mutex<Allocated>,
    state: Mutex<State>,
}

static ENGINE: OnceLock<Engine> = OnceLock::new();

/// Where samples go.
static SAMPLES: Appender = Appender::samples();

fn appender() -> &'static Appender {
    &SAMPLES
}

/// Where samples and events go: another profile makes room for its own.
pub fn appenders() -> [&'static Appender; 2] {
    timeline::begin();
    survivors::begin();
    details::begin();
    [&SAMPLES, &timeline::EVENTS]
}

/// What is sampled: samples a second, of CPU time and of elapsed time, and the kinds that record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// By the CPU time that threads use.
    pub cpu: Option<u32>,
    /// By the time that goes by.
    pub wall: Option<u32>,
    /// By what the kernel and the processor count.
    pub events: Vec<Event>,
    /// How contexts of those are found.
    pub contexts_by: chain::By,
    /// Kinds that record what the VM tells of.
    pub recorded: Vec<&'static str>,
    /// Names of the threads to sample, in which `*` stands for anything; all if there are none.
    pub threads: Vec<String>,
}

impl Wanted {
    /// Whether it is anything at all.
    pub fn any(&self) -> bool {
        self.cpu.is_some() || self.wall.is_some() || !self.events.is_empty() || !self.recorded.is_empty()
    }
}

/// Samples what is wanted from now on, and nothing else. When it is nothing, what was seen is all in the arena when this
/// returns.
pub fn set(session: &'static Session, env: &mut Env<'_>, wanted: &Wanted) -> Result<(), String> {
    let engine = match ENGINE.get() {
        Some(engine) => engine,
        None if !wanted.any() => return Ok(()),
        None => {
            let made = Engine::new(session, env)?;
            ENGINE.get_or_init(|| made)
        }
    };
    let mut state = lock(&engine.state);
    if state.wanted == *wanted {
        return Ok(());
    }
    // Before anything is changed: what cannot be counted is refused.
    let events = events::prepared(&wanted.events)?;
    if !wanted.any() || state.wanted.threads != wanted.threads {
        engine.end(env);
    }
    let text = |e: Error| e.to_string();
    if wanted.any() {
        state.start_upkeep(engine, env).map_err(text)?;
        if let Err(why) = engine.begin(env, wanted) {
            // What is half begun would be taken for begun the next time.
            engine.end(env);
            return Err(text(why));
        }
        session.note("sampling.walker", &engine.walker.name());
        if session.options().sites {
            session.note("sampling.sites", "told apart");
        }
        engine.recording.store(!wanted.recorded.is_empty(), Ordering::Release);
        if wanted.recorded.iter().any(|kind| !state.wanted.recorded.contains(kind)) {
            session.note("sampling.began", &monotonic().to_string());
            lock(&engine.upkeep).make_room(engine);
        }
        engine.set_cpu(session, wanted.cpu);
        engine.set_wall(session, env, wanted.wall).map_err(text)?;
        engine.set_events(session, &wanted.events, wanted.contexts_by, events)?;
        engine.find_published(session, env);
        engine.wake();
    }
    state.wanted = wanted.clone();
    Ok(())
}

/// Classes were instrumented, or are as they were: where a sample finds its context changes.
pub fn instrumented(session: &'static Session, env: &Env<'_>) {
    match ENGINE.get().filter(|_| published::is_wanted(session)) {
        Some(engine) => engine.find_published(session, env),
        None => published::end(),
    }
}

/// Has all that was seen so far written to the arena, names included.
pub fn flush(session: &'static Session) -> Result<(), String> {
    let Some(engine) = ENGINE.get() else { return Ok(()) };
    let text = |e: Error| e.to_string();
    let mut attached = session.vm.attach_current_thread(c"Quipu control").map_err(text)?;
    attached.with_env(|env| lock(&engine.upkeep).run(engine, env)).map_err(text)
}

/// Bytes that the threads which are watched have allocated in the heap, each since it began; `None` if none are.
pub fn allocated() -> Option<u64> {
    let engine = ENGINE.get().filter(|engine| engine.is_on())?;
    let mut seen = lock(&engine.allocated);
    Some(engine.add_allocated(&mut seen, engine.threads.java()))
}

/// Threads that are looked at while the program is stopped, which takes half a microsecond each.
const MOST_AT_PAUSE: usize = 512;

/// The same while the VM is stopped: `None` if a thread that was stopped has what is needed, or there are too many.
pub fn allocated_at_pause() -> Option<u64> {
    let engine = ENGINE.get().filter(|engine| engine.is_on())?;
    let mut seen = engine.allocated.try_lock().ok()?;
    let threads = engine.threads.try_java().filter(|threads| threads.len() <= MOST_AT_PAUSE)?;
    Some(engine.add_allocated(&mut seen, threads))
}

/// What is sampled now.
pub fn current() -> Wanted {
    ENGINE.get().map(|engine| lock(&engine.state).wanted.clone()).unwrap_or_default()
}

/// What the engine must be told while it is on.
const EVENTS: [sys::jvmtiEvent; 4] = [
    // HotSpot's walk refuses to work unless somebody listens to class loads.
    sys::JVMTI_EVENT_CLASS_LOAD,
    sys::JVMTI_EVENT_CLASS_PREPARE,
    sys::JVMTI_EVENT_THREAD_START,
    sys::JVMTI_EVENT_THREAD_END,
];

/// A class is ready: its methods must have ids before they are met on a stack, since a walk cannot make them.
pub fn class_prepared(env: &Env<'_>, class: Class<'_>) {
    if let Some(engine) = ENGINE.get().filter(|engine| engine.is_on()) {
        engine.make_ids(env, class);
    }
}

/// A thread begins; called on it.
pub fn thread_began(env: &Env<'_>, thread: Thread<'_>) {
    let Some(engine) = ENGINE.get().filter(|engine| engine.is_on()) else { return };
    // SAFETY: a plain query.
    let tid = unsafe { libc::gettid() };
    if !own_thread::is_own(tid) {
        engine.watch(env, thread, tid, env.raw());
    }
}

/// A thread ends; called on it.
pub fn thread_ended() {
    // SAFETY: a plain query.
    let tid = unsafe { libc::gettid() };
    labels::forget(tid);
    if let Some(engine) = ENGINE.get().filter(|engine| engine.is_on()) {
        let number = engine.threads.number(tid);
        let last = number.and_then(|number| engine.threads.watch(number)).and_then(|watch| watch.of(tid));
        engine.threads.remove(engine.arena, tid);
        // What it has allocated stays in the sum.
        if let Some(thread) = last.filter(|thread| !thread.env.is_null())
            && let Some(now) = engine.vm_threads.allocated(thread.env)
        {
            let mut seen = lock(&engine.allocated);
            let before = seen.by_thread.remove(&thread.id).unwrap_or(0);
            seen.total += now.saturating_sub(before);
        }
    }
}

impl Engine {
    /// Adds what threads have allocated since somebody asked last, and returns the sum.
    fn add_allocated(&self, seen: &mut Allocated, threads: Vec<(u32, u32, i32)>) -> u64 {
        for (id, number, _) in threads {
            let identity = self.threads.watch(number).and_then(|watch| watch.identity());
            let env =
                identity.filter(|thread| thread.id == id && !thread.env.is_null()).map(|thread| thread.env);
            let Some(now) = env.and_then(|env| self.vm_threads.allocated(env)) else { continue };
            let before = seen.by_thread.insert(id, now).unwrap_or(0);
            seen.total += now.saturating_sub(before);
        }
        seen.total
    }

    /// The engine, once there is one. For signal handlers.
    fn get() -> Option<&'static Engine> {
        ENGINE.get()
    }

    fn new(session: &'static Session, env: &mut Env<'_>) -> Result<Engine, String> {
        const NOT_HOTSPOT: &str = "this JVM does not tell how its stacks are walked: its libjvm.so does not export both \
            AsyncGetCallTrace and gHotSpotVMStructs, like one whose symbols were stripped; --exact and --bytecodes need \
            neither";
        let jvmti = session.jvmti;
        let library = Library::of(session.vm).ok_or("the JVM's library cannot be found")?;
        let walk = library.async_get_call_trace().ok_or(NOT_HOTSPOT)?;
        let structs = Structs::of(library).ok_or(NOT_HOTSPOT)?;
        let vm_threads = VmThreads::new(&structs, env, jvmti).map_err(|e| e.to_string())?;
        let vm_threads = vm_threads.ok_or(NOT_HOTSPOT)?;
        let needed = [Capability::CAN_GET_LINE_NUMBERS, Capability::CAN_GET_SOURCE_FILE_NAME];
        jvmti.add_available_capabilities(&Capabilities::of(&needed)).map_err(|e| e.to_string())?;
        // SAFETY: a new descriptor that is ours alone.
        let wake = unsafe {
            match libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) {
                fd if fd >= 0 => OwnedFd::from_raw_fd(fd),
                _ => return Err(std::io::Error::last_os_error().to_string()),
            }
        };
        let walker = Walker::new(&structs, env, walk, vm_threads.env()).ok_or("no memory")?;
        let names = Names::new(MethodNames::of(&structs, walker.memory())).ok_or("no memory")?;
        Ok(Engine {
            arena: &session.arena,
            vm: session.vm,
            jvmti,
            areas: areas::Areas::new(&structs, walker.memory(), vm_threads.env()),
            walker,
            contexts: Contexts::new(names),
            declaring: Mutex::default(),
            threads: Threads::new().ok_or("no memory")?,
            vm_threads,
            signals: Signals::take().ok_or("SIGPROF and SIGVTALRM are both in use")?,
            cpu_period: AtomicU64::new(0),
            wall: wall::Clock::default(),
            cpu_metric: AtomicU16::new(0),
            wall_metric: AtomicU16::new(0),
            counted: Default::default(),
            events: Mutex::default(),
            contexts_by: chain::Chosen::default(),
            probes: Mutex::default(),
            recording: AtomicBool::new(false),
            on: AtomicBool::new(false),
            wake,
            upkeep: Mutex::default(),
            allocated: Mutex::default(),
            state: Mutex::default(),
        })
    }

    /// Has the VM give ids to the methods of a class. Where it must be asked for their names, it is remembered whose they are.
    fn make_ids(&self, env: &Env<'_>, class: Class<'_>) {
        match self.contexts.names().reader() {
            Some(_) => drop(self.jvmti.class_methods(class)),
            None => lock(&self.declaring).note(env, self.jvmti, class),
        }
    }

    /// Gets everything ready that a sample needs; nothing if it is on already.
    fn begin(&self, env: &mut Env<'_>, wanted: &Wanted) -> Result<(), Error> {
        // Before anything else, so that no event is missed: this is what lets them through.
        if self.on.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let mut upkeep = lock(&self.upkeep);
        upkeep.make_room(self);
        upkeep.find_modules(self);
        drop(upkeep);
        self.threads.choose(wanted.threads.iter().map(|name| name.clone().into_bytes()).collect());
        self.listen(true)?;
        env.with_frame(64, |env| {
            for class in self.jvmti.loaded_classes(env)? {
                // Those that are not linked yet have no methods to speak of; they come with an event.
                self.make_ids(env, class);
            }
            let threads = self.jvmti.all_threads(env)?;
            let asked = match self.vm_threads.has_ids() {
                true => HashMap::new(),
                false => asking::all(self.signals.wall),
            };
            for thread in threads {
                if let Some(native) = self.vm_threads.native(env, thread, |env| asked.get(&env).copied()) {
                    self.watch(env, thread, native.tid, native.env);
                    // One of ours that has begun meanwhile has been forgotten already, for the last time.
                    if own_thread::is_own(native.tid) {
                        self.threads.remove(self.arena, native.tid);
                    }
                }
            }
            Ok::<(), Error>(())
        })??;
        lock(&self.upkeep).find_threads(self);
        Ok(())
    }

    /// If methods publish where they are, samples look there.
    fn find_published(&self, session: &'static Session, env: &Env<'_>) {
        if let Some(structs) = Library::of(session.vm).and_then(Structs::of) {
            published::begin(session, env, &structs, self.walker.memory(), self.vm_threads.env());
            #[cfg(debug_assertions)]
            compared::begin(self.arena);
        }
        if self.cpu_period() > 0 {
            calibration::begin(session, env);
        }
    }

    /// Switches everything off.
    fn end(&self, env: &mut Env<'_>) {
        if !self.is_on() {
            return;
        }
        self.cpu_period.store(0, Ordering::Release);
        self.wall.stop();
        self.threads.set_clocks(self.arena, None);
        self.end_events();
        self.on.store(false, Ordering::Release);
        // The VM knows the events: they were switched on.
        let _ = self.listen(false);
        self.threads.clear(self.arena);
        lock(&self.upkeep).run(self, env);
        lock(&self.declaring).clear(env);
    }

    fn listen(&self, on: bool) -> Result<(), Error> {
        let Some(session) = Session::get() else { return Ok(()) };
        // Labels are forgotten with their threads, sampled or not: this one is left on.
        let events = EVENTS.iter().filter(|&&event| on || event != sys::JVMTI_EVENT_THREAD_END);
        events.copied().try_for_each(|event| session.listen(Listener::Stacks, event, on))
    }

    fn set_cpu(&self, session: &Session, rate: Option<u32>) {
        let period = rate.map_or(0, period_of);
        if self.cpu_period.swap(period, Ordering::AcqRel) == period {
            return;
        }
        if period == 0 {
            return self.threads.set_clocks(self.arena, None);
        }
        let (source, why) = Source::choose();
        session.note("sampling.cpu.clock", source.name());
        if let Some(why) = why {
            session.note("sampling.cpu.clock.why", &format!("perf_event_open: {why}"));
        }
        session.note("kind", "cpu");
        self.declare(&self.cpu_metric, &quipu_kinds::CPU, period, parts::TIERS);
        session.note("sampling.began", &monotonic().to_string());
        self.threads.set_clocks(self.arena, Some(Setting { source, period, signal: self.signals.cpu }));
    }

    fn set_wall(&self, session: &Session, env: &Env<'_>, rate: Option<u32>) -> Result<(), Error> {
        let period = rate.map_or(0, period_of);
        if period == self.wall.period() {
            return Ok(());
        }
        if period == 0 {
            self.wall.stop();
            return Ok(());
        }
        session.note("kind", "wall");
        self.declare(&self.wall_metric, &quipu_kinds::WALL, period, parts::STATES);
        session.note("sampling.began", &monotonic().to_string());
        self.wall.start(self.jvmti, env, period)
    }

    /// Tells the arena of the metric of a clock, the first that its kind has.
    fn declare(&self, number: &AtomicU16, kind: &Kind, period: u64, parts: u32) {
        if let Some(metric) = kind.metrics.first() {
            let declared = Declared { parts, ..Declared::of(metric, period) };
            number.store(metrics::declare(self.arena, &declared), Ordering::Release);
        }
    }

    fn watch(&self, env: &Env<'_>, thread: Thread<'_>, tid: i32, raw: *mut sys::JNIEnv) {
        let info = self.jvmti.thread_info(env, Some(thread));
        let name = info.as_ref().map_or(&b"?"[..], |info| info.name.as_bytes());
        let thread = env.new_global(thread).ok();
        self.threads.add(self.arena, Found { tid, env: raw, name, thread });
    }

    /// A thread of ours has begun, and the VM has told of it like of any other.
    fn forget_own_thread(&self) {
        // SAFETY: a plain query.
        self.threads.remove(self.arena, unsafe { libc::gettid() });
    }

    fn is_on(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }

    fn is_recording(&self) -> bool {
        self.recording.load(Ordering::Acquire)
    }

    fn cpu_metric(&self) -> u16 {
        self.cpu_metric.load(Ordering::Acquire)
    }

    fn wall_metric(&self) -> u16 {
        self.wall_metric.load(Ordering::Acquire)
    }

    fn cpu_period(&self) -> u64 {
        self.cpu_period.load(Ordering::Acquire)
    }

    /// Whether a handler should have somebody lay out more memory.
    fn wants_upkeep(&self) -> bool {
        SAMPLES.wants()
            || self.contexts.wants()
            || self.walker.wants_modules()
            || (self.is_recording() && timeline::wants())
    }

    /// Has our thread look after things. For signal handlers, too.
    fn wake(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: eight bytes, to our own descriptor; when its counter is full the thread is awake already.
        unsafe { libc::write(self.wake.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }
}

fn period_of(rate: u32) -> u64 {
    1_000_000_000 / u64::from(rate.max(1))
}

/// Nanoseconds of the machine's monotonic clock. For signal handlers, too.
pub fn monotonic() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel, or its page of ours, writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
