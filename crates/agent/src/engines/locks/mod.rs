//! Waiting for locks. The VM tells of monitors; threads that park call a function of ours on the way ([`parking`]).
//!
//! Where a thread waits is looked up before it begins to, when it holds nothing that it is about to wait for; how long it took is
//! all that is written down when it has the lock. So nobody waits longer for it, but for the thread itself, whose wait begins,
//! for us, when the looking up is done.
//!
//! Who holds the lock is looked up now and then only: that stops the holder for some microseconds. What was waited since the
//! last look is charged to the holder that is found.

mod holders;
mod parking;
mod pending;

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering};

use quipu_arena::append::Event;
use quipu_arena::layout::detail;
use quipu_jvm::{Capabilities, Capability, Env, Error, Object, Thread, sys};
use quipu_kinds::{Chosen, Kind};

use crate::engine::{Engine, Waiting};
use crate::events::Listener;
use crate::options::Options;
use crate::session::Session;
use crate::stacks::metrics::{self, Declared};
use crate::stacks::record::{self, Charge};
use crate::stacks::{details, monotonic, timeline};
use crate::start;
use pending::Pending;

/// Locks that are told apart at the most; others of a class are one.
const MOST_IDENTITIES: u32 = 10_000;

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
    identities: AtomicU32,
}

/// The only one.
pub static LOCKS: Locks = Locks {
    on: AtomicBool::new(false),
    threshold: AtomicU64::new(0),
    lock: AtomicU16::new(0),
    wait: AtomicU16::new(0),
    blocked: AtomicU16::new(0),
    event: AtomicU32::new(0),
    identities: AtomicU32::new(0),
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
    /// A lock of `java.util.concurrent`.
    Synchronizer,
    /// Not a lock.
    Other,
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
        let Some(session) = Session::get() else { return };
        let Some(here) = record::here(env, thread) else { return };
        let detail = self.detail(session, env, object).unwrap_or(0);
        if what != What::Other {
            let holder = holders::look(session, env, thread, object, what == What::Monitor, detail);
            if let Some((holder, owed)) = holder {
                let metric = self.blocked.load(Ordering::Acquire);
                record::charge(monotonic(), holder, Charge { metric, value: owed, count: 1, detail });
            }
        }
        pending::put(here.thread, Pending { here, detail, is_lock: what != What::Other, began: monotonic() });
    }

    /// It has what it waited for.
    fn end(&self, env: &Env<'_>, thread: Thread<'_>) {
        let now = monotonic();
        let Some(Pending { here, detail, is_lock, began }) = record::who(env, thread).and_then(pending::take)
        else {
            return;
        };
        let value = now.saturating_sub(began);
        if value < self.threshold.load(Ordering::Relaxed) {
            return;
        }
        let metric = if is_lock { &self.lock } else { &self.wait };
        let metric = metric.load(Ordering::Acquire);
        record::charge(now, here, Charge { metric, value, count: 1, detail });
        if is_lock {
            holders::entered(detail, here, value);
            let kind = self.event.load(Ordering::Acquire);
            record::event(
                Some(here),
                Event { time: began, duration: value, kind, detail, ..Event::default() },
            );
        }
    }

    /// What a lock is called: its class, and which one of it.
    fn detail(&self, session: &Session, env: &Env<'_>, object: Object<'_>) -> Option<u32> {
        let class = env.class_of(object).ok()?;
        let signature = session.jvmti.class_signature(class).ok()?;
        if signature.as_bytes() == b"[I" {
            // What the VM has threads wait for that want a class initialised.
            return Some(details::number(&session.arena, detail::LOCK, b"(class initialisation)", 0));
        }
        let identity = session.jvmti.object_hash_code(object).ok()?;
        let number = |identity| details::number(&session.arena, detail::LOCK, signature.as_bytes(), identity);
        let identity = u64::from(identity.cast_unsigned());
        if let Some(known) = details::known(detail::LOCK, signature.as_bytes(), identity) {
            return Some(known);
        }
        let is_one_more = self.identities.fetch_add(1, Ordering::Relaxed) < MOST_IDENTITIES;
        Some(number(if is_one_more { identity } else { 0 }))
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
        if let [lock, lock_count, wait, wait_count, blocked] = self.kind().metrics {
            // Everything is counted, but for what is shorter than the threshold.
            let declare = |metric, count| {
                metrics::declare(&session.arena, &Declared { count, ..Declared::of(metric, 0) })
            };
            self.lock.store(declare(lock, lock_count.name), Ordering::Release);
            self.wait.store(declare(wait, wait_count.name), Ordering::Release);
            self.blocked.store(declare(blocked, ""), Ordering::Release);
        }
        if let Some(event) = self.kind().events.first() {
            self.event.store(timeline::declare(&session.arena, event), Ordering::Release);
        }
        self.set(&options.chosen);
        self.on.store(true, Ordering::Release);
        if let Err(why) = parking::begin(session, env) {
            session.leave(b"locks of java.util.concurrent", &why);
        }
        EVENTS.iter().try_for_each(|&event| session.listen(Listener::Locks, event, true)).map_err(text)
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
            true => {
                self.set(chosen);
                Ok(())
            }
            false => Ok(()),
        }
    }

    fn stop(&self, session: &'static Session, env: &mut Env<'_>) -> Result<(), String> {
        if !self.on.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        parking::end(env);
        for event in EVENTS {
            // The VM knows the events: they were switched on.
            let _ = session.listen(Listener::Locks, event, false);
        }
        pending::clear();
        holders::clear();
        start::record(session, env, self.kind().name(), false, &session.options())
    }

    fn status(&self, _: &Session) -> Option<String> {
        self.is_on().then(|| self.threshold.load(Ordering::Acquire).to_string())
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
        let detail = self.detail(session, env, object).unwrap_or(0);
        let metric = self.wait.load(Ordering::Acquire);
        record::charge(now, here, Charge { metric, value, count: 1, detail });
    }
}
