//! Pauses of the VM. It tells nobody of single ones, but counts them, and how long they took: the counters are looked at a hundred
//! times a second, by a thread of ours, and what was added since is an event. So two pauses within 10 ms are one event.

use std::sync::Mutex;
use std::time::Duration;

use quipu_arena::append::Event;
use quipu_jvm::Env;
use quipu_jvm::hotspot::{Counter, Library, Structs};
use quipu_unwind::Memory;

use super::{SAFEPOINT, TIMELINE};
use crate::locks::lock;
use crate::own_thread;
use crate::session::Session;
use crate::stacks::{guarded_memory, monotonic, record};

const EVERY: Duration = Duration::from_millis(10);

/// Whether a thread looks at them, and what was told so far.
static WATCHED: Mutex<Watched> = Mutex::new(Watched { by_thread: false, told: None });

struct Watched {
    by_thread: bool,
    told: Option<Counted>,
}

/// What the VM counts.
struct Counters {
    memory: Memory,
    pauses: Counter,
    /// In ticks of its clock, which are nanoseconds on Linux.
    time: Counter,
    reaching: Counter,
}

/// What it has counted so far: pauses, and nanoseconds in them and to reach them.
#[derive(Clone, Copy)]
struct Counted {
    pauses: u64,
    time: u64,
    reaching: u64,
}

impl Counters {
    fn find(session: &Session) -> Option<Counters> {
        let structs = Library::of(session.vm).and_then(Structs::of)?;
        let memory = guarded_memory();
        let find = |name| Counter::find(&structs, memory, name);
        Some(Counters {
            memory,
            pauses: find("sun.rt.safepoints")?,
            time: find("sun.rt.safepointTime")?,
            reaching: find("sun.rt.safepointSyncTime")?,
        })
    }

    fn read(&self) -> Option<Counted> {
        let get = |counter: Counter| counter.get(self.memory);
        Some(Counted { pauses: get(self.pauses)?, time: get(self.time)?, reaching: get(self.reaching)? })
    }
}

/// Has pauses told from now on, as long as the timeline is on.
pub fn watch(session: &Session, env: &Env<'_>) -> Result<(), String> {
    let counted = Counters::find(session).and_then(|counters| counters.read());
    let mut watched = lock(&WATCHED);
    watched.told =
        Some(counted.ok_or("this JVM does not count them (it was started with -XX:-UsePerfData)")?);
    if !watched.by_thread {
        own_thread::start(session.jvmti, env, "Quipu's safepoints", |_| {
            // With no counters to look at, it is over at once.
            if look().is_none() {
                lock(&WATCHED).by_thread = false;
            }
        })
        .map_err(|error| error.to_string())?;
        watched.by_thread = true;
    }
    Ok(())
}

/// The timeline ends: tells what there was since the last look. A program may be over before there is a second one.
pub fn end(session: &Session) {
    if let Some(counters) = Counters::find(session) {
        tell(&counters);
    }
    lock(&WATCHED).told = None;
}

/// Whether the thread is to go on; otherwise there is none any more. It may have been asleep while the timeline was off for a moment.
fn goes_on() -> bool {
    let mut watched = lock(&WATCHED);
    watched.by_thread = TIMELINE.is_on();
    watched.by_thread
}

fn look() -> Option<()> {
    let counters = Session::get().and_then(Counters::find)?;
    while goes_on() {
        std::thread::sleep(EVERY);
        tell(&counters)?;
    }
    Some(())
}

/// Tells what was counted since this was told last; `None` if it cannot be read.
fn tell(counters: &Counters) -> Option<()> {
    let mut watched = lock(&WATCHED);
    let now = counters.read()?;
    let Some(before) = watched.told else { return Some(()) };
    // What is counted when the pause is over is there in part, perhaps: then all of it is in the next event.
    if now.pauses > before.pauses && now.time > before.time {
        let duration = now.time - before.time;
        let reaching = now.reaching.saturating_sub(before.reaching);
        let values = [now.pauses - before.pauses, reaching];
        let time = monotonic().saturating_sub(duration);
        let kind = TIMELINE.number(SAFEPOINT);
        record::event(None, Event { time, duration, kind, values, ..Event::default() });
        watched.told = Some(now);
    }
    Some(())
}
