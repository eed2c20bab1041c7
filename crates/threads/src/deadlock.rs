//! Threads that wait for each other in a circle, through monitors, locks of `java.util.concurrent`, or both; and threads that
//! wait for a lock that nobody can give them.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::{Dump, How, Lock, Thread};

/// A circle: each thread waits for the next one, and the last for the first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Deadlock<'d> {
    /// The threads, and what each waits for.
    pub circle: Vec<(&'d Thread, &'d Lock)>,
}

/// A thread that waits for a lock that no live thread holds. That may be so for a moment, when it is just handed on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Orphaned<'d> {
    /// The thread that waits.
    pub thread: &'d Thread,
    /// What for.
    pub lock: &'d Lock,
}

/// All circles, each once, beginning with the thread that comes first in the dump.
pub fn find(dump: &Dump) -> Vec<Deadlock<'_>> {
    let owners = owners(dump);
    // At most one step from each thread: so circles have nothing in common.
    let next = |at: usize| {
        let thread = dump.threads.get(at)?;
        let lock = wanted(thread)?;
        owners.get(&key(lock)).map(|&owner| (owner, lock))
    };
    let mut seen: HashSet<usize> = HashSet::new();
    let mut found = Vec::new();
    for first in 0..dump.threads.len() {
        let mut path: Vec<usize> = Vec::new();
        let mut at = first;
        while seen.insert(at) {
            path.push(at);
            match next(at) {
                Some((owner, _)) => at = owner,
                None => break,
            }
        }
        // Back to a thread of this very path: from there on it is a circle.
        let Some(start) = path.iter().position(|&on_path| on_path == at) else { continue };
        if next(at).is_none() {
            continue;
        }
        let circle = path.get(start..).unwrap_or_default().iter();
        let circle: Vec<_> = circle.filter_map(|&at| Some((dump.threads.get(at)?, next(at)?.1))).collect();
        found.push(Deadlock { circle });
    }
    found
}

/// Threads that wait for a lock which always has one owner, and has none of the dump's threads.
///
/// Monitors are not among them: a thread cannot end with one, and those that native code and the VM itself have entered are
/// in no dump.
pub fn orphaned(dump: &Dump) -> Vec<Orphaned<'_>> {
    let owners = owners(dump);
    let waits = dump.threads.iter().filter_map(|thread| Some((thread, wanted(thread)?)));
    let orphaned = waits.filter(|(_, lock)| is_exclusive(&lock.class) && !owners.contains_key(&key(lock)));
    orphaned.map(|(thread, lock)| Orphaned { thread, lock }).collect()
}

/// What is known of the owner of a lock that nobody holds in a dump of platform threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// It has ended.
    Ended,
    /// It lives, or there is none just now.
    Lives,
    /// A virtual thread may be it: this JVM does not tell.
    MayBeVirtual,
}

/// What is said of the owner in what the JVM has written of all its threads, which are more than the `platform` ones of a dump.
pub fn owner(orphan: &Orphaned<'_>, platform: &Dump, written: &Dump) -> Owner {
    let known: HashSet<Option<u64>> = platform.threads.iter().map(|thread| thread.id).collect();
    if !written.threads.iter().any(|thread| thread.is_virtual && !known.contains(&thread.id)) {
        return Owner::Ended;
    }
    let Some(waiter) = written.threads.iter().find(|thread| thread.id == orphan.thread.id) else {
        return Owner::Lives;
    };
    match waiter.waits_for.as_ref().map(|wait| wait.owner) {
        // Versions that tell of states tell what is waited for, too: it does not wait any more.
        None if !waiter.state.is_empty() => Owner::Lives,
        Some(Some(owner)) if written.threads.iter().any(|thread| thread.id == Some(owner)) => Owner::Lives,
        Some(Some(_)) => Owner::Ended,
        None | Some(None) => Owner::MayBeVirtual,
    }
}

/// Whether a synchronizer always has one owner while somebody waits for it. Those of read-write locks may be held by readers,
/// which nobody lists; semaphores and latches have no owners.
fn is_exclusive(class: &str) -> bool {
    class.starts_with("java.util.concurrent.locks.ReentrantLock$")
}

/// The lock that a thread cannot go on without.
fn wanted(thread: &Thread) -> Option<&Lock> {
    let wait = thread.waits_for.as_ref()?;
    // One that waits for some time only goes on in the end, whoever has the lock.
    if thread.state.starts_with("TIMED_") {
        return None;
    }
    // Who waits to be notified waits for no owner. What is parked for may be anything: it has an owner or not.
    matches!(wait.how, How::Monitor | How::Parked).then_some(&wait.lock).filter(|lock| lock.address != 0)
}

/// What tells a lock apart: hash codes may be the same for two of different classes.
fn key(lock: &Lock) -> (u64, &str) {
    (lock.address, lock.class.as_str())
}

/// Which thread holds each lock.
fn owners(dump: &Dump) -> HashMap<(u64, &str), usize> {
    let held = dump
        .threads
        .iter()
        .enumerate()
        .flat_map(|(at, thread)| thread.holds.iter().map(move |lock| (lock, at)));
    held.map(|(lock, at)| (key(lock), at)).collect()
}
