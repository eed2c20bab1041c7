//! Recording for kinds whose moments the VM tells of, in callbacks on the thread concerned: where the thread is, and what is
//! charged to that. A kind that uses this is little more than what makes it record.
//!
//! Where everything is counted, the context is the one that the thread has published. Otherwise the VM walks the stack. A
//! callback is no signal handler: it may take its time, and allocate; but the program waits for it.

use std::cell::Cell;
use std::sync::OnceLock;

use quipu_arena::append::{Event, Sample};
use quipu_arena::layout::{header, run_state};
use quipu_jvm::sys::jvmtiFrameInfo;
use quipu_jvm::{Env, FieldId, Thread};

use super::lost::{self, Cause};
use super::virtual_threads::number;
use super::{Engine, labels, monotonic, timeline, walk, wall};
use crate::groups;
use crate::locks::lock;

/// Where a thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Here {
    /// Its context.
    pub context: u32,
    /// The number that it has in samples.
    pub thread: u32,
    /// On whose behalf it works.
    pub labels: u32,
}

/// What is charged to a context.
#[derive(Debug, Clone, Copy)]
pub struct Charge {
    /// The metric's number.
    pub metric: u16,
    /// How much, in the metric's unit.
    pub value: u64,
    /// How many occurrences that stands for.
    pub count: u32,
    /// What it is about, or 0.
    pub detail: u32,
}

/// Where the current thread is; `None` if it is not watched, or there is no room. `thread` is the one that the VM passed.
pub fn here(env: &Env<'_>, thread: Thread<'_>) -> Option<Here> {
    here_below(env, thread, walk::DEEPEST)
}

/// The same, with the youngest `frames` of the stack only; of a context that the thread has published, all.
pub fn here_below(env: &Env<'_>, thread: Thread<'_>, frames: usize) -> Option<Here> {
    let engine = Engine::get().filter(|engine| engine.is_on())?;
    let began = monotonic();
    // SAFETY: a plain query.
    let tid = unsafe { libc::gettid() };
    let of = if env.is_virtual(thread) { engine.met(env, thread)? } else { engine.id_of(tid)? };
    engine.make_room();
    let context = engine.stack(env, thread, frames);
    engine.arena.add(header::SAMPLES, 1);
    engine.arena.add(header::SAMPLING_NANOS, monotonic().saturating_sub(began));
    if engine.wants_upkeep() {
        engine.wake();
    }
    Some(Here { context: context?, thread: of, labels: labels::of(tid) })
}

/// The number in samples of the current thread, and nothing of where it is; `None` if it is not watched.
pub fn who(env: &Env<'_>, thread: Thread<'_>) -> Option<u32> {
    let engine = Engine::get().filter(|engine| engine.is_on())?;
    if env.is_virtual(thread) {
        return engine.met(env, thread);
    }
    // SAFETY: a plain query.
    engine.id_of(unsafe { libc::gettid() })
}

/// The number in samples of another thread, and its labels.
pub fn other(env: &Env<'_>, thread: Thread<'_>) -> Option<(u32, u32)> {
    let engine = Engine::get().filter(|engine| engine.is_on())?;
    if env.is_virtual(thread) {
        return Some((engine.met(env, thread)?, 0));
    }
    let tid = engine.vm_threads.native(env, thread, |env| engine.threads.with_env(env))?.tid;
    let watch = engine.threads.watch(engine.threads.number(tid)?)?;
    let id = watch.of(tid)?.id;
    watch.mark_sampled(id);
    Some((id, labels::of(tid)))
}

/// Where another thread is. It is stopped for as long as that takes.
pub fn there(env: &Env<'_>, thread: Thread<'_>) -> Option<Here> {
    let engine = Engine::get().filter(|engine| engine.is_on())?;
    let (of, labels) = other(env, thread)?;
    Some(Here { context: engine.stack(env, thread, walk::DEEPEST)?, thread: of, labels })
}

/// Charges something to where a thread is, or was, at a moment of the machine's monotonic clock.
pub fn charge(time: u64, here: Here, charge: Charge) {
    let Some(engine) = Engine::get().filter(|engine| engine.is_on()) else { return };
    let Charge { metric, value, count, detail } = charge;
    let Here { context, thread, labels } = here;
    let state = run_state::RUNNING;
    let sample = Sample { time, value, count, context, thread, labels, metric, detail, state };
    if !engine.arena.append_sample(super::appender(), &sample) {
        lost::count(engine.arena, Cause::NoRoom);
    }
}

/// Our own thread looks after things soon. Also while the VM can be asked nothing.
pub fn wake() {
    if let Some(engine) = Engine::get().filter(|engine| engine.is_on()) {
        engine.wake();
    }
}

/// Appends an event of the timeline, where a thread is or was.
pub fn event(here: Option<Here>, event: Event) {
    let Some(engine) = Engine::get().filter(|engine| engine.is_on()) else { return };
    let (thread, context) = here.map_or((event.thread, 0), |here| (here.thread, here.context));
    timeline::append(engine.arena, &Event { thread, context, ..event });
    if timeline::wants() {
        engine.wake();
    }
}

const NO_FRAME: jvmtiFrameInfo = jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 };

thread_local! {
    /// Room for a walk. Kept: a thread that records once records often.
    static FRAMES: Cell<Option<Vec<jvmtiFrameInfo>>> = const { Cell::new(Some(Vec::new())) };
    /// The number of the thread's watch.
    static NUMBER: Cell<u32> = const { Cell::new(u32::MAX) };
}

impl Engine {
    /// A callback can lay out memory itself, where a signal handler has to do with what is there.
    fn make_room(&self) {
        if super::SAMPLES.wants() || self.contexts.wants() || timeline::wants() {
            lock(&self.upkeep).make_room(self);
        }
    }

    /// The context of a thread, of so many frames at the most, in memory of the current one.
    fn stack(&self, env: &Env<'_>, thread: Thread<'_>, deepest: usize) -> Option<u32> {
        FRAMES.with(|frames| {
            // One that is in use is that of a callback which this one interrupts: it has to do without a stack.
            let mut memory = frames.take()?;
            memory.resize(deepest.clamp(1, walk::DEEPEST), NO_FRAME);
            let context = wall::stack(self, env, thread, &mut memory);
            frames.set(Some(memory));
            context
        })
    }

    /// The number in samples of the current thread, a platform one.
    fn id_of(&self, tid: i32) -> Option<u32> {
        let watched = |number: u32| Some((number, self.threads.watch(number)?.of(tid)?.id));
        let (number, id) = watched(NUMBER.get()).or_else(|| watched(self.threads.number(tid)?))?;
        NUMBER.set(number);
        self.threads.watch(number)?.mark_sampled(id);
        Some(id)
    }

    /// The number in samples of a virtual thread.
    fn met(&self, env: &Env<'_>, thread: Thread<'_>) -> Option<u32> {
        static ID: OnceLock<Option<FieldId>> = OnceLock::new();
        let field = || env.find_class(c"java/lang/Thread").and_then(|class| env.field(class, c"tid", c"J"));
        let field = (*ID.get_or_init(|| field().ok()))?;
        // SAFETY: every thread has the field.
        let id = unsafe { env.long_field(thread, field) }.cast_unsigned();
        let mut chosen = true;
        self.walker.meet_virtual_thread(id, |room| {
            let info = self.jvmti.thread_info(env, Some(thread)).ok()?;
            let name = info.name.as_bytes();
            chosen = self.threads.is_chosen(groups::shown(name, true));
            let length = name.len().min(room.len());
            room.get_mut(..length)?.copy_from_slice(name.get(..length)?);
            Some(length)
        });
        chosen.then_some(number(id))
    }
}
