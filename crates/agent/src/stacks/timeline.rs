//! Events of the timeline: what took place when, and for how long. They go to chunks of their own, of which there is a bounded
//! number; what comes after that is counted as lost.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use quipu_arena::append::{Appender, Event};
use quipu_arena::record::Record;
use quipu_arena::writer::ArenaWriter;

use super::lost::{self, Cause};
use crate::locks::lock;

/// Where events go.
pub static EVENTS: Appender = Appender::events();

/// Chunks of events that a profile has at the most: 64 MB, 1.4 million events.
const MOST_CHUNKS: usize = 256;

/// Chunks that this profile has.
static CHUNKS: AtomicUsize = AtomicUsize::new(0);

/// Names of kinds of events, by number.
static KINDS: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// Tells the arena of a kind of event, and returns its number.
pub fn declare(arena: &ArenaWriter, event: &quipu_kinds::Event) -> u32 {
    let quipu_kinds::Event { name, values, .. } = *event;
    let mut kinds = lock(&KINDS);
    let at = kinds.iter().position(|&known| known == name).unwrap_or(kinds.len());
    if at == kinds.len() {
        kinds.push(name);
    }
    let id = at as u32 + 1;
    // A full arena has no room for events either.
    let _ = arena.log(&Record::EventKind { id, name: name.as_bytes(), values: values.map(str::as_bytes) });
    id
}

/// A profile begins: it has no events yet.
pub fn begin() {
    CHUNKS.store(0, Ordering::Relaxed);
}

/// Lays out memory ahead of events, as far as they may have it. Called by one thread at a time.
pub fn make_room(arena: &ArenaWriter) {
    if CHUNKS.load(Ordering::Relaxed) < MOST_CHUNKS {
        let mut made = Vec::new();
        arena.provide(&EVENTS, &mut made);
        CHUNKS.fetch_add(made.len(), Ordering::Relaxed);
    }
}

/// Whether [`make_room`] has something to do.
pub fn wants() -> bool {
    EVENTS.wants() && CHUNKS.load(Ordering::Relaxed) < MOST_CHUNKS
}

/// Appends an event. Not in signal handlers only: the collector's pauses are told while the VM can be asked nothing.
pub fn append(arena: &ArenaWriter, event: &Event) {
    if event.kind != 0 && !arena.append_event(&EVENTS, event) {
        lost::count(arena, Cause::NoRoomForEvent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quipu_arena::layout::{self, event};
    use quipu_arena::reader::Contents;

    /// Events take no more than their part of the arena; what comes after that is counted.
    #[test]
    fn events_are_bounded_and_those_beyond_are_counted() {
        let path = std::env::temp_dir().join(format!("quipu-test-{}-events", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let arena = ArenaWriter::create(&path, 256 << 20).unwrap();
        begin();
        const BOUND: u64 = 64 << 20;
        const BEYOND: u64 = 10_000;
        let most = BOUND / event::SIZE;
        for time in 1..=most + BEYOND {
            if wants() {
                make_room(&arena);
            }
            append(&arena, &Event { time, kind: 1, ..Event::default() });
        }
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let contents = Contents::read(&bytes).unwrap();
        let told = contents.sampled.events.len() as u64;
        let cause = layout::CAUSES.iter().position(|&cause| cause == "events.no-room").unwrap();
        let lost = contents.header.lost[cause];
        assert_eq!(told + lost, most + BEYOND);
        assert!(lost >= BEYOND && told > most * 9 / 10, "{told} told, {lost} lost");
        // A new profile has room again.
        begin();
        assert!(!EVENTS.wants() || wants());
    }
}
