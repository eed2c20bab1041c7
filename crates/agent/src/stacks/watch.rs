//! A thread as its signal handler sees it: a place that is given to another thread when it has ended.
//!
//! Who the thread is stands in several words, and a handler may look while they are being changed on another processor. So
//! they have a version, which is odd meanwhile: what is read between two looks at the same even version belongs together.
//! A handler does not wait for the change to be done, since it may have interrupted the one who makes it. What is noted of
//! a thread later carries the thread's number, and means nothing to another one.

use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

use quipu_jvm::sys::JNIEnv;

use super::counters::Counters;
use super::kernel::Reader;
use super::memory::Zeroed;

/// Who a thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The kernel's id of it.
    pub tid: i32,
    /// Its environment; null if it is not Java's.
    pub env: *mut JNIEnv,
    /// The number it has in samples; no two threads have the same.
    pub id: u32,
}

/// A place for a thread.
pub struct Watch {
    version: AtomicU32,
    tid: AtomicI32,
    env: AtomicPtr<JNIEnv>,
    id: AtomicU32,
    /// The thread of which there is a sample.
    sampled: AtomicU32,
    /// Where the wall clock saw it last, which thread that was (it may carry a virtual one), and what that clock wants a sample for.
    last_context: Stamped,
    last_thread: Stamped,
    wall_due: Stamped,
    /// The period that its clock is to have when the first is over.
    period: Stamped,
    /// What the kernel wrote of itself.
    kernel: Reader,
    /// What is counted of the thread.
    counters: Counters,
    /// Stacks that were taken of it for that.
    stacks: AtomicU32,
}

// SAFETY: atomics.
unsafe impl Zeroed for Watch {}

impl Watch {
    /// Who is watched here; `None` if nobody is, or if that is just changing. For signal handlers.
    pub fn identity(&self) -> Option<Identity> {
        let version = self.version.load(Ordering::Acquire);
        let identity = Identity {
            tid: self.tid.load(Ordering::Relaxed),
            env: self.env.load(Ordering::Relaxed),
            id: self.id.load(Ordering::Relaxed),
        };
        fence(Ordering::Acquire);
        let same = version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version;
        (same && identity.tid != 0).then_some(identity)
    }

    /// The thread with this id of the kernel's, if it is the one that is watched here. For signal handlers.
    pub fn of(&self, tid: i32) -> Option<Identity> {
        self.identity().filter(|identity| identity.tid == tid)
    }

    /// From now on this thread is watched here, or none. For one at a time.
    pub fn set(&self, identity: Option<Identity>) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        let nobody = Identity { tid: 0, env: std::ptr::null_mut(), id: 0 };
        let Identity { tid, env, id } = identity.unwrap_or(nobody);
        self.tid.store(tid, Ordering::Relaxed);
        self.env.store(env, Ordering::Relaxed);
        self.id.store(id, Ordering::Relaxed);
        self.stacks.store(0, Ordering::Relaxed);
        self.version.store(version.wrapping_add(2), Ordering::Release);
    }

    /// What the kernel wrote of itself when the clock ran out.
    pub fn kernel(&self) -> &Reader {
        &self.kernel
    }

    /// What is counted of the thread.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The number of one more stack of it, from 0.
    pub fn next_stack(&self) -> u32 {
        self.stacks.fetch_add(1, Ordering::Relaxed)
    }

    /// Which thread the wall clock saw here last, this one or a virtual one that it carried, and where.
    pub fn last_seen(&self, id: u32) -> Option<(u32, u32)> {
        Some((self.last_thread.get(id)? as u32, self.last_context.get(id)? as u32))
    }

    /// The wall clock has seen the thread, or a virtual one that it carries, here.
    pub fn set_last_seen(&self, id: u32, thread: u32, context: u32) {
        self.last_thread.put(id, thread.into());
        self.last_context.put(id, context.into());
    }

    /// The thread is about to be sent a signal to take a sample of so many nanoseconds.
    pub fn set_wall_due(&self, id: u32, nanos: u64) {
        self.wall_due.put(id, nanos);
    }

    /// What a sample of the thread was asked for, once.
    pub fn take_wall_due(&self, id: u32) -> u64 {
        self.wall_due.take(id).unwrap_or(0)
    }

    /// The thread's clock has begun with another period than it is to have.
    pub fn set_period(&self, id: u32, nanos: u64) {
        self.period.put(id, nanos);
    }

    /// The period that the thread's clock is to have, if it does not have it yet; once.
    pub fn take_period(&self, id: u32) -> Option<u64> {
        self.period.take(id)
    }

    /// There is a sample of the thread: its name must be told.
    pub fn mark_sampled(&self, id: u32) {
        if self.sampled.load(Ordering::Relaxed) != id {
            self.sampled.store(id, Ordering::Relaxed);
        }
    }

    /// Whether there is a sample of the thread.
    pub fn is_sampled(&self, id: u32) -> bool {
        self.sampled.load(Ordering::Relaxed) == id
    }
}

/// A number that is one thread's: the lower bits of the thread's number are beside it. 0 is none.
struct Stamped(AtomicU64);

impl Stamped {
    /// Bits of the number: 18 minutes of nanoseconds.
    const BITS: u32 = 40;
    const MOST: u64 = (1 << Self::BITS) - 1;

    fn put(&self, id: u32, value: u64) {
        self.0.store(u64::from(id) << Self::BITS | value.min(Self::MOST), Ordering::Release);
    }

    fn get(&self, id: u32) -> Option<u64> {
        Self::of(id, self.0.load(Ordering::Acquire))
    }

    fn take(&self, id: u32) -> Option<u64> {
        let word = self.0.load(Ordering::Acquire);
        let value = Self::of(id, word)?;
        self.0.compare_exchange(word, 0, Ordering::AcqRel, Ordering::Relaxed).ok().map(|_| value)
    }

    fn of(id: u32, word: u64) -> Option<u64> {
        let value = word & Self::MOST;
        (word >> Self::BITS == u64::from(id) << Self::BITS >> Self::BITS && value != 0).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::memory::reserve;
    use std::sync::atomic::AtomicBool;

    fn somebody(n: u32) -> Identity {
        Identity { tid: n.cast_signed(), env: std::ptr::without_provenance_mut(n as usize * 16), id: n + 7 }
    }

    #[test]
    fn what_is_read_of_a_thread_belongs_together_while_places_change_hands() {
        let [watch] = reserve::<Watch>(1).unwrap() else { panic!("one") };
        assert_eq!(watch.identity(), None);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Until it has seen others so often that the two were at it at the same time.
                let (mut changes, mut last) = (0, 0);
                while changes < 2000 {
                    if let Some(found) = watch.identity() {
                        let whole = found == somebody(found.tid.cast_unsigned());
                        done.fetch_or(!whole, Ordering::Relaxed);
                        assert!(whole, "{found:?}");
                        changes += u32::from(std::mem::replace(&mut last, found.id) != found.id);
                    }
                }
                done.store(true, Ordering::Relaxed);
            });
            for n in (1..1000).cycle() {
                watch.set(Some(somebody(n)));
                (0..n % 64).for_each(|_| std::hint::spin_loop());
                if done.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        watch.set(Some(somebody(1000)));
        watch.version.fetch_add(1, Ordering::Relaxed);
        assert_eq!(watch.identity(), None, "it is just changing");
        watch.version.fetch_add(1, Ordering::Relaxed);
        assert_eq!(watch.of(1000), Some(somebody(1000)));
        assert_eq!(watch.of(999), None);
        watch.set(None);
        assert_eq!(watch.identity(), None);
    }

    #[test]
    fn what_was_noted_of_one_thread_means_nothing_to_the_next() {
        let [watch] = reserve::<Watch>(1).unwrap() else { panic!("one") };
        watch.set_last_seen(1, 3, 17);
        watch.set_wall_due(1, u64::MAX);
        watch.mark_sampled(1);
        assert_eq!((watch.last_seen(2), watch.take_wall_due(2), watch.is_sampled(2)), (None, 0, false));
        assert_eq!((watch.last_seen(1), watch.is_sampled(1)), (Some((3, 17)), true));
        assert_eq!((watch.take_wall_due(1), watch.take_wall_due(1)), (Stamped::MOST, 0));
    }
}
