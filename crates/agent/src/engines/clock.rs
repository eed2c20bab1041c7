//! Stacks by a clock, of CPU time or of elapsed time, or by what else is counted. They share what [`stacks`] has, and differ in
//! what makes a sample due.

use quipu_jvm::{Class, Env, Thread};
use quipu_kinds::{CONTEXT, Chosen, Kind};
use quipu_perf::Event;

use crate::engine::Engine;
use crate::options::Options;
use crate::session::Session;
use crate::stacks::chain::By;
use crate::stacks::{self, Wanted};
use crate::start;

/// Samples by one clock.
pub struct Clock {
    kind: &'static Kind,
    /// Wants what was chosen; nothing, if that is nothing.
    want: fn(&mut Wanted, &Chosen) -> Result<(), String>,
    /// What is wanted, as it was chosen.
    wanted: fn(&Wanted) -> Option<String>,
}

/// By the CPU time that threads use.
pub static CPU: Clock = Clock {
    kind: &quipu_kinds::CPU,
    want: |wanted, chosen| {
        wanted.cpu = rate(chosen, &quipu_kinds::CPU);
        Ok(())
    },
    wanted: |wanted| wanted.cpu.map(|rate| rate.to_string()),
};
/// By the time that goes by.
pub static WALL: Clock = Clock {
    kind: &quipu_kinds::WALL,
    want: |wanted, chosen| {
        wanted.wall = rate(chosen, &quipu_kinds::WALL);
        Ok(())
    },
    wanted: |wanted| wanted.wall.map(|rate| rate.to_string()),
};
/// By what the kernel and the processor count.
pub static EVENT: Clock = Clock {
    kind: &quipu_kinds::EVENT,
    want: |wanted, chosen| {
        wanted.events = events(chosen)?;
        wanted.contexts_by = chosen.get(CONTEXT).and_then(By::parse).unwrap_or_default();
        Ok(())
    },
    wanted: |wanted| {
        let named = |event: &Event| [&event.name, ":", &event.period.to_string()].concat();
        let named: Vec<String> = wanted.events.iter().map(named).collect();
        (!named.is_empty()).then(|| named.join(" "))
    },
};

fn rate(chosen: &Chosen, kind: &Kind) -> Option<u32> {
    chosen.number(kind.name()).and_then(|rate| u32::try_from(rate).ok())
}

/// The events that were chosen; of one that was chosen several times, the last.
fn events(chosen: &Chosen) -> Result<Vec<Event>, String> {
    let mut events: Vec<Event> = Vec::new();
    // What is running is told with spaces between.
    for text in chosen.all(quipu_kinds::EVENT.name()).flat_map(str::split_whitespace) {
        let event = Event::parse(text)?;
        match events.iter_mut().find(|known| known.name == event.name) {
            Some(known) => *known = event,
            None => events.push(event),
        }
    }
    Ok(events)
}

impl Clock {
    /// Threads and classes are looked after by one of the two, for both.
    fn looks_after_threads(&self) -> bool {
        self.kind.name() == quipu_kinds::CPU.name()
    }

    fn set(&self, session: &'static Session, env: &mut Env<'_>, chosen: &Chosen) -> Result<(), String> {
        let mut wanted = stacks::current();
        (self.want)(&mut wanted, chosen)?;
        wanted.threads = chosen.all("threads").map(str::to_owned).collect();
        start::sample(session, env, &wanted)
    }
}

impl Engine for Clock {
    fn kind(&self) -> &'static Kind {
        self.kind
    }

    fn start(&self, session: &'static Session, env: &mut Env<'_>, options: &Options) -> Result<(), String> {
        let running = stacks::current();
        let mut chosen = options.chosen.clone();
        if running.any() {
            // Threads may have been chosen again since the profile began; the clocks have the same ones.
            chosen.leave_out("threads");
            for name in &running.threads {
                chosen.set("threads", name).map_err(|wrong| wrong.0)?;
            }
        }
        self.set(session, env, &chosen)
    }

    fn change(
        &self,
        session: &'static Session,
        env: &mut Env<'_>,
        name: &str,
        chosen: &Chosen,
    ) -> Result<(), String> {
        // Threads are those of all kinds that look at stacks, whether a clock is on or not.
        let concerned = name == self.kind.name() || (name == "threads" && self.looks_after_threads());
        if concerned { self.set(session, env, chosen) } else { Ok(()) }
    }

    fn stop(&self, session: &'static Session, env: &mut Env<'_>) -> Result<(), String> {
        let mut wanted = stacks::current();
        (self.want)(&mut wanted, &Chosen::default())?;
        start::sample(session, env, &wanted)
    }

    fn status(&self, _: &Session) -> Option<String> {
        (self.wanted)(&stacks::current())
    }

    fn thread_began(&self, env: &Env<'_>, thread: Thread<'_>) {
        if self.looks_after_threads() && !env.is_virtual(thread) {
            stacks::thread_began(env, thread);
        }
    }

    fn thread_ended(&self, env: &Env<'_>, thread: Thread<'_>) {
        if self.looks_after_threads() && !env.is_virtual(thread) {
            stacks::thread_ended();
        }
    }

    fn class_prepared(&self, env: &Env<'_>, class: Class<'_>) {
        if self.looks_after_threads() {
            stacks::class_prepared(env, class);
        }
    }
}
