//! What survives: objects that the VM samples as they are made are watched until they are gone.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use quipu_arena::append::Sample;
use quipu_arena::layout::{detail, parts};
use quipu_jvm::{Capabilities, Capability, Env, sys};
use quipu_kinds::{Chosen, Kind};

use super::alloc::Weight;
use super::interval;
use crate::engine::{Engine, SampledObject};
use crate::events::Listener;
use crate::options::Options;
use crate::session::Session;
use crate::sites::lasting;
use crate::stacks::metrics::{self, Declared};
use crate::stacks::survivors::SURVIVORS;
use crate::stacks::{details, monotonic, record};
use crate::start;

/// Objects that are watched.
pub struct Live {
    /// Bytes from one sample to the next, on average, as was asked; 0 while nothing is watched.
    every: AtomicU64,
    metric: AtomicU16,
}

/// The only one.
pub static LIVE: Live = Live { every: AtomicU64::new(0), metric: AtomicU16::new(0) };

/// What the VM must tell of.
const EVENTS: [sys::jvmtiEvent; 2] =
    [sys::JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, sys::JVMTI_EVENT_GARBAGE_COLLECTION_FINISH];

impl Live {
    fn is_on(&self) -> bool {
        self.every.load(Ordering::Acquire) > 0
    }

    fn set(&self, session: &'static Session, chosen: &Chosen) -> Result<(), String> {
        let every = chosen.number(self.kind().name()).unwrap_or(0).clamp(1, i32::MAX as u64);
        interval::want(session, interval::Of::Live, every)?;
        if let [bytes, count, ..] = self.kind().metrics {
            let declared =
                Declared { count: count.name, parts: parts::AGE, ..Declared::of(bytes, interval::now()) };
            self.metric.store(metrics::declare(&session.arena, &declared), Ordering::Release);
        }
        self.every.store(every, Ordering::Release);
        Ok(())
    }
}

impl Engine for Live {
    fn kind(&self) -> &'static Kind {
        &quipu_kinds::LIVE
    }

    fn start(&self, session: &'static Session, env: &mut Env<'_>, options: &Options) -> Result<(), String> {
        let text = |e: quipu_jvm::Error| e.to_string();
        let sampled = Capability::CAN_GENERATE_SAMPLED_OBJECT_ALLOC_EVENTS;
        let needed = [sampled, Capability::CAN_GENERATE_GARBAGE_COLLECTION_EVENTS];
        let missing = session.jvmti.add_available_capabilities(&Capabilities::of(&needed)).map_err(text)?;
        if missing.contains(sampled) {
            return Err(
                "this JVM tells of no objects that are made: --live needs Java 11 or newer, and no other \
                        agent that samples them"
                    .to_owned(),
            );
        }
        start::record(session, env, self.kind().name(), true, options)?;
        session.note("kind", self.kind().name());
        if !self.is_on() {
            SURVIVORS.start(&session.arena);
        }
        self.set(session, &options.chosen)?;
        EVENTS.iter().try_for_each(|&event| session.listen(Listener::Survivors, event, true).map_err(text))
    }

    fn change(
        &self,
        session: &'static Session,
        _: &mut Env<'_>,
        name: &str,
        chosen: &Chosen,
    ) -> Result<(), String> {
        match name == self.kind().name() {
            true if !self.is_on() => Err("no objects are watched: start live first".to_owned()),
            true => self.set(session, chosen),
            false => Ok(()),
        }
    }

    fn stop(&self, session: &'static Session, env: &mut Env<'_>) -> Result<(), String> {
        if self.every.swap(0, Ordering::AcqRel) == 0 {
            return Ok(());
        }
        for event in EVENTS {
            // The VM knows the events: they were switched on.
            let _ = session.listen(Listener::Survivors, event, false);
        }
        let wanted = interval::want(session, interval::Of::Live, 0);
        SURVIVORS.stop(&session.arena, env);
        start::record(session, env, self.kind().name(), false, &session.options()).and(wanted)
    }

    fn status(&self, _: &Session) -> Option<String> {
        Some(self.every.load(Ordering::Acquire)).filter(|&every| every > 0).map(|every| every.to_string())
    }

    fn object_sampled(&self, env: &Env<'_>, made: &SampledObject<'_>) {
        let of = SURVIVORS.now();
        let (true, Some(session)) = (self.is_on(), Session::get()) else { return };
        let Some(here) = made.here(env) else { return };
        let Ok(signature) = session.jvmti.class_signature(made.class) else { return };
        let detail = details::number(&session.arena, detail::ALLOCATED, &lasting(signature.as_bytes()), 0);
        let time = monotonic();
        let stands_for = Weight::of(made.size, interval::now());
        let sample = Sample {
            time,
            value: stands_for.bytes,
            count: stands_for.count(time),
            context: here.context,
            thread: here.thread,
            labels: here.labels,
            metric: self.metric.load(Ordering::Acquire),
            detail,
            state: 0,
        };
        SURVIVORS.watch(&session.arena, env, made.object, of, &sample);
    }

    fn collection(&self, began: bool) {
        if !began && self.is_on() {
            SURVIVORS.collected();
            record::wake();
        }
    }

    fn upkeep(&self, env: &Env<'_>) {
        if let (true, Some(session)) = (self.is_on(), Session::get()) {
            SURVIVORS.look(&session.arena, env, false);
        }
    }

    fn vm_ends(&self, env: &mut Env<'_>) {
        if let (true, Some(session)) = (self.is_on(), Session::get()) {
            SURVIVORS.look(&session.arena, env, true);
        }
    }
}
