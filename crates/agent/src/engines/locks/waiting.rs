//! Threads that wait for a lock already when waits begin to be told: for the profile, they have waited since it began.
//!
//! Of one that waits for a monitor the VM tells when it has it. One that is parked is in the VM's function and not in ours, and comes back
//! from there unseen: its wait counts only if it still waits for the same lock in the end.

use std::collections::HashMap;

use quipu_jvm::{Env, Thread, sys};

use super::pending::{self, Pending};
use super::{What, holders, names, parking};
use crate::session::Session;
use crate::stacks::{monotonic, record};

/// Threads that are looked at; each is stopped for as long as its stack is walked.
const MOST: usize = 1000;

/// Looks who waits.
pub fn meet(session: &Session, env: &mut Env<'_>) {
    let _ = env.with_frame(16, |env| {
        for thread in session.jvmti.all_threads(env).unwrap_or_default().into_iter().take(MOST) {
            let _ = env.with_frame(16, |env| meet_one(session, env, thread));
        }
    });
    env.clear_exception();
}

fn meet_one(session: &Session, env: &mut Env<'_>, thread: Thread<'_>) -> Option<()> {
    let waits_in = |flag| session.jvmti.thread_state(Some(thread)).is_ok_and(|state| state & flag != 0);
    let (flag, what, object) = if waits_in(sys::JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER) {
        // HotSpot tells which one only to agents that have asked before the VM was up.
        (sys::JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER, What::Monitor, None)
    } else if waits_in(sys::JVMTI_THREAD_STATE_PARKED) {
        let (object, what) = parking::parks_for(env, thread).filter(|(_, what)| *what != What::Other)?;
        (sys::JVMTI_THREAD_STATE_PARKED, what, Some(object))
    } else {
        return None;
    };
    let here = record::there(env, thread)?;
    let detail = object.map_or(0, |object| names::of(session, env, object));
    let held = object
        .filter(|_| what != What::Ownerless)
        .and_then(|object| holders::look(session, env, thread, object, false, detail));
    let waits = Pending {
        here,
        is_fresh: true,
        pins: false,
        is_unseen: what != What::Monitor,
        detail,
        is_lock: true,
        held,
        attempt: 0,
        began: monotonic(),
    };
    pending::put(here.thread, waits);
    // It may have got it before anybody knew that it waits.
    if !waits_in(flag) {
        pending::take(here.thread, |_| false);
    }
    Some(())
}

/// The locks that threads are parked for, by thread.
pub fn parked(session: &Session, env: &mut Env<'_>) -> HashMap<u32, u32> {
    let parked = env.with_frame(16, |env| {
        let mut parked = HashMap::new();
        for thread in session.jvmti.all_threads(env).unwrap_or_default() {
            let found = env.with_frame(16, |env| {
                let state = session.jvmti.thread_state(Some(thread)).ok()?;
                let (object, _) = (state & sys::JVMTI_THREAD_STATE_PARKED != 0)
                    .then(|| parking::parks_for(env, thread))
                    .flatten()?;
                Some((record::other(env, thread)?.0, names::of(session, env, object)))
            });
            parked.extend(found.ok().flatten());
        }
        parked
    });
    env.clear_exception();
    parked.unwrap_or_default()
}
