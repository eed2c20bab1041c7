//! What took place when: pauses of the collector, threads, classes. Events of the VM, written down; and pauses of the VM, of which it
//! tells nobody, by the counters that it keeps ([`safepoints`]).
//!
//! A class is loaded from the moment in which the VM has its bytes (before that its loader looks for them, which is the program's
//! own code) to the one in which it is there. Its superclass may be loaded meanwhile.

mod safepoints;

use std::cell::RefCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use quipu_arena::append::Event;
use quipu_arena::layout::detail;
use quipu_jvm::hotspot::{HeapUse, Library, Structs};
use quipu_jvm::{Class, Env, Thread, sys};
use quipu_kinds::{Chosen, Kind};

use crate::engine::Engine;
use crate::events::Listener;
use crate::options::Options;
use crate::session::Session;
use crate::sites::lasting;
use crate::stacks::{self, details, monotonic, record, timeline};
use crate::start;

/// Events of the VM, written down.
pub struct Timeline {
    on: AtomicBool,
    /// When the collector stopped the program, and how much of the heap was in use.
    paused: AtomicU64,
    before: AtomicU64,
    /// How much was in use after the last pause, and what threads had allocated by then.
    after: AtomicU64,
    allocated: AtomicU64,
    /// The VM's counters of that, if it has some.
    heap: OnceLock<Option<HeapUse>>,
    /// The numbers that the arena has for the events of the kind.
    kinds: [AtomicU32; EVENT_KINDS],
}

/// The only one.
pub static TIMELINE: Timeline = Timeline {
    on: AtomicBool::new(false),
    paused: AtomicU64::new(0),
    before: AtomicU64::new(0),
    after: AtomicU64::new(0),
    allocated: AtomicU64::new(0),
    heap: OnceLock::new(),
    kinds: [const { AtomicU32::new(0) }; EVENT_KINDS],
};

/// What the VM must tell of. Threads and classes are told for stacks already.
const EVENTS: [sys::jvmtiEvent; 3] = [
    sys::JVMTI_EVENT_GARBAGE_COLLECTION_START,
    sys::JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
    sys::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
];

/// Of what threads have allocated.
const UNKNOWN: u64 = u64::MAX;

/// Places of events in the declaration.
const EVENT_KINDS: usize = 6;
const PAUSE: usize = 0;
const THREAD_START: usize = 1;
const THREAD_END: usize = 2;
const CLASS_LOAD: usize = 3;
const SAFEPOINT: usize = 4;

/// Classes that a thread may be loading, one because of the other.
const LOADING: usize = 64;

thread_local! {
    /// Classes that the thread is loading: their names, if they are known, and since when.
    static LOADS: RefCell<Vec<(Vec<u8>, u64)>> = const { RefCell::new(Vec::new()) };
}

/// Since when the thread has been loading a class of which it has the signature.
fn loading_since(signature: &[u8]) -> Option<u64> {
    let name = signature.strip_prefix(b"L").and_then(|name| name.strip_suffix(b";"))?;
    LOADS.with(|loads| {
        let mut loads = loads.try_borrow_mut().ok()?;
        let at = loads.iter().rposition(|(known, _)| known.is_empty() || known == name)?;
        let since = loads.get(at).map(|&(_, since)| since);
        // Those behind it came to nothing.
        loads.truncate(at);
        since
    })
}

impl Timeline {
    fn is_on(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }

    fn number(&self, kind: usize) -> u32 {
        self.kinds.get(kind).map_or(0, |number| number.load(Ordering::Acquire))
    }

    /// Bytes of the heap in use. Read from memory: the VM can be asked nothing while it collects.
    fn heap_in_use(&self) -> u64 {
        self.heap.get().and_then(Option::as_ref).map_or(0, HeapUse::bytes)
    }

    /// The same when a pause begins. Some counters are not brought up to date until it ends, but what threads have allocated
    /// since the last one is known.
    fn heap_before_pause(&self) -> u64 {
        let counted = self.heap_in_use();
        let now = stacks::allocated_at_pause().unwrap_or(UNKNOWN);
        match self.allocated.swap(now, Ordering::AcqRel) {
            UNKNOWN => counted,
            _ if now == UNKNOWN => counted,
            before => {
                let since = now.saturating_sub(before);
                counted.max(self.after.load(Ordering::Acquire).saturating_add(since))
            }
        }
    }

    fn instant(&self, env: &Env<'_>, thread: Thread<'_>, kind: usize, detail: u32) {
        if let Some(here) = record::here(env, thread) {
            let kind = self.number(kind);
            record::event(Some(here), Event { time: monotonic(), kind, detail, ..Event::default() });
        }
    }
}

/// The number of what a class's loader is called.
fn loader(session: &Session, env: &Env<'_>, class: Class<'_>) -> u32 {
    let arena = &session.arena;
    let named = || {
        let loader = session.jvmti.class_loader(env, class).ok()??;
        let signature = session.jvmti.class_signature(env.class_of(loader).ok()?).ok()?;
        let identity = session.jvmti.object_hash_code(loader).ok()?;
        let identity = u64::from(identity.cast_unsigned());
        Some(details::number(arena, detail::OBJECT, signature.as_bytes(), identity))
    };
    named().unwrap_or_else(|| details::number(arena, detail::NAME, b"boot loader", 0))
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
        let counters = || Library::of(session.vm).and_then(Structs::of).as_ref().and_then(HeapUse::of);
        let counted = self.heap.get_or_init(counters).is_some();
        for (event, number) in self.kind().events.iter().zip(&self.kinds) {
            // A number that is not known is not told.
            let values = if counted { event.values } else { [""; 2] };
            let event = quipu_kinds::Event { values, ..*event };
            number.store(timeline::declare(&session.arena, &event), Ordering::Release);
        }
        start::record(session, env, self.kind().name(), true, options)?;
        session.note("kind", self.kind().name());
        self.after.store(self.heap_in_use(), Ordering::Release);
        self.allocated.store(stacks::allocated().unwrap_or(UNKNOWN), Ordering::Release);
        self.on.store(true, Ordering::Release);
        let listen = |&event| session.listen(Listener::Timeline, event, true).map_err(text);
        EVENTS.iter().try_for_each(listen)?;
        if let Err(why) = safepoints::watch(session, env) {
            session.leave(b"pauses of the VM", &why);
        }
        Ok(())
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
        safepoints::end(session);
        start::record(session, env, self.kind().name(), false, &session.options())
    }

    fn vm_ends(&self, _: &mut Env<'_>) {
        if let (true, Some(session)) = (self.is_on(), Session::get()) {
            safepoints::end(session);
        }
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

    fn class_file(&self, name: Option<&[u8]>) {
        if self.is_on() {
            let load = (name.unwrap_or_default().to_vec(), monotonic());
            LOADS.with(|loads| {
                if let Ok(mut loads) = loads.try_borrow_mut()
                    && loads.len() < LOADING
                {
                    loads.push(load);
                }
            });
        }
    }

    fn class_loaded(&self, env: &Env<'_>, thread: Thread<'_>, class: Class<'_>) {
        let (true, Some(session)) = (self.is_on(), Session::get()) else { return };
        let now = monotonic();
        let Ok(signature) = session.jvmti.class_signature(class) else { return };
        let detail = details::number(&session.arena, detail::CLASS, &lasting(signature.as_bytes()), 0);
        let since = loading_since(signature.as_bytes()).unwrap_or(now);
        let Some(here) = record::here(env, thread) else { return };
        let (kind, duration) = (self.number(CLASS_LOAD), now.saturating_sub(since));
        let values = [u64::from(loader(session, env, class)), 0];
        record::event(Some(here), Event { time: since, duration, kind, detail, values, ..Event::default() });
    }

    fn collection(&self, began: bool) {
        if began {
            self.before.store(self.heap_before_pause(), Ordering::Release);
            self.paused.store(monotonic(), Ordering::Release);
            return;
        }
        let time = self.paused.swap(0, Ordering::AcqRel);
        if time != 0 && self.is_on() {
            let duration = monotonic().saturating_sub(time);
            let after = self.heap_in_use();
            self.after.store(after, Ordering::Release);
            let values = [self.before.load(Ordering::Acquire), after];
            record::event(
                None,
                Event { time, duration, values, kind: self.number(PAUSE), ..Event::default() },
            );
        }
    }
}
