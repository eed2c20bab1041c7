//! Virtual threads that wait, for the wall clock. They are on no stack and have no clock, and there may be a million of
//! them: of those that there are, a few are looked at in each round, chosen by chance, and stand for all.
//!
//! The JDK keeps them in containers, one for each executor and one for all others; from time to time the list is asked for
//! anew. One that runs is not looked at: its carrier takes its sample. The VM walks the stacks, which for a thread that is
//! not mounted disturbs nobody.

use std::ffi::CStr;

use quipu_arena::append::Sample;
use quipu_arena::layout::run_state;
use quipu_jvm::jni::kind;
use quipu_jvm::sys::{self, jvmtiFrameInfo};
use quipu_jvm::{
    Array, Capabilities, Capability, Class, Env, Error, FieldId, Global, MethodId, Object, Thread,
};

use super::lost::{self, Cause};
use super::virtual_threads::number;
use super::wall::{Round, stack, waiting_state};
use crate::groups;
use crate::session::Session;
use crate::start;

/// Stacks that are walked in a round, at most: at 100 rounds a second these are 1,600, each some 20 µs.
const AT_ONCE: usize = 16;
/// Containers that are looked into, and threads that are known at a time, at most.
const CONTAINERS: usize = 4096;
const KNOWN: usize = 1 << 16;
/// References that one frame of the VM's holds.
const FRAME: usize = 256;
/// Nanoseconds for which a list is used, and a long one.
const FRESH: u64 = 100_000_000;
const LONG_FRESH: u64 = 1_000_000_000;
const LONG: usize = 1024;
/// The version of JNI in which virtual threads are no preview.
const SINCE: i32 = 0x0015_0000;

/// What there is of virtual threads.
pub struct Unmounted {
    java: Java,
    list: List,
    random: u64,
}

/// Where Java has them.
struct Java {
    containers: Global<kind::Class>,
    root: MethodId,
    threads: MethodId,
    children: MethodId,
    to_array: MethodId,
    id: FieldId,
    carrier: FieldId,
}

/// Those that there were when they were asked for.
#[derive(Default)]
struct List {
    arrays: Vec<Global<kind::Array>>,
    /// Which array, and where in it.
    threads: Vec<(u32, u32)>,
    /// Threads of all kinds in the arrays, and those of them that were looked at to find the virtual ones.
    all: u64,
    known: u64,
    made: Option<u64>,
}

impl Unmounted {
    /// `None` where there are no virtual threads, or where they cannot be found, which is told.
    pub fn find(session: &Session, env: &mut Env<'_>) -> Option<Unmounted> {
        if env.version() < SINCE {
            return None;
        }
        // Nothing can be asked about a virtual thread without it.
        let needed = Capabilities::of(&[Capability::CAN_SUPPORT_VIRTUAL_THREADS]);
        let java =
            session.jvmti.add_available_capabilities(&needed).and_then(|_| env.with_frame(16, Java::find)?);
        match java {
            Ok(java) => Some(Unmounted { java, list: List::default(), random: super::monotonic() | 1 }),
            Err(why) => {
                session.leave(b"virtual threads that wait", &why.to_string());
                None
            }
        }
    }

    /// One look at some of them.
    pub fn visit(&mut self, env: &mut Env<'_>, round: &Round<'_>, frames: &mut [jvmtiFrameInfo]) {
        let fresh = if self.list.threads.len() > LONG { LONG_FRESH } else { FRESH };
        if self.list.made.is_none_or(|made| round.now.saturating_sub(made) >= fresh) {
            self.renew(env, round.now);
        }
        let (all, chosen) = (self.list.threads.len(), self.list.threads.len().min(AT_ONCE));
        // Each stands for its share of all.
        let (all_of_them, looked_at) =
            (all as u128 * u128::from(self.list.all), chosen as u128 * u128::from(self.list.known));
        let value = u128::from(round.value) * all_of_them / looked_at.max(1);
        let value = u64::try_from(value).unwrap_or(u64::MAX);
        for i in 0..chosen {
            let at = if all > AT_ONCE { self.next_random() as usize % all } else { i };
            let Some(&(array, index)) = self.list.threads.get(at) else { continue };
            let Some(array) = self.list.arrays.get(array as usize) else { continue };
            // A frame that cannot be had is a lack of memory: the sample is missing.
            let _ = env.with_frame(8, |env| {
                let thread = env.array_get(array.get(), index as usize).ok().flatten()?;
                // SAFETY: the list has virtual threads only.
                self.java.sample(env, unsafe { thread.cast() }, round, value, frames)
            });
        }
    }

    /// Lets go of what it holds.
    pub fn end(mut self, env: &Env<'_>) {
        self.forget(env);
        env.delete_global(self.java.containers);
    }

    fn forget(&mut self, env: &Env<'_>) {
        for array in std::mem::take(&mut self.list).arrays {
            env.delete_global(array);
        }
    }

    fn renew(&mut self, env: &mut Env<'_>, now: u64) {
        self.forget(env);
        // It runs Java code, which may be instrumented, on a thread that is not the program's.
        let _ = start::aside(env, true);
        let mut arrays = Vec::new();
        // What could not be had is had the next time.
        let _ = env.with_frame(64, |env| self.java.arrays(env, &mut arrays));
        let _ = start::aside(env, false);
        self.list.arrays = arrays;
        self.list.made = Some(now);
        let List { arrays, threads, all, known, .. } = &mut self.list;
        let lengths: Vec<usize> = arrays.iter().map(|array| env.array_length(array.get())).collect();
        let total: usize = lengths.iter().sum();
        // Of too many every second is known, or every third: so each container has its share.
        let step = total.div_ceil(KNOWN).max(1);
        *all = total as u64;
        for (number, (array, length)) in arrays.iter().zip(lengths).enumerate() {
            let indices: Vec<usize> = (0..length).step_by(step).collect();
            *known += indices.len() as u64;
            for some in indices.chunks(FRAME) {
                let _ = env.with_frame(FRAME as u16, |env| {
                    for &index in some {
                        let Ok(Some(thread)) = env.array_get(array.get(), index) else { continue };
                        // SAFETY: containers have threads.
                        if env.is_virtual(unsafe { thread.cast() }) {
                            threads.push((number as u32, index as u32));
                        }
                    }
                });
            }
        }
    }

    fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

impl Java {
    fn find(env: &mut Env<'_>) -> Result<Java, Error> {
        const STREAM: &CStr = c"()Ljava/util/stream/Stream;";
        let containers = env.find_class(c"jdk/internal/vm/ThreadContainers")?;
        let container = env.find_class(c"jdk/internal/vm/ThreadContainer")?;
        let stream = env.find_class(c"java/util/stream/Stream")?;
        let thread = env.find_class(c"java/lang/Thread")?;
        let virtual_thread: Class<'_> = env.find_class(c"java/lang/VirtualThread")?;
        Ok(Java {
            root: env.static_method(containers, c"root", c"()Ljdk/internal/vm/ThreadContainer;")?,
            containers: env.new_global(containers)?,
            threads: env.method(container, c"threads", STREAM)?,
            children: env.method(container, c"children", STREAM)?,
            to_array: env.method(stream, c"toArray", c"()[Ljava/lang/Object;")?,
            id: env.field(thread, c"tid", c"J")?,
            carrier: env.field(virtual_thread, c"carrierThread", c"Ljava/lang/Thread;")?,
        })
    }

    /// The threads of all containers.
    fn arrays(&self, env: &mut Env<'_>, arrays: &mut Vec<Global<kind::Array>>) -> Option<()> {
        // SAFETY: the method takes nothing and returns a container.
        let root = unsafe { env.call_static_object(self.containers.get(), self.root, &[]) }.ok()??;
        let mut waiting = vec![root];
        for _ in 0..CONTAINERS {
            let Some(container) = waiting.pop() else { break };
            arrays.extend(self.array(env, container, self.threads).and_then(|all| env.new_global(all).ok()));
            let Some(children) = self.array(env, container, self.children) else { continue };
            for index in 0..env.array_length(children).min(CONTAINERS) {
                waiting.extend(env.array_get(children, index).ok().flatten());
            }
        }
        Some(())
    }

    fn array<'e>(&self, env: &Env<'e>, container: Object<'_>, of: MethodId) -> Option<Array<'e>> {
        // SAFETY: a container has the method, which returns a stream; that has the other, which returns an array.
        unsafe {
            let stream = env.call_object(container, of, &[]).ok()??;
            Some(env.call_object(stream, self.to_array, &[]).ok()??.cast())
        }
    }

    /// Takes a sample of a thread that stands for so many nanoseconds, unless it runs.
    fn sample(
        &self,
        env: &mut Env<'_>,
        thread: Thread<'_>,
        round: &Round<'_>,
        value: u64,
        frames: &mut [jvmtiFrameInfo],
    ) -> Option<()> {
        let engine = round.engine;
        let flags = engine.jvmti.thread_state(Some(thread)).ok()?;
        if flags & sys::JVMTI_THREAD_STATE_ALIVE == 0 {
            return None;
        }
        let state = match waiting_state(flags) {
            Some(state) => state,
            // SAFETY: a virtual thread has the field.
            None if unsafe { env.object_field(thread, self.carrier) }.is_some() => return None,
            // It could run, if a carrier were free.
            None => run_state::RUNNABLE,
        };
        let info = engine.jvmti.thread_info(env, Some(thread));
        let name = info.as_ref().map_or(&b""[..], |info| info.name.as_bytes());
        if !engine.threads.is_chosen(groups::shown(name, true)) {
            return None;
        }
        let context = stack(engine, env, thread, frames)?;
        // SAFETY: every thread has the field.
        let id = unsafe { env.long_field(thread, self.id) }.cast_unsigned();
        engine.walker.met_virtual_thread(id, name);
        let sample = Sample {
            time: round.now,
            value,
            context,
            thread: number(id),
            labels: 0,
            metric: engine.wall_metric(),
            count: 1,
            detail: 0,
            state,
        };
        if !engine.arena.append_sample(super::appender(), &sample) {
            lost::count(engine.arena, Cause::NoRoom);
        }
        Some(())
    }
}
