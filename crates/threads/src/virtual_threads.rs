//! Virtual threads, which HotSpot writes to a file of their own.

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

/// Adds the threads that the dump does not have; returns how many those are.
pub(crate) fn add(dump: &mut Dump, json: &str) -> Result<usize, NotADump> {
    let file: File = serde_json::from_str(json).map_err(|error| NotADump(error.to_string()))?;
    let known: std::collections::HashSet<u64> = dump.threads.iter().filter_map(|thread| thread.id).collect();
    let before = dump.threads.len();
    for told in file.thread_dump.thread_containers.into_iter().flat_map(|container| container.threads) {
        let Some(id) = told.tid.get().filter(|id| !known.contains(id)) else { continue };
        let parked = told.stack.iter().take(4).any(|frame| frame.contains("VirtualThread.park"));
        let state = told.state.unwrap_or_else(|| if parked { "WAITING" } else { "" }.to_owned());
        dump.threads.push(Thread {
            name: told.name,
            id: Some(id),
            // Platform threads are in the other dump, but for those that began since.
            is_virtual: told.is_virtual.unwrap_or(true),
            daemon: true,
            state,
            waits_for: parked
                .then(|| Wait { how: How::Parked, lock: Lock { address: 0, class: String::new() } }),
            frames: told.stack,
            ..Thread::default()
        });
    }
    Ok(dump.threads.len() - before)
}
