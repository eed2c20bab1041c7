//! Who holds a lock that others wait for. To look that up may stop the program for some microseconds, so it is done at the first
//! wait for a lock, and now and then: what was waited for a lock since the last look is charged to the holder that is found,
//! when the wait that looked has ended. What is owed in the end is charged to the holder that was found last.
//!
//! A thread that had to wait for the lock has told where it was when it got it. That is where it holds it, as long as it does.
//! Of another one the stack is walked; should it have let go of the lock meanwhile, it does not count.
//!
//! Threads that have just got a lock write here, and others wait for them: so nothing here waits for anybody.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use quipu_jvm::{Env, FieldId, Object, Thread};

use crate::session::Session;
use crate::stacks::monotonic;
use crate::stacks::record::{self, Here};

/// Nanoseconds from one look to the next, for all locks: a hundred a second.
const EVERY: u64 = 10_000_000;
/// The same for first looks at locks, of which a hundred may come at once.
const FIRST: u64 = 2_000_000;
const AT_ONCE: u64 = 100;

static LAST: AtomicU64 = AtomicU64::new(0);
/// When all first looks that were taken so far would have been, one [`FIRST`] after the other.
static FIRSTS: AtomicU64 = AtomicU64::new(0);

/// Whether it is time to look at a lock, for the first time or again.
fn is_time(is_first: bool, now: u64) -> bool {
    let (at, next) = if is_first {
        let at = FIRSTS.load(Ordering::Relaxed);
        let next = at.max(now).saturating_add(FIRST);
        (at, Some(next).filter(|next| next - now <= AT_ONCE * FIRST))
    } else {
        let at = LAST.load(Ordering::Relaxed);
        (at, Some(now).filter(|now| now.saturating_sub(at) >= EVERY))
    };
    let clock = if is_first { &FIRSTS } else { &LAST };
    next.is_some_and(|next| clock.compare_exchange(at, next, Ordering::Relaxed, Ordering::Relaxed).is_ok())
}

/// Locks that holders are known of, at the most; a power of two. Of others they are not.
const LOCKS: usize = 1 << 14;
/// Places that are looked at for a lock.
const PROBES: usize = 8;

/// Where a thread is, as words that are written one after the other: two writers may leave the labels of one with the context of
/// the other, which does no harm.
struct Place {
    /// Context and thread; 0 for none.
    here: AtomicU64,
    labels: AtomicU32,
}

impl Place {
    const fn none() -> Place {
        Place { here: AtomicU64::new(0), labels: AtomicU32::new(0) }
    }

    fn set(&self, here: Here) {
        self.labels.store(here.labels, Ordering::Relaxed);
        self.here.store(u64::from(here.context) << 32 | u64::from(here.thread), Ordering::Release);
    }

    fn get(&self) -> Option<Here> {
        let here = self.here.load(Ordering::Acquire);
        let labels = self.labels.load(Ordering::Relaxed);
        (here != 0).then_some(Here { context: (here >> 32) as u32, thread: here as u32, labels })
    }
}

/// What is known of a lock.
struct Contended {
    /// The number of its name; 0 while the place is free.
    detail: AtomicU32,
    /// What was waited for it since its holder was looked up.
    owed: AtomicU64,
    /// Where the thread was that got it last, of those that waited.
    entered: Place,
    /// Where it was held when that was looked up last.
    held: Place,
}

static TABLE: [Contended; LOCKS] = [const {
    Contended {
        detail: AtomicU32::new(0),
        owed: AtomicU64::new(0),
        entered: Place::none(),
        held: Place::none(),
    }
}; LOCKS];

/// The place of a lock, made if there is room.
fn of(detail: u32) -> Option<&'static Contended> {
    if detail == 0 {
        return None;
    }
    let first = (detail.wrapping_mul(0x9e37_79b1) >> 18) as usize;
    (0..PROBES).filter_map(|probe| TABLE.get((first + probe) % LOCKS)).find(|place| {
        let taken = place.detail.compare_exchange(0, detail, Ordering::AcqRel, Ordering::Acquire);
        taken.is_ok() || taken == Err(detail)
    })
}

/// A thread has got a lock, for which it has waited so long. What is to be charged to where the lock was held, if that was looked up.
pub fn entered(detail: u32, here: Here, nanos: u64, held: Option<Here>) -> Option<(Here, u64)> {
    let known = of(detail)?;
    known.entered.set(here);
    match held {
        Some(held) => Some((held, known.owed.swap(0, Ordering::AcqRel).saturating_add(nanos))),
        None => {
            known.owed.fetch_add(nanos, Ordering::AcqRel);
            None
        }
    }
}

/// What is owed as yet, with the holder that was found last, if there was one; nothing is, from now on.
pub fn settle(mut charge: impl FnMut(Here, u32, u64)) {
    for known in &TABLE {
        let owed = known.owed.swap(0, Ordering::AcqRel);
        if let Some(held) = known.held.get().filter(|_| owed > 0) {
            charge(held, known.detail.load(Ordering::Acquire), owed);
        }
    }
}

/// Nothing is known any more.
pub fn clear() {
    for known in &TABLE {
        known.owed.store(0, Ordering::Relaxed);
        known.entered.here.store(0, Ordering::Relaxed);
        known.held.here.store(0, Ordering::Relaxed);
        known.detail.store(0, Ordering::Release);
    }
}

/// Where the lock is held that `waiter` is about to wait for; `None` if it is not yet time to look, or nobody holds it.
pub fn look(
    session: &Session,
    env: &Env<'_>,
    waiter: Thread<'_>,
    object: Object<'_>,
    is_monitor: bool,
    detail: u32,
) -> Option<Here> {
    let known = of(detail)?;
    if !is_time(known.held.get().is_none(), monotonic()) {
        return None;
    }
    let look_up = || {
        if is_monitor {
            session.jvmti.monitor_owner(env, object).ok()?
        } else {
            owner_of_synchronizer(env, object)
        }
    };
    let owner = look_up().filter(|&owner| !env.is_same(owner, waiter))?;
    let entered = known.entered.get();
    let who = record::other(env, owner)?.0;
    let here = match entered.filter(|entered| entered.thread == who) {
        Some(entered) => entered,
        None => {
            let there = record::there(env, owner)?;
            // It may have let go of it meanwhile, and be elsewhere.
            look_up().filter(|&still| env.is_same(still, owner)).map(|_| there)?
        }
    };
    known.held.set(here);
    Some(here)
}

/// The thread that has a lock of `java.util.concurrent` for itself.
fn owner_of_synchronizer<'e>(env: &Env<'e>, object: Object<'_>) -> Option<Thread<'e>> {
    static OWNER: OnceLock<Option<FieldId>> = OnceLock::new();
    let field = || {
        let class = env.find_class(c"java/util/concurrent/locks/AbstractOwnableSynchronizer").ok()?;
        env.field(class, c"exclusiveOwnerThread", c"Ljava/lang/Thread;").ok()
    };
    let field = (*OWNER.get_or_init(field))?;
    // SAFETY: a synchronizer has the field, which holds a thread.
    unsafe { env.object_field(object, field).map(|thread| thread.cast()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(context: u32) -> Here {
        Here { context, thread: 7, labels: 3 }
    }

    #[test]
    fn looks_are_bounded() {
        let start = 1 << 40;
        let at = |i: u64| start + i * 1000;
        // A hundred thousand waits for new locks within a tenth of a second, and as many for known ones.
        let first = (0..100_000).filter(|&i| is_time(true, at(i))).count();
        let again = (0..100_000).filter(|&i| is_time(false, at(i))).count();
        assert!((140..=160).contains(&first) && (9..=11).contains(&again), "{first} and {again}");
    }

    /// The first wait finds a holder and is charged to it; later ones are owed to the next that is found, or to the last.
    #[test]
    fn every_wait_is_charged_to_a_holder() {
        clear();
        assert_eq!(entered(11, at(1), 100, Some(at(2))), Some((at(2), 100)));
        of(11).unwrap().held.set(at(2));
        assert_eq!(entered(11, at(1), 30, None), None);
        assert_eq!(entered(11, at(1), 5, Some(at(3))), Some((at(3), 35)));
        assert_eq!(entered(11, at(1), 40, None), None);
        assert_eq!(entered(12, at(1), 40, None), None);
        let mut left = Vec::new();
        settle(|held, detail, owed| left.push((held, detail, owed)));
        assert_eq!(left, [(at(2), 11, 40)], "and nothing is known of who held the other");
        clear();
    }
}
