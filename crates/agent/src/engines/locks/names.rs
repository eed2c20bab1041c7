//! What locks are called: the class, and which one of it.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use quipu_arena::layout::detail;
use quipu_jvm::{Env, Object};

use crate::session::Session;
use crate::stacks::details;

/// Locks that are told apart at the most; others of a class are one.
const MOST_IDENTITIES: u32 = 10_000;

/// Those that there are in this profile.
static IDENTITIES: AtomicU32 = AtomicU32::new(0);

/// Which profile it is: what threads remember of another one is not so any more.
static PROFILE: AtomicU32 = AtomicU32::new(0);

/// A lock that a thread has waited for.
#[derive(Clone, Copy)]
struct Remembered {
    profile: u32,
    identity: u32,
    detail: u32,
}

/// Locks that a thread remembers, by the lowest bits of their identities.
const REMEMBERED: usize = 16;

thread_local! {
    static LATELY: [Cell<Remembered>; REMEMBERED] =
        const { [const { Cell::new(Remembered { profile: 0, identity: 0, detail: 0 }) }; REMEMBERED] };
}

/// A profile begins: it has no locks yet.
pub fn begin() {
    IDENTITIES.store(0, Ordering::Relaxed);
    PROFILE.fetch_add(1, Ordering::Relaxed);
}

/// The number of what a lock is called; 0 if it has none.
pub fn of(session: &Session, env: &Env<'_>, object: Object<'_>) -> u32 {
    let Ok(identity) = session.jvmti.object_hash_code(object) else { return 0 };
    let (identity, profile) = (identity.cast_unsigned(), PROFILE.load(Ordering::Relaxed));
    // Two locks of one thread with the same hash code, out of 2^31, are one here.
    let place = identity as usize % REMEMBERED;
    let known = LATELY.with(|lately| lately.get(place).map(Cell::get));
    if let Some(known) = known.filter(|known| (known.profile, known.identity) == (profile, identity)) {
        return known.detail;
    }
    let detail = told(session, env, object, identity).unwrap_or(0);
    LATELY.with(|lately| {
        if let Some(place) = lately.get(place) {
            place.set(Remembered { profile, identity, detail });
        }
    });
    detail
}

/// Whether an array has no elements, as that of the VM; a program that locks an array hardly does so with an empty one.
fn is_empty(env: &Env<'_>, array: Object<'_>) -> bool {
    // SAFETY: it is an array, of which only the length is asked for.
    env.array_length(unsafe { array.cast() }) == 0
}

fn told(session: &Session, env: &Env<'_>, object: Object<'_>, identity: u32) -> Option<u32> {
    let class = env.class_of(object).ok()?;
    let signature = session.jvmti.class_signature(class).ok()?;
    let number = |name: &[u8], identity| details::number(&session.arena, detail::LOCK, name, identity);
    if signature.as_bytes() == b"[I" && is_empty(env, object) {
        // What the VM has threads wait for that want a class initialised.
        return Some(number(b"(class initialisation)", 0));
    }
    let identity = u64::from(identity);
    if let Some(known) = details::known(detail::LOCK, signature.as_bytes(), identity) {
        return Some(known);
    }
    let is_one_more = IDENTITIES.fetch_add(1, Ordering::Relaxed) < MOST_IDENTITIES;
    Some(number(signature.as_bytes(), if is_one_more { identity } else { 0 }))
}
