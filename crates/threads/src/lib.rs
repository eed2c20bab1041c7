//! Thread dumps, as HotSpot prints them when it is asked over its attach socket: read into [`Dump`], grouped by equal
//! stacks ([`Dump::groups`]), and searched for threads that wait for each other in a circle ([`deadlock`]).
//!
//! No JVM and no process is known here: text goes in. It is the text of another process, with names of threads in it that
//! can be anything: what is not understood is left out, and nothing panics.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod deadlock;
mod header;
mod parse;
mod virtual_threads;

use std::collections::BTreeMap;

use serde::Serialize;

pub use virtual_threads::NotADump;

/// All threads at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Dump {
    /// Threads, in the order of the VM.
    pub threads: Vec<Thread>,
}

/// A thread.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// Java's number of it; none for the VM's own threads.
    pub id: Option<u64>,
    /// The kernel's number of it, in the namespace of the JVM.
    pub native_id: Option<u64>,
    /// Whether it is virtual.
    #[serde(rename = "virtual")]
    pub is_virtual: bool,
    /// Whether the VM ends without waiting for it.
    pub daemon: bool,
    /// `RUNNABLE`, `BLOCKED`, `WAITING`, …; for the VM's own threads what the VM says.
    pub state: String,
    /// CPU time since it began, in seconds, where the JVM tells (JDK 11 and newer).
    pub cpu_seconds: Option<f64>,
    /// How long it has been there, in seconds.
    pub elapsed_seconds: Option<f64>,
    /// Share of a processor in the time that was looked at; filled in by whoever looked.
    pub cpu_now: Option<f64>,
    /// The virtual thread that it carries.
    pub carries: Option<u64>,
    /// Its stack, youngest frame first.
    pub frames: Vec<String>,
    /// What it waits for.
    pub waits_for: Option<Wait>,
    /// Locks that it holds: monitors, and those of `java.util.concurrent` that have an owner.
    pub holds: Vec<Lock>,
}

/// A lock.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Lock {
    /// Where the object was at the moment of the dump, or its identity hash code where virtual threads are told of: tells locks
    /// apart in the dump, and nowhere else.
    pub address: u64,
    /// The class of the object.
    pub class: String,
}

/// What a thread waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// How.
    pub how: How,
    /// For which object.
    #[serde(flatten)]
    pub lock: Lock,
    /// The number of the thread that has it, where the JVM says so beside it (JDK 26 and newer, in its file). It may have ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<u64>,
}

/// How a thread waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// To enter a monitor that another thread holds.
    Monitor,
    /// In `Object.wait`, to be notified.
    Notification,
    /// Parked; the object is a lock, or something else.
    Parked,
    /// For another thread to initialise a class.
    Class,
}

impl Dump {
    /// Reads what HotSpot prints for `threaddump -l`, or `Thread.print -l`.
    pub fn parse(text: &str) -> Dump {
        parse::dump(text)
    }

    /// Adds virtual threads, from what HotSpot writes for `Thread.dump_to_file -format=json`.
    pub fn add_virtual(&mut self, json: &str) -> Result<usize, NotADump> {
        virtual_threads::add(self, json)
    }

    /// All threads, platform and virtual, as HotSpot writes them for `Thread.dump_to_file -format=json`: one looked at after the
    /// other. Locks are known from JDK 25 on.
    pub fn written(json: &str) -> Result<Dump, NotADump> {
        virtual_threads::all(json)
    }

    /// Threads with the same state and stack, the most first. Those without a stack are left out.
    pub fn groups(&self) -> Vec<Vec<&Thread>> {
        let mut groups: BTreeMap<(&str, &[String]), Vec<&Thread>> = BTreeMap::new();
        for thread in self.threads.iter().filter(|thread| !thread.frames.is_empty()) {
            groups.entry((&thread.state, &thread.frames)).or_default().push(thread);
        }
        let mut groups: Vec<_> = groups.into_values().collect();
        // Stable: of groups of one size, by state and stack.
        groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
        groups
    }
}
