//! What took place when: pauses of the collector, threads, classes. Events of the VM, written down.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use quipu_arena::append::Event;
use quipu_arena::layout::detail;
use quipu_jvm::{Class, Env, Thread, sys};
use quipu_kinds::{Chosen, Kind};

use crate::engine::Engine;
use crate::events::Listener;
use crate::options::Options;
use crate::session::Session;
use crate::stacks::{details, monotonic, record, timeline};
use crate::start;

/// Events of the VM, written down.
pub struct Timeline {
    on: AtomicBool,
    /// When the collector stopped the program.
    paused: AtomicU64,
    /// The numbers that the arena has for the events of the kind.
    kinds: [AtomicU32; EVENT_KINDS],
}

/// The only one.
pub static TIMELINE: Timeline = Timeline {
    on: AtomicBool::new(false),
    paused: AtomicU64::new(0),
    kinds: [const { AtomicU32::new(0) }; EVENT_KINDS],
};

/// What the VM must tell of. Threads and classes are told for stacks already.
const EVENTS: [sys::jvmtiEvent; 2] =
    [sys::JVMTI_EVENT_GARBAGE_COLLECTION_START, sys::JVMTI_EVENT_GARBAGE_COLLECTION_FINISH];

/// Places of events in the declaration.
const EVENT_KINDS: usize = 4;
const PAUSE: usize = 0;
const THREAD_START: usize = 1;
const THREAD_END: usize = 2;
const CLASS_LOAD: usize = 3;

impl Timeline {
    fn is_on(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }

    fn number(&self, kind: usize) -> u32 {
        self.kinds.get(kind).map_or(0, |number| number.load(Ordering::Acquire))
    }

    fn instant(&self, env: &Env<'_>, thread: Thread<'_>, kind: usize, detail: u32) {
        if let Some(here) = record::here(env, thread) {
            let kind = self.number(kind);
            record::event(Some(here), Event { time: monotonic(), kind, detail, ..Event::default() });
        }
    }
}

impl Engine for Timeline {
    fn kind(&self) -> &'static Kind {
        &quipu_kinds::TIMELINE
    }

    fn start(&self, session: &'static Session, env: &mut Env<'_>, options: &Options) -> Result<(), String> {
        let text = |e: quipu_jvm::Error| e.to_string();
        let needed = [quipu_jvm::Capability::CAN_GENERATE_GARBAGE_COLLECTION_EVENTS];
        let needed = quipu_jvm::Capabilities::of(&needed);
        session.jvmti.add_available_capabilities(&needed).map_err(text)?;
        for (event, number) in self.kind().events.iter().zip(&self.kinds) {
            number.store(timeline::declare(&session.arena, event), Ordering::Release);
        }
        start::record(session, env, self.kind().name(), true, options)?;
        session.note("kind", self.kind().name());
        self.on.store(true, Ordering::Release);
        let listen = |&event| session.listen(Listener::Timeline, event, true).map_err(text);
        EVENTS.iter().try_for_each(listen)
    }

    fn change(&self, _: &'static Session, _: &mut Env<'_>, _: &str, _: &Chosen) -> Result<(), String> {
        Ok(())
    }

    fn stop(&self, session: &'static Session, env: &mut Env<'_>) -> Result<(), String> {
        if !self.on.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        for event in EVENTS {
            // The VM knows the events: they were switched on.
            let _ = session.listen(Listener::Timeline, event, false);
        }
        start::record(session, env, self.kind().name(), false, &session.options())
    }

    fn status(&self, _: &Session) -> Option<String> {
        self.is_on().then(String::new)
    }

    fn thread_began(&self, env: &Env<'_>, thread: Thread<'_>) {
        if self.is_on() {
            self.instant(env, thread, THREAD_START, 0);
        }
    }

    fn thread_ended(&self, env: &Env<'_>, thread: Thread<'_>) {
        if self.is_on() {
            self.instant(env, thread, THREAD_END, 0);
        }
    }

    fn class_loaded(&self, env: &Env<'_>, thread: Thread<'_>, class: Class<'_>) {
        let (true, Some(session)) = (self.is_on(), Session::get()) else { return };
        let Ok(signature) = session.jvmti.class_signature(class) else { return };
        let detail = details::number(&session.arena, detail::CLASS, signature.as_bytes(), 0);
        self.instant(env, thread, CLASS_LOAD, detail);
    }

    fn collection(&self, began: bool) {
        if began {
            self.paused.store(monotonic(), Ordering::Release);
            return;
        }
        let time = self.paused.swap(0, Ordering::AcqRel);
        if time != 0 && self.is_on() {
            let duration = monotonic().saturating_sub(time);
            record::event(None, Event { time, duration, kind: self.number(PAUSE), ..Event::default() });
        }
    }
}
