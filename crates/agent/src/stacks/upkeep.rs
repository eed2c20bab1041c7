//! Our own thread: what samples need and a signal handler may not do.

use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use quipu_arena::record::Record;
use quipu_jvm::Env;
use quipu_unwind::{Module, Modules, linker_changes};

use super::methods::Methods;
use super::threads::Found;
use super::vm_names::full_name;
use super::{Engine, SAMPLES, timeline};
use crate::engine::ENGINES;
use crate::locks::lock;
use crate::own_thread;
use crate::session::Session;

/// How often it looks after things while something is on.
const EVERY: Duration = Duration::from_millis(100);
/// How often it looks for threads that are not Java's.
const THREADS_EVERY: Duration = Duration::from_millis(500);

/// What is kept between two rounds.
#[derive(Default)]
pub struct Upkeep {
    methods: Methods,
    looked_for_threads: Option<Instant>,
    /// What the linker had done when libraries were looked for, and those that were told.
    linker: u64,
    modules: Vec<Module>,
}

impl Upkeep {
    /// One round, on any thread of the VM.
    pub fn run(&mut self, engine: &Engine, env: &mut Env<'_>) {
        self.make_room(engine);
        self.methods.tell_new(engine.arena, &engine.contexts, engine.jvmti, &engine.declaring, env);
        if engine.is_on() && self.looked_for_threads.is_none_or(|when| when.elapsed() >= THREADS_EVERY) {
            self.find_threads(engine);
        }
        if engine.is_on() {
            self.find_modules(engine);
        }
        engine.threads.upkeep(engine.arena, None);
        engine.walker.tell_virtual_threads(engine.arena);
        if let (true, Some(session)) = (engine.walker.has_changed(), Session::get()) {
            session.note("sampling.walker", &engine.walker.name());
        }
        engine.threads.release(env);
    }

    /// Tells which libraries there are, if they have changed.
    pub fn find_modules(&mut self, engine: &Engine) {
        engine.walker.modules_are_looked_for();
        let linker = linker_changes();
        if std::mem::replace(&mut self.linker, linker) == linker {
            return;
        }
        let modules = Modules::now();
        let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
        for module in modules.iter() {
            if self.modules.contains(module) {
                continue;
            }
            let path = match module.path.as_slice() {
                [] => program.as_os_str().as_bytes(),
                path => path,
            };
            let told = engine.arena.log(&Record::SampledModule {
                start: module.start as u64,
                end: module.end as u64,
                bias: module.bias as u64,
                path,
            });
            if told.is_some() {
                self.modules.push(module.clone());
            }
        }
        engine.walker.set_modules(modules);
    }

    /// Lays out memory ahead of the handlers.
    pub fn make_room(&mut self, engine: &Engine) {
        let mut chunks = Vec::new();
        // When the arena is full, handlers count what they lose.
        engine.contexts.upkeep(engine.arena, &mut chunks);
        self.methods.expect(engine.arena, &chunks);
        engine.arena.provide(&SAMPLES, &mut Vec::new());
        if engine.is_recording() {
            timeline::make_room(engine.arena);
        }
    }

    /// Watches the threads of the process that the VM does not tell of, and forgets those that are gone.
    pub fn find_threads(&mut self, engine: &Engine) {
        self.looked_for_threads = Some(Instant::now());
        // One that begins meanwhile is not in the list, and is not gone.
        let met = engine.threads.met();
        let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return };
        let ids = tasks.flatten().filter_map(|task| task.file_name().to_str()?.parse::<i32>().ok());
        let mut alive: Vec<i32> = ids.collect();
        alive.sort_unstable();
        for &tid in &alive {
            if own_thread::is_own(tid) || engine.threads.knows(tid) {
                continue;
            }
            let kept = kernel_name(tid);
            let name = full_name(&kept, || {
                let before = alive.iter().filter(|&&other| other < tid);
                before.filter(|&&other| kernel_name(other) == kept).count()
            });
            let found = Found { tid, env: std::ptr::null_mut(), name: &name, thread: None };
            engine.threads.add(engine.arena, found);
        }
        let is_alive = |tid| alive.binary_search(&tid).is_ok();
        engine.threads.upkeep(engine.arena, Some((met, &is_alive)));
    }
}

/// The kernel's name of one of our threads; empty if it has ended.
fn kernel_name(tid: i32) -> Vec<u8> {
    let mut name = std::fs::read(format!("/proc/self/task/{tid}/comm")).unwrap_or_default();
    name.truncate(name.strip_suffix(b"\n").map_or(name.len(), <[u8]>::len));
    name
}

/// Looks after things for as long as the process lives. The thread's body.
pub fn body(env: &mut Env<'_>) {
    let Some(engine) = Engine::get() else { return };
    engine.forget_own_thread();
    loop {
        wait(engine);
        let _ = env.with_frame(16, |env| {
            lock(&engine.upkeep).run(engine, env);
            // Not while others wait for room.
            ENGINES.iter().for_each(|engine| engine.upkeep(env));
        });
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
