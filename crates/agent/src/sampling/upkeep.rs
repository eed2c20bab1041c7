//! Our own thread: what samples need and a signal handler may not do.

use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use quipu_jvm::Env;

use super::Engine;
use super::methods::Methods;
use super::threads::Found;
use crate::locks::lock;

/// How often it looks after things while something is on.
const EVERY: Duration = Duration::from_millis(100);
/// How often it looks for threads that are not Java's.
const THREADS_EVERY: Duration = Duration::from_millis(500);

/// What is kept between two rounds.
#[derive(Default)]
pub struct Upkeep {
    methods: Methods,
    looked_for_threads: Option<Instant>,
    running: bool,
}

impl Upkeep {
    /// One round, on any thread of the VM.
    pub fn run(&mut self, engine: &Engine, env: &mut Env<'_>) {
        self.make_room(engine);
        self.methods.tell_new(engine.arena, &engine.contexts, engine.jvmti, env);
        if engine.is_on() && self.looked_for_threads.is_none_or(|when| when.elapsed() >= THREADS_EVERY) {
            self.find_threads(engine);
        }
        engine.threads.upkeep(engine.arena, None);
    }

    /// Lays out memory ahead of the handlers.
    pub fn make_room(&mut self, engine: &Engine) {
        let mut chunks = Vec::new();
        // When the arena is full, handlers count what they lose.
        engine.contexts.upkeep(engine.arena, &mut chunks);
        self.methods.expect(engine.arena, &chunks);
        engine.arena.provide(&engine.samples, &mut Vec::new());
    }

    /// Watches the threads of the process that the VM does not tell of, and forgets those that are gone.
    pub fn find_threads(&mut self, engine: &Engine) {
        self.looked_for_threads = Some(Instant::now());
        let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return };
        let mut alive = Vec::new();
        for task in tasks.flatten() {
            let Some(tid) = task.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            alive.push(tid);
            if tid == engine.own_thread.load(Ordering::Relaxed) || engine.threads.knows(tid) {
                continue;
            }
            let name = std::fs::read(task.path().join("comm")).unwrap_or_default();
            let name = name.strip_suffix(b"\n").unwrap_or(&name);
            engine.threads.add(engine.arena, &Found { tid, env: std::ptr::null_mut(), name });
        }
        alive.sort_unstable();
        engine.threads.upkeep(engine.arena, Some(&|tid| alive.binary_search(&tid).is_ok()));
    }

    /// Starts our thread, once.
    pub fn start_thread(&mut self, engine: &'static Engine) {
        if self.running {
            return;
        }
        let started =
            std::thread::Builder::new().name("Quipu".to_owned()).stack_size(512 << 10).spawn(move || {
                crate::guard::guarded((), || body(engine));
            });
        self.running = started.is_ok();
    }
}

fn body(engine: &'static Engine) {
    block_signals();
    // SAFETY: a plain query.
    engine.own_thread.store(unsafe { libc::gettid() }, Ordering::Relaxed);
    let Ok(mut attached) = engine.vm.attach_current_thread(c"Quipu") else { return };
    loop {
        wait(engine);
        let _ = attached.with_env(|env| lock(&engine.upkeep).run(engine, env));
    }
}

/// Signals to the process are the program's; those that this thread's own instructions raise are the VM's.
fn block_signals() {
    // SAFETY: sets of signals are plain data; only this thread's mask changes.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP] {
            libc::sigdelset(&mut all, fault);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
    }
}

/// Waits for a handler that wants something; while nothing is on, for as long as it takes.
fn wait(engine: &Engine) {
    let mut polled = libc::pollfd { fd: engine.wake.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let timeout = if engine.is_on() { EVERY.as_millis() as i32 } else { -1 };
    let mut count = [0u8; 8];
    // SAFETY: one pollfd, and eight bytes from our own descriptor.
    unsafe {
        libc::poll(&mut polled, 1, timeout);
        libc::read(engine.wake.as_raw_fd(), count.as_mut_ptr().cast(), count.len());
    }
}
