//! The engine that CONTRIBUTING.md shows, so that it compiles. It is in no agent.
#![allow(dead_code, reason = "an example, of which only that it compiles is tested")]

use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use quipu_arena::layout::detail;
use quipu_jvm::{Class, Env, Thread, sys};
use quipu_kinds::{Chosen, Kind, TIMELINE};

use crate::engine::Engine;
use crate::events::Listener;
use crate::options::Options;
use crate::session::Session;
use crate::stacks::metrics::{self, Declared};
use crate::stacks::record::{self, Charge};
use crate::stacks::{details, monotonic};
use crate::start;

/// Stands for the declaration, which a test of `quipu-kinds` compiles.
static EXCEPTIONS: &Kind = &TIMELINE;
/// Stands for a place of its own.
const LISTENER: Listener = Listener::Timeline;

// What follows is in CONTRIBUTING.md, letter by letter.

/// Exceptions that are thrown, by class.
pub struct Exceptions {
    on: AtomicBool,
    metric: AtomicU16,
}

impl Engine for Exceptions {
    fn kind(&self) -> &'static Kind {
        EXCEPTIONS
    }

    fn start(&self, session: &'static Session, env: &mut Env<'_>, options: &Options) -> Result<(), String> {
        start::record(session, env, self.kind().name(), true, options)?;
        session.note("kind", self.kind().name());
        for metric in self.kind().metrics {
            let number = metrics::declare(&session.arena, &Declared::of(metric, 0));
            self.metric.store(number, Ordering::Release);
        }
        self.on.store(true, Ordering::Release);
        session.listen(LISTENER, sys::JVMTI_EVENT_EXCEPTION, true).map_err(|e| e.to_string())
    }

    fn change(&self, _: &'static Session, _: &mut Env<'_>, _: &str, _: &Chosen) -> Result<(), String> {
        Ok(())
    }

    fn stop(&self, session: &'static Session, env: &mut Env<'_>) -> Result<(), String> {
        if !self.on.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let silent = session.listen(LISTENER, sys::JVMTI_EVENT_EXCEPTION, false).map_err(|e| e.to_string());
        start::record(session, env, self.kind().name(), false, &session.options()).and(silent)
    }

    fn status(&self, _: &Session) -> Option<String> {
        self.on.load(Ordering::Acquire).then(String::new)
    }
}

impl Exceptions {
    /// The VM tells of an exception, on the thread that throws it.
    pub fn thrown(&self, env: &Env<'_>, thread: Thread<'_>, class: Class<'_>) {
        let (true, Some(session)) = (self.on.load(Ordering::Acquire), Session::get()) else { return };
        let Some(here) = record::here(env, thread) else { return };
        let Ok(class) = session.jvmti.class_signature(class) else { return };
        let detail = details::number(&session.arena, detail::OBJECT, class.as_bytes(), 0);
        let metric = self.metric.load(Ordering::Acquire);
        record::charge(monotonic(), here, Charge { metric, value: 1, count: 1, detail });
    }
}

#[test]
fn contributing_shows_this_engine() {
    let shown = include_str!("../../../../CONTRIBUTING.md");
    let engine = include_str!("example.rs").split("letter by letter.\n\n").nth(1).unwrap();
    let engine = engine.split("\n#[test]").next().unwrap();
    for line in engine.lines().filter(|line| !line.trim().is_empty()) {
        assert!(shown.contains(&format!("   {line}\n")), "CONTRIBUTING.md has not: {line}");
    }
}
