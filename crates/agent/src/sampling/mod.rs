//! Sampling: stacks of threads by the CPU time they use.
//!
//! Each thread has a [`clock`] that sends it a signal. The [`handler`] walks the stack ([`walk`]), finds its place in the
//! tree of [`contexts`] and appends a sample to the arena, all in memory that was laid out before. Everything that may
//! take its time is done by [`upkeep`] on a thread of ours: laying out more memory, looking up names of [`methods`],
//! finding threads that are not Java's. No class is changed, and when nothing is on, nothing runs.

mod clock;
mod contexts;
mod fault;
mod handler;
mod lost;
mod memory;
mod methods;
mod threads;
mod upkeep;
mod vm_threads;
mod walk;

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use quipu_arena::append::Appender;
use quipu_arena::writer::ArenaWriter;
use quipu_jvm::hotspot::{Library, Structs};
use quipu_jvm::{Capabilities, Capability, Class, Env, Error, Jvm, Jvmti, Thread, sys};

use crate::locks::lock;
use crate::session::Session;
use clock::Source;
use contexts::Contexts;
use threads::{Found, Setting, Threads};
use upkeep::Upkeep;
use vm_threads::VmThreads;
use walk::Walker;

/// Everything that sampling needs; made once, never dropped.
pub struct Engine {
    arena: &'static ArenaWriter,
    jvmti: Jvmti,
    vm: Jvm,
    walker: Walker,
    contexts: Contexts,
    samples: Appender,
    threads: Threads,
    vm_threads: VmThreads,
    signal: i32,
    /// Nanoseconds of CPU time between samples; 0 while there are none.
    cpu_period: AtomicU64,
    wake: OwnedFd,
    upkeep: Mutex<Upkeep>,
    /// The kernel's id of our own thread, which is not sampled.
    own_thread: AtomicI32,
}

static ENGINE: OnceLock<Engine> = OnceLock::new();

/// Begins to sample CPU time, so many times for each second of it.
pub fn start_cpu(session: &'static Session, vm: Jvm, env: &mut Env<'_>, rate: u32) -> Result<(), String> {
    let engine = match ENGINE.get() {
        Some(engine) => engine,
        None => {
            let made = Engine::new(session, vm, env)?;
            ENGINE.get_or_init(|| made)
        }
    };
    let period = 1_000_000_000 / u64::from(rate.max(1));
    engine.begin(env).map_err(|e| e.to_string())?;
    let (source, why) = Source::choose();
    session.note("sampling.cpu.clock", source.name());
    if let Some(why) = why {
        session.note("sampling.cpu.clock.why", &format!("perf_event_open: {why}"));
    }
    session.note("sampling.cpu.period", &period.to_string());
    session.note("sampling.began", &monotonic().to_string());
    engine.cpu_period.store(period, Ordering::Release);
    engine.threads.set_clocks(engine.arena, Some(Setting { source, period, signal: engine.signal }));
    engine.wake();
    Ok(())
}

/// Stops sampling; what was seen is all in the arena when this returns. Nothing if it was not on.
pub fn stop(env: &mut Env<'_>) {
    let Some(engine) = ENGINE.get().filter(|engine| engine.is_on()) else { return };
    engine.cpu_period.store(0, Ordering::Release);
    // Ends of threads are left on: they cost nothing, and exact profiles listen to them, too.
    for event in EVENTS.into_iter().filter(|&event| event != sys::JVMTI_EVENT_THREAD_END) {
        // The VM knows them: they were switched on.
        let _ = engine.jvmti.set_event_mode(event, false, None);
    }
    engine.threads.clear(engine.arena);
    lock(&engine.upkeep).run(engine, env);
}

/// Whether anything is sampled.
pub fn is_on() -> bool {
    ENGINE.get().is_some_and(Engine::is_on)
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
pub fn class_prepared(class: Class<'_>) {
    if let Some(engine) = ENGINE.get().filter(|engine| engine.is_on()) {
        let _ = engine.jvmti.class_methods(class);
    }
}

/// A thread begins; called on it.
pub fn thread_began(env: &Env<'_>, thread: Thread<'_>) {
    let Some(engine) = ENGINE.get().filter(|engine| engine.is_on()) else { return };
    let info = engine.jvmti.thread_info(env, Some(thread));
    let name = info.as_ref().map_or(&b"?"[..], |info| info.name.as_bytes());
    // SAFETY: a plain query.
    let tid = unsafe { libc::gettid() };
    if tid != engine.own_thread.load(Ordering::Relaxed) {
        engine.threads.add(engine.arena, &Found { tid, env: env.raw(), name });
    }
}

/// A thread ends; called on it.
pub fn thread_ended() {
    if let Some(engine) = ENGINE.get().filter(|engine| engine.is_on()) {
        // SAFETY: a plain query.
        let tid = unsafe { libc::gettid() };
        engine.threads.remove(engine.arena, tid);
    }
}

impl Engine {
    /// The engine, once there is one. For signal handlers.
    fn get() -> Option<&'static Engine> {
        ENGINE.get()
    }

    fn new(session: &'static Session, vm: Jvm, env: &mut Env<'_>) -> Result<Engine, String> {
        const NOT_HOTSPOT: &str = "this JVM lets nobody walk stacks from outside: it is not HotSpot";
        let jvmti = session.jvmti;
        let library = Library::of(vm).ok_or("the JVM's library cannot be found")?;
        let walk = library.async_get_call_trace().ok_or(NOT_HOTSPOT)?;
        let structs = Structs::of(library).ok_or(NOT_HOTSPOT)?;
        let vm_threads = VmThreads::new(&structs, env, jvmti).map_err(|e| e.to_string())?;
        let needed = [Capability::CAN_GET_LINE_NUMBERS, Capability::CAN_GET_SOURCE_FILE_NAME];
        jvmti.add_available_capabilities(&Capabilities::of(&needed)).map_err(|e| e.to_string())?;
        // SAFETY: a new descriptor that is ours alone.
        let wake = unsafe {
            match libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) {
                fd if fd >= 0 => OwnedFd::from_raw_fd(fd),
                _ => return Err(std::io::Error::last_os_error().to_string()),
            }
        };
        Ok(Engine {
            arena: &session.arena,
            jvmti,
            vm,
            walker: Walker::new(walk).ok_or("no memory")?,
            contexts: Contexts::new(),
            samples: Appender::samples(),
            threads: Threads::new().ok_or("no memory")?,
            vm_threads: vm_threads.ok_or(NOT_HOTSPOT)?,
            signal: handler::install().ok_or("all signals are in use")?,
            cpu_period: AtomicU64::new(0),
            wake,
            upkeep: Mutex::default(),
            own_thread: AtomicI32::new(0),
        })
    }

    /// Gets everything ready that a sample needs.
    fn begin(&'static self, env: &mut Env<'_>) -> Result<(), Error> {
        {
            let mut upkeep = lock(&self.upkeep);
            upkeep.make_room(self);
            upkeep.start_thread(self);
        }
        // Before the clocks are set, so that none of these is missed; `is_on` is what lets them through.
        self.cpu_period.store(u64::MAX, Ordering::Release);
        for event in EVENTS {
            self.jvmti.set_event_mode(event, true, None)?;
        }
        env.with_frame(64, |env| {
            for class in self.jvmti.loaded_classes(env)? {
                // Those that are not linked yet have no methods to speak of; they come with an event.
                let _ = self.jvmti.class_methods(class);
            }
            for thread in self.jvmti.all_threads(env)? {
                let Some(native) = self.vm_threads.native(env, thread) else { continue };
                let info = self.jvmti.thread_info(env, Some(thread));
                let name = info.as_ref().map_or(&b"?"[..], |info| info.name.as_bytes());
                self.threads.add(self.arena, &Found { tid: native.tid, env: native.env, name });
            }
            Ok::<(), Error>(())
        })??;
        lock(&self.upkeep).find_threads(self);
        Ok(())
    }

    fn is_on(&self) -> bool {
        self.cpu_period() != 0
    }

    fn cpu_period(&self) -> u64 {
        self.cpu_period.load(Ordering::Acquire)
    }

    /// Whether a handler should have somebody lay out more memory.
    fn wants_upkeep(&self) -> bool {
        self.samples.wants() || self.contexts.wants()
    }

    /// Has our thread look after things. For signal handlers, too.
    fn wake(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: eight bytes, to our own descriptor; when its counter is full the thread is awake already.
        unsafe { libc::write(self.wake.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }
}

/// Nanoseconds of the machine's monotonic clock. For signal handlers, too.
fn monotonic() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel, or its page of ours, writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
