//! Waiting for locks. The VM tells of monitors, and of virtual threads that park ([`mounting`]); other threads that park call a
//! function of ours on the way ([`parking`]).
//!
//! Where a thread waits is looked up before it begins to, when it holds nothing that it is about to wait for; how long it took is
//! all that is written down when it has the lock. So nobody waits longer for it, but for the thread itself, whose wait begins,
//! for us, when the looking up is done.
//!
//! Who holds the lock is looked up at the first wait for it, and then now and then only ([`holders`]). A thread that waits very often
//! does not have its stack walked each time ([`pending`]).

mod held;
mod holders;
mod mounting;
mod names;
pub mod parking;
mod pending;
mod waiting;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering};

use quipu_arena::append::Event;
use quipu_jvm::{Capabilities, Capability, Env, Error, Object, Thread, sys};
use quipu_kinds::{ALL, Chosen, Kind};
use quipu_rewrite::Instrument;

use crate::engine::{Engine, Waiting};
use crate::events::Listener;
use crate::options::Options;
use crate::session::Session;
use crate::stacks::metrics::{self, Declared};
use crate::stacks::record::{self, Charge, Here};
use crate::stacks::{monotonic, timeline};
use crate::start;
use pending::Pending;

/// Nanoseconds from which on every wait is on the timeline.
const LONG: u64 = 1_000_000;

/// Nanoseconds that a wait is taken to be shorter for what recording it takes, at the most: if that took longer, the thread was not
/// running, or had to wait for others, and would have waited for the lock meanwhile.
const MOST_SUBTRACTED: u64 = 100_000;

/// Waiting for locks.
pub struct Locks {
    on: AtomicBool,
    /// Nanoseconds; shorter waits do not count.
    threshold: AtomicU64,
    /// Metrics: for locks, for anything else, and of holders.
    lock: AtomicU16,
    wait: AtomicU16,
    blocked: AtomicU16,
    event: AtomicU32,
    wait_event: AtomicU32,
    pinned_event: AtomicU32,
}

/// The only one.
pub static LOCKS: Locks = Locks {
    on: AtomicBool::new(false),
    threshold: AtomicU64::new(0),
    lock: AtomicU16::new(0),
    wait: AtomicU16::new(0),
    blocked: AtomicU16::new(0),
    event: AtomicU32::new(0),
    wait_event: AtomicU32::new(0),
    pinned_event: AtomicU32::new(0),
};

const EVENTS: [sys::jvmtiEvent; 4] = [
    sys::JVMTI_EVENT_MONITOR_CONTENDED_ENTER,
    sys::JVMTI_EVENT_MONITOR_CONTENDED_ENTERED,
    sys::JVMTI_EVENT_MONITOR_WAIT,
    sys::JVMTI_EVENT_MONITOR_WAITED,
];

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Monitor,
    /// A lock of `java.util.concurrent`, with a number for this attempt to get it.
    Synchronizer {
        attempt: u32,
    },
    /// A lock that does not know who has it.
    Ownerless,
    /// Not a lock.
    Other,
}

/// Whether locks that nobody waits for are counted, too.
fn wants_all(chosen: &Chosen) -> bool {
    chosen.get("locks") == Some(ALL)
}

impl Locks {
    fn is_on(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }

    fn set(&self, chosen: &Chosen) {
        self.threshold.store(chosen.number(self.kind().name()).unwrap_or(0), Ordering::Release);
    }

    /// A thread is about to wait.
    fn begin(&self, env: &Env<'_>, thread: Thread<'_>, object: Object<'_>, what: What) {
        let came = monotonic();
        let (Some(session), Some(who)) = (Session::get(), record::who(env, thread)) else { return };
        let detail = names::of(session, env, object);
        let known = pending::known(who, detail, came);
        let Some(here) = known.or_else(|| record::here(env, thread)) else { return };
        let held = match what {
            What::Other | What::Ownerless => None,
            _ => holders::look(session, env, thread, object, what == What::Monitor, detail),
        };
        // What this took is not the program's.
        let began = monotonic().min(came.saturating_add(MOST_SUBTRACTED));
        let (is_lock, attempt) = match what {
            What::Monitor | What::Ownerless => (true, 0),
            What::Synchronizer { attempt } => (true, attempt),
            What::Other => (false, 0),
        };
        let is_fresh = known.is_none();
        let pins = what == What::Monitor && pins(env, thread);
        pending::put(
            who,
            Pending { here, is_fresh, pins, is_unseen: false, detail, is_lock, held, attempt, began },
        );
    }

    /// It has what it waited for, and others may wait for that: what is written down is written at once.
    fn end(&self, env: &Env<'_>, thread: Thread<'_>) {
        let now = monotonic();
        let threshold = self.threshold.load(Ordering::Relaxed);
        let counts = |pending: &Pending| now.saturating_sub(pending.began) >= threshold;
        let Some((pending, count)) = record::who(env, thread).and_then(|who| pending::take(who, counts))
        else {
            return;
        };
        self.ended(now, pending, count);
    }

    /// Threads that still wait when nobody is to be asked any more have waited until now: those that hang are what is looked for.
    fn end_all(&self, env: &mut Env<'_>) {
        let Some(session) = Session::get() else { return };
        let now = monotonic();
        let threshold = self.threshold.load(Ordering::Relaxed);
        let waits = pending::drain(|pending| now.saturating_sub(pending.began) >= threshold);
        let parked = match waits.iter().any(|(pending, _)| pending.is_unseen) {
            true => waiting::parked(session, env),
            false => HashMap::new(),
        };
        for (pending, count) in waits {
            let still = !pending.is_unseen || parked.get(&pending.here.thread) == Some(&pending.detail);
            if still {
                self.ended(now, Pending { is_fresh: true, ..pending }, count);
            }
        }
    }

    fn ended(&self, now: u64, pending: Pending, count: u32) {
        let Pending { here, is_fresh, pins, detail, is_lock, held, began, .. } = pending;
        let value = now.saturating_sub(began);
        let metric = if is_lock { &self.lock } else { &self.wait };
        let metric = metric.load(Ordering::Acquire);
        record::charge(now, here, Charge { metric, value, count, detail });
        if is_lock && let Some((held, owed)) = holders::entered(detail, here, value, held) {
            self.charge_holder(now, held, detail, owed);
        }
        if pins {
            self.pinned(here, began, value, detail);
        }
        // Of a thread that waits very often, the timeline has the long waits and some of the others.
        if is_fresh || value >= LONG {
            let kind = if is_lock { &self.event } else { &self.wait_event };
            let kind = kind.load(Ordering::Acquire);
            record::event(
                Some(here),
                Event { time: began, duration: value, kind, detail, ..Event::default() },
            );
        }
    }

    /// A virtual thread has waited there and kept its carrier.
    fn pinned(&self, here: Here, began: u64, duration: u64, detail: u32) {
        if duration >= self.threshold.load(Ordering::Relaxed) {
            let kind = self.pinned_event.load(Ordering::Acquire);
            record::event(Some(here), Event { time: began, duration, kind, detail, ..Event::default() });
        }
    }

    /// A thread that parked goes on, if it did: with the lock, or to try again.
    fn parked(&self, env: &Env<'_>, thread: Thread<'_>) {
        self.end(env, thread);
    }

    fn charge_holder(&self, now: u64, held: Here, detail: u32, value: u64) {
        let metric = self.blocked.load(Ordering::Acquire);
        record::charge(now, held, Charge { metric, value, count: 1, detail });
    }

    /// What is owed to holders is charged.
    fn settle(&self) {
        let now = monotonic();
        holders::settle(|held, detail, owed| self.charge_holder(now, held, detail, owed));
    }
}

impl Engine for Locks {
    fn kind(&self) -> &'static Kind {
        &quipu_kinds::LOCKS
    }

    fn start(&self, session: &'static Session, env: &mut Env<'_>, options: &Options) -> Result<(), String> {
        let text = |e: Error| e.to_string();
        let needed = Capability::CAN_GENERATE_MONITOR_EVENTS;
        let wanted = [needed, Capability::CAN_GET_MONITOR_INFO];
        let missing = session.jvmti.add_available_capabilities(&Capabilities::of(&wanted)).map_err(text)?;
        if missing.contains(needed) {
            return Err("this JVM tells of no waits for monitors".to_owned());
        }
        start::record(session, env, self.kind().name(), true, options)?;
        session.note("kind", self.kind().name());
        if let [lock, lock_count, wait, wait_count, blocked, ..] = self.kind().metrics {
            // Everything is counted, but for what is shorter than the threshold.
            let declare = |metric, count| {
                metrics::declare(&session.arena, &Declared { count, ..Declared::of(metric, 0) })
            };
            self.lock.store(declare(lock, lock_count.name), Ordering::Release);
            self.wait.store(declare(wait, wait_count.name), Ordering::Release);
            self.blocked.store(declare(blocked, ""), Ordering::Release);
        }
        if let [lock, wait, pinned] = self.kind().events {
            self.event.store(timeline::declare(&session.arena, lock), Ordering::Release);
            self.wait_event.store(timeline::declare(&session.arena, wait), Ordering::Release);
            self.pinned_event.store(timeline::declare(&session.arena, pinned), Ordering::Release);
        }
        names::begin();
        self.set(&options.chosen);
        self.on.store(true, Ordering::Release);
        if let Err(why) = parking::begin(session, env) {
            session.leave(b"locks of java.util.concurrent", &why);
        }
        EVENTS.iter().try_for_each(|&event| session.listen(Listener::Locks, event, true)).map_err(text)?;
        waiting::meet(session, env);
        match wants_all(&options.chosen) {
            true => held::start(session, env, options, self.kind()).map_err(text),
            false => held::stop(session, env).map_err(text),
        }
    }

    fn instrument(
        &self,
        session: &'static Session,
        env: &mut Env<'_>,
        options: &Options,
    ) -> Result<Option<Arc<dyn Instrument>>, Error> {
        wants_all(&options.chosen).then(|| held::instrument(session, env, self.kind())).transpose()
    }

    fn change(
        &self,
        session: &'static Session,
        _: &mut Env<'_>,
        name: &str,
        chosen: &Chosen,
    ) -> Result<(), String> {
        match name == self.kind().name() {
            true if self.status(session).is_none() => {
                Err("waits for locks are not measured: start locks first".to_owned())
            }
            true if wants_all(chosen) != held::is_on() => {
                Err("to count all locks, or only those that are waited for again, start locks anew"
                    .to_owned())
            }
            true => {
                self.set(chosen);
                Ok(())
            }
            false => Ok(()),
        }
    }

    fn stop(&self, session: &'static Session, env: &mut Env<'_>) -> Result<(), String> {
        let taken_out = held::stop(session, env).map_err(|e| e.to_string());
        if !self.on.swap(false, Ordering::AcqRel) {
            return taken_out;
        }
        parking::end(session, env);
        for event in EVENTS {
            // The VM knows the events: they were switched on.
            let _ = session.listen(Listener::Locks, event, false);
        }
        self.end_all(env);
        self.settle();
        pending::clear();
        holders::clear();
        start::record(session, env, self.kind().name(), false, &session.options()).and(taken_out)
    }

    fn status(&self, _: &Session) -> Option<String> {
        let threshold = || self.threshold.load(Ordering::Acquire).to_string();
        self.is_on().then(|| if held::is_on() { ALL.to_owned() } else { threshold() })
    }

    fn thread_ended(&self, env: &Env<'_>, thread: Thread<'_>) {
        if let Some(who) = record::who(env, thread).filter(|_| self.is_on()) {
            pending::forget(who);
        }
    }

    fn vm_ends(&self, env: &mut Env<'_>) {
        if self.is_on() {
            self.end_all(env);
            self.settle();
        }
    }

    fn waits(&self, env: &Env<'_>, thread: Thread<'_>, waiting: Waiting<'_>) {
        if !self.is_on() {
            return;
        }
        match waiting {
            Waiting::ToEnter(object) => self.begin(env, thread, object, What::Monitor),
            // It holds the monitor as yet, and others wait for it: where it is, is looked up when it has waited.
            Waiting::ForNotification => {
                if let Some(who) = record::who(env, thread) {
                    pending::begin(who, monotonic());
                }
            }
            Waiting::Entered => self.end(env, thread),
            Waiting::Notified(object) => self.notified(env, thread, object),
        }
    }
}

impl Locks {
    /// A thread has waited in `Object.wait`, and does not have the monitor again yet.
    fn notified(&self, env: &Env<'_>, thread: Thread<'_>, object: Object<'_>) {
        let now = monotonic();
        let Some(began) = record::who(env, thread).and_then(pending::ended) else { return };
        let value = now.saturating_sub(began);
        let Some(session) = Session::get().filter(|_| value >= self.threshold.load(Ordering::Relaxed)) else {
            return;
        };
        let Some(here) = record::here(env, thread) else { return };
        let detail = names::of(session, env, object);
        let metric = self.wait.load(Ordering::Acquire);
        record::charge(now, here, Charge { metric, value, count: 1, detail });
        let kind = self.wait_event.load(Ordering::Acquire);
        record::event(Some(here), Event { time: began, duration: value, kind, detail, ..Event::default() });
        if pins(env, thread) {
            self.pinned(here, began, value, detail);
        }
    }
}

/// Whether a thread that waits for a monitor, or for a notification, keeps its carrier.
fn pins(env: &Env<'_>, thread: Thread<'_>) -> bool {
    /// The version of JNI from which on it does not.
    const GIVES_BACK: i32 = 0x0018_0000;
    env.version() < GIVES_BACK && env.is_virtual(thread)
}
