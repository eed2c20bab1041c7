//! Virtual threads, which HotSpot writes to a file of their own, together with all others.
//!
//! From JDK 25 on the file has locks: what each thread is blocked on, waits on and parks for, and the monitors that it holds; from
//! JDK 26 on also who owns the lock of `java.util.concurrent` that is parked for. Objects are told apart by identity hash code.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::Deserialize;

use crate::{Dump, How, Lock, Thread, Wait};

/// The file is not what was expected.
#[derive(Debug)]
pub struct NotADump(String);

impl fmt::Display for NotADump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the JVM's dump of its threads cannot be read: {}", self.0)
    }
}

impl std::error::Error for NotADump {}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    thread_dump: ThreadDump,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadDump {
    #[serde(default)]
    thread_containers: Vec<Container>,
}

#[derive(Deserialize)]
struct Container {
    #[serde(default)]
    threads: Vec<Told>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    #[serde(default)]
    tid: Number,
    #[serde(default)]
    name: String,
    #[serde(default)]
    stack: Vec<String>,
    /// Since JDK 25.
    #[serde(default)]
    state: Option<String>,
    #[serde(rename = "virtual", default)]
    is_virtual: Option<bool>,
    #[serde(default)]
    blocked_on: Option<String>,
    #[serde(default)]
    waiting_on: Option<String>,
    #[serde(default)]
    park_blocker: Option<Blocker>,
    #[serde(default)]
    monitors_owned: Vec<Owned>,
}

/// What a thread parks for.
#[derive(Deserialize)]
struct Blocker {
    #[serde(default)]
    object: String,
    #[serde(default)]
    owner: Option<Number>,
}

/// Monitors that were entered in one frame; none for an object that the compiler has done away with.
#[derive(Deserialize)]
struct Owned {
    #[serde(default)]
    locks: Vec<Option<String>>,
}

/// A number, or the text of one: before JDK 25 all numbers were text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Number(u64),
    Text(String),
}

impl Default for Number {
    fn default() -> Number {
        Number::Number(0)
    }
}

impl Number {
    fn get(&self) -> Option<u64> {
        match self {
            Number::Number(number) => Some(*number),
            Number::Text(text) => text.parse().ok(),
        }
    }
}

/// All threads of the file, one looked at after the other.
pub(crate) fn all(json: &str) -> Result<Dump, NotADump> {
    let file: File = serde_json::from_str(json).map_err(|error| NotADump(error.to_string()))?;
    let told = file.thread_dump.thread_containers.into_iter().flat_map(|container| container.threads);
    let mut dump = Dump { threads: told.filter_map(thread).collect() };
    // Owners are told where they are waited for.
    let places: HashMap<u64, usize> =
        dump.threads.iter().enumerate().filter_map(|(at, thread)| Some((thread.id?, at))).collect();
    let waits: Vec<Wait> = dump.threads.iter().filter_map(|thread| thread.waits_for.clone()).collect();
    for wait in waits {
        let owner = wait.owner.and_then(|owner| dump.threads.get_mut(*places.get(&owner)?));
        if let Some(owner) = owner.filter(|owner| !owner.holds.contains(&wait.lock)) {
            owner.holds.push(wait.lock);
        }
    }
    Ok(dump)
}

fn thread(told: Told) -> Option<Thread> {
    let id = told.tid.get()?;
    let parked = told.stack.iter().take(4).any(|frame| frame.contains("VirtualThread.park"));
    let wait = |how, object: &Option<String>| Some(Wait { how, lock: lock(object.as_deref()?), owner: None });
    let blocker = |blocker: &Blocker| Wait {
        how: How::Parked,
        lock: lock(&blocker.object),
        owner: blocker.owner.as_ref().and_then(Number::get),
    };
    let waits_for = wait(How::Monitor, &told.blocked_on)
        .or_else(|| wait(How::Notification, &told.waiting_on))
        .or_else(|| told.park_blocker.as_ref().map(blocker))
        .or_else(|| parked.then(|| Wait { how: How::Parked, lock: lock(""), owner: None }));
    let mut holds: Vec<Lock> =
        told.monitors_owned.iter().flat_map(|owned| &owned.locks).flatten().map(|name| lock(name)).collect();
    holds.sort_unstable();
    holds.dedup();
    if let Some(Wait { how: How::Notification | How::Monitor, lock, .. }) = &waits_for {
        holds.retain(|held| held != lock);
    }
    // Before JDK 25 it is not said; then all begin in the same method. Of those without a stack, platform threads have a name.
    let begins_as_virtual = || match told.stack.last() {
        Some(oldest) => oldest.contains("VirtualThread.run("),
        None => told.name.is_empty(),
    };
    let is_virtual = told.is_virtual.unwrap_or_else(|| told.state.is_none() && begins_as_virtual());
    Some(Thread {
        name: told.name,
        id: Some(id),
        is_virtual,
        daemon: true,
        state: told.state.unwrap_or_else(|| if parked { "WAITING" } else { "" }.to_owned()),
        waits_for,
        holds,
        frames: told.stack,
        ..Thread::default()
    })
}

/// `java.lang.Object@2b435a96`
fn lock(text: &str) -> Lock {
    let parts =
        text.rsplit_once('@').and_then(|(class, hash)| Some((class, u64::from_str_radix(hash, 16).ok()?)));
    let (class, address) = parts.unwrap_or((text, 0));
    Lock { address, class: class.to_owned() }
}

/// Adds the threads that the dump does not have; returns how many those are.
pub(crate) fn add(dump: &mut Dump, json: &str) -> Result<usize, NotADump> {
    let known: HashSet<u64> = dump.threads.iter().filter_map(|thread| thread.id).collect();
    let before = dump.threads.len();
    let others = all(json)?.threads.into_iter();
    dump.threads.extend(others.filter(|thread| thread.id.is_some_and(|id| !known.contains(&id))));
    Ok(dump.threads.len() - before)
}
