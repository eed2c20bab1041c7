//! Events that the kernel counts for each thread: which ones, and what their samples are of.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};

use quipu_kinds::{EVENT, EVENT_METRIC, Metric, Unit};
use quipu_perf::{Attributes, Event, Scope};

use super::counters::MOST;
use super::metrics::{self, Declared};
use super::{Engine, monotonic, threads};
use crate::locks::lock;
use crate::session::Session;

/// What a signal handler knows of an event.
#[derive(Default)]
pub struct Counted {
    metric: AtomicU16,
    /// 0 while there is none.
    period: AtomicU64,
    wakes: AtomicBool,
}

impl Counted {
    /// The number of its metric.
    pub fn metric(&self) -> u16 {
        self.metric.load(Ordering::Acquire)
    }

    /// How many make a sample.
    pub fn period(&self) -> u64 {
        self.period.load(Ordering::Acquire)
    }

    /// Whether a sample of it makes one more: see [`Event::wakes`].
    pub fn wakes(&self) -> bool {
        self.wakes.load(Ordering::Acquire)
    }
}

/// What the kernel is to be asked for, and what it allows; or why it does not.
pub fn prepared(events: &[Event]) -> Result<Vec<(Attributes, Scope)>, String> {
    if events.len() > MOST {
        return Err(["--event: at most ", &MOST.to_string(), " at a time"].concat());
    }
    events.iter().map(|event| event.prepared().map_err(|refused| refused.to_string())).collect()
}

impl Engine {
    /// The event that each thread's counter at this place counts. For signal handlers.
    pub(super) fn counted(&self, at: usize) -> Option<&Counted> {
        self.counted.get(at)
    }

    /// Counts these events from now on, and no others.
    pub(super) fn set_events(
        &self,
        session: &Session,
        events: &[Event],
        prepared: Vec<(Attributes, Scope)>,
    ) -> Result<(), String> {
        if *lock(&self.events) == events {
            return Ok(());
        }
        self.end_events();
        let (Some(like), false) = (EVENT.metrics.first(), events.is_empty()) else { return Ok(()) };
        let signal = self.signals.events();
        let signal = signal.ok_or("--event: SIGPROF, SIGVTALRM, SIGSTKFLT and SIGURG are all in use")?;
        session.note("kind", EVENT.name());
        let mut counted = threads::Counted { events: Vec::new(), signal };
        for ((event, (attributes, scope)), of_handler) in events.iter().zip(prepared).zip(&self.counted) {
            let name = [EVENT_METRIC, &event.name].concat();
            let unit = if event.is_clock() { Unit::Nanoseconds } else { Unit::Count };
            let like = Metric { unit, ..*like };
            // If each makes a sample, the sum is no estimate.
            let period = if event.period > 1 { event.period } else { 0 };
            let declared = Declared { name: &name, ..Declared::of(&like, period) };
            of_handler.metric.store(metrics::declare(self.arena, &declared), Ordering::Release);
            of_handler.wakes.store(event.wakes(), Ordering::Release);
            of_handler.period.store(event.period, Ordering::Release);
            if scope == Scope::User {
                session.note(
                    &[&name, ".scope"].concat(),
                    "without what takes place in the kernel, which is not allowed",
                );
            }
            counted.events.push(attributes);
        }
        session.note("sampling.began", &monotonic().to_string());
        self.threads.set_counted(self.arena, Some(counted));
        *lock(&self.events) = events.to_vec();
        Ok(())
    }

    /// Counts nothing any more.
    pub(super) fn end_events(&self) {
        let mut events = lock(&self.events);
        if events.is_empty() {
            return;
        }
        self.threads.set_counted(self.arena, None);
        self.counted.iter().for_each(|event| event.period.store(0, Ordering::Release));
        events.clear();
    }
}
