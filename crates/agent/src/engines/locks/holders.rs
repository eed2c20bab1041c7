//! Who holds a lock that others wait for. To look that up may stop the holder for some microseconds, so it is done now and
//! then: what was waited for a lock since the last look is charged to the holder that is found.
//!
//! A thread that had to wait for the lock has told where it was when it got it. That is where it holds it, as long as it does.
//! Of another one the stack is walked; should it have let go of the lock meanwhile, it does not count.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, OnceLock};

use quipu_jvm::{Env, FieldId, Object, Thread};

use crate::locks::lock;
use crate::session::Session;
use crate::stacks::monotonic;
use crate::stacks::record::{self, Here};

/// Nanoseconds from one look to the next, for all locks: a hundred a second.
const EVERY: u64 = 10_000_000;

static LAST: AtomicU64 = AtomicU64::new(0);

/// What is known of a lock.
struct Contended {
    /// What was waited for it since its holder was looked up.
    owed: u64,
    /// Where the thread was that got it last, of those that waited.
    entered: Here,
}

static LOCKS: LazyLock<Mutex<HashMap<u32, Contended>>> = LazyLock::new(Mutex::default);

/// A thread has got a lock, for which it has waited so long.
pub fn entered(detail: u32, here: Here, nanos: u64) {
    let mut locks = lock(&LOCKS);
    let known = locks.entry(detail).or_insert(Contended { owed: 0, entered: here });
    *known = Contended { owed: known.owed.saturating_add(nanos), entered: here };
}

/// Nothing is known any more.
pub fn clear() {
    lock(&LOCKS).clear();
}

/// Where the lock is held that `waiter` is about to wait for, and what was waited for it; `None` if it is not yet time to
/// look, or nobody holds it.
pub fn look(
    session: &Session,
    env: &Env<'_>,
    waiter: Thread<'_>,
    object: Object<'_>,
    is_monitor: bool,
    detail: u32,
) -> Option<(Here, u64)> {
    let (owed, entered) = lock(&LOCKS).get(&detail).map(|known| (known.owed, known.entered))?;
    if owed == 0 {
        return None;
    }
    let (now, last) = (monotonic(), LAST.load(Ordering::Relaxed));
    if now.saturating_sub(last) < EVERY
        || LAST.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_err()
    {
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
    let here = if record::other(env, owner)?.0 == entered.thread {
        entered
    } else {
        let there = record::there(env, owner)?;
        // It may have let go of it meanwhile, and be elsewhere.
        look_up().filter(|&still| env.is_same(still, owner)).map(|_| there)?
    };
    if let Some(known) = lock(&LOCKS).get_mut(&detail) {
        known.owed = known.owed.saturating_sub(owed);
    }
    Some((here, owed))
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
