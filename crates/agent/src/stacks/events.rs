//! Events that the kernel counts for each thread: which ones, and what their samples are of.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};

use quipu_kinds::{CHAINED_METRIC, EVENT, EVENT_METRIC, Metric, Unit};
use quipu_perf::{Attributes, Event, Scope};

use super::chain::By;
use super::counters::MOST;
use super::metrics::{self, Declared};
use super::{Engine, monotonic, threads};
use crate::locks::lock;
use crate::session::Session;

/// What a signal handler knows of an event.
#[derive(Default)]
pub struct Counted {
    metric: AtomicU16,
    /// 0 unless stacks are walked and chained.
    chained_metric: AtomicU16,
    /// 0 while there is none.
    period: AtomicU64,
    wakes: AtomicBool,
    has_address: AtomicBool,
    turns: Turns,
}

/// How long counters of an event were there, and counted: where there are more events than the processor has counters, the kernel
/// lets them take turns.
#[derive(Default)]
pub struct Turns {
    there: AtomicU64,
    counted: AtomicU64,
}

impl Turns {
    /// A sample's share of it, in nanoseconds. For signal handlers.
    pub fn add(&self, [there, counted]: [u64; 2]) {
        self.there.fetch_add(there, Ordering::Relaxed);
        self.counted.fetch_add(counted, Ordering::Relaxed);
    }

    /// Begins anew, and says what there was in words; nothing if they counted all of the time.
    fn take(&self) -> Option<String> {
        let [there, counted] = [&self.there, &self.counted].map(|nanos| nanos.swap(0, Ordering::Relaxed));
        // The two are read one after the other: less than a thousandth is no turn of another's.
        if there.saturating_sub(counted) <= there / 1000 {
            return None;
        }
        let percent = u128::from(counted) * 100 / u128::from(there);
        Some(["counted in ", &percent.to_string(), " % of the time, and estimated for the rest"].concat())
    }
}

impl Counted {
    /// How long its counters counted.
    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    /// The number of its metric.
    pub fn metric(&self) -> u16 {
        self.metric.load(Ordering::Acquire)
    }

    /// The number of the metric for contexts that are chained beside those that are walked; 0 if none are.
    pub fn chained_metric(&self) -> u16 {
        self.chained_metric.load(Ordering::Acquire)
    }

    /// Whether the kernel tells which address it was about.
    pub fn has_address(&self) -> bool {
        self.has_address.load(Ordering::Acquire)
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

/// What the kernel is to be asked for of each event, and what it allows.
type Prepared = Vec<(Vec<Attributes>, Scope)>;

/// What the kernel is to be asked for, and what it allows; or why it does not.
pub fn prepared(events: &[Event]) -> Result<Prepared, String> {
    let too_many = || ["--event: at most ", &MOST.to_string(), " at a time"].concat();
    if events.len() > MOST {
        return Err(too_many());
    }
    let prepared = events.iter().map(|event| event.prepared().map_err(|refused| refused.to_string()));
    let prepared = prepared.collect::<Result<Prepared, String>>()?;
    // A probe can be at several places, each of which takes a counter.
    match prepared.iter().map(|(places, _)| places.len()).sum::<usize>() {
        ..=MOST => Ok(prepared),
        all => Err([&too_many(), ", and these are at ", &all.to_string(), " places"].concat()),
    }
}

impl Engine {
    /// The event that each thread's counter at this place counts. For signal handlers.
    pub(super) fn counted(&self, at: usize) -> Option<&Counted> {
        self.counted.get(at)
    }

    /// How contexts of events are found. For signal handlers.
    pub(super) fn contexts_by(&self) -> By {
        self.contexts_by.get()
    }

    /// Counts these events from now on, and no others.
    pub(super) fn set_events(
        &self,
        session: &Session,
        events: &[Event],
        by: By,
        prepared: Prepared,
    ) -> Result<(), String> {
        if *lock(&self.events) == events && self.contexts_by() == by {
            return Ok(());
        }
        self.end_events();
        self.contexts_by.set(by);
        let ([like, chained, ..], false) = (EVENT.metrics, events.is_empty()) else { return Ok(()) };
        let signal = self.signals.events();
        let signal = signal.ok_or("--event: SIGPROF, SIGVTALRM, SIGSTKFLT and SIGURG are all in use")?;
        session.note("kind", EVENT.name());
        let mut counted = threads::Counted { events: Vec::new(), signal };
        let mut of_handlers = self.counted.iter();
        for (event, (places, scope)) in events.iter().zip(prepared) {
            let name = [EVENT_METRIC, &event.name].concat();
            let unit = if event.is_clock() { Unit::Nanoseconds } else { Unit::Count };
            // If each makes a sample, the sum is no estimate.
            let period = if event.period > 1 { event.period } else { 0 };
            let declare = |name: &str, like: &Metric| {
                let like = Metric { unit, ..*like };
                metrics::declare(self.arena, &Declared { name, ..Declared::of(&like, period) })
            };
            let metric = declare(&name, like);
            let chained = match by {
                By::Both => declare(&[&name, CHAINED_METRIC].concat(), chained),
                _ => 0,
            };
            for (_, of_handler) in places.iter().zip(&mut of_handlers) {
                of_handler.metric.store(metric, Ordering::Release);
                of_handler.chained_metric.store(chained, Ordering::Release);
                of_handler.wakes.store(event.wakes(), Ordering::Release);
                of_handler.has_address.store(event.has_address(), Ordering::Release);
                of_handler.period.store(event.period, Ordering::Release);
            }
            if scope == Scope::User {
                session.note(
                    &[&name, ".scope"].concat(),
                    "without what takes place in the kernel, which is not allowed",
                );
            }
            counted.events.extend(places);
        }
        if events.iter().any(Event::has_address) {
            self.areas.tell(self.arena);
        }
        lock(&self.probes).switch_on(session, events);
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
        lock(&self.probes).switch_back();
        let session = Session::get();
        let turns: Vec<Option<String>> = self.counted.iter().map(|counted| counted.turns.take()).collect();
        // What is counted at several places is so by breakpoints, which take no turns.
        for (event, said) in events.drain(..).zip(turns) {
            if let (Some(session), Some(said)) = (session, said) {
                session.note(&[EVENT_METRIC, &event.name, TURNS].concat(), &said);
            }
        }
    }
}

/// Behind the name of a metric, the fact that says what share of the time its event was counted.
const TURNS: &str = ".turns";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_share_was_counted_is_said_unless_it_was_all() {
        let turns = Turns::default();
        assert_eq!(turns.take(), None);
        turns.add([1_000_000, 999_500]);
        assert_eq!(turns.take(), None, "all of it");
        turns.add([1_000_000, 250_000]);
        turns.add([1_000_000, 550_000]);
        assert_eq!(turns.take().as_deref(), Some("counted in 40 % of the time, and estimated for the rest"));
        assert_eq!(turns.take(), None, "anew");
    }
}
