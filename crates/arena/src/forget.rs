//! A new profile in an arena that has one: what was counted and sampled is forgotten. What has a name or a place keeps it,
//! because code that was rewritten for an earlier profile may still run and write there.

use std::sync::atomic::Ordering;

use crate::append::Appender;
use crate::layout::{self, chunk, event, header, ledger, node, sample, slot, tally};
use crate::writer::ArenaWriter;

/// Counters of the header that belong to one profile.
const COUNTERS: [u64; 10] = [
    header::REFUSED,
    header::ENDED,
    header::REWRITE_NANOS,
    header::CLASSES,
    header::METHODS,
    header::METHODS_LEFT,
    header::CLASSES_LEFT,
    header::WALKS,
    header::SAMPLES,
    header::SAMPLING_NANOS,
];

impl ArenaWriter {
    /// Forgets all counts, samples and events, which `appenders` write. `slots_of` tells how many slots the nodes of a method
    /// have; no samples are taken meanwhile.
    pub fn forget(&self, appenders: &[&Appender], slots_of: &dyn Fn(u32) -> u32) {
        appenders.iter().for_each(|appender| appender.leave_chunks());
        let mut free = Vec::new();
        let end = self.long(header::USED).load(Ordering::Acquire);
        let mut at = layout::HEADER_SIZE;
        while at < end {
            let used = at + self.long(at + chunk::USED).load(Ordering::Acquire);
            match self.word(at + chunk::KIND).load(Ordering::Relaxed) {
                layout::CHUNK_NODES => self.forget_nodes(at + chunk::HEADER, used, slots_of),
                layout::CHUNK_LEDGER => self.forget_ledger(at + chunk::HEADER, used),
                layout::CHUNK_SAMPLES
                | layout::CHUNK_EVENTS
                | layout::CHUNK_OBJECTS
                | layout::CHUNK_GROWTH => {
                    self.clear(at + chunk::HEADER, used);
                    self.long(at + chunk::USED).store(chunk::HEADER, Ordering::Release);
                    free.push(at);
                }
                _ => {}
            }
            let size = self.long(at + chunk::SIZE).load(Ordering::Relaxed);
            if size == 0 {
                break; // Being added.
            }
            at += size;
        }
        self.set_free_chunks(free);
        self.forget_tallies();
        for counter in COUNTERS {
            self.set(counter, 0);
        }
        for cause in 0..layout::CAUSES.len() as u64 {
            self.set(header::LOST + 8 * cause, 0);
        }
        self.begin();
    }

    fn forget_nodes(&self, mut at: u64, end: u64, slots_of: &dyn Fn(u32) -> u32) {
        while at + node::SLOTS <= end {
            let stride = 8 * u64::from(self.word(at + node::STRIDE).load(Ordering::Relaxed) & 0xffff);
            if stride < node::SLOTS || at + stride > end {
                return;
            }
            let method = self.word(at + node::METHOD).load(Ordering::Relaxed) >> 1;
            let slots = match method {
                layout::ROOT_METHOD => layout::ROOT_SLOTS,
                method => slots_of(method),
            };
            for field in [node::CALLS, node::BYTECODES] {
                self.long(at + field).store(0, Ordering::Relaxed);
            }
            let mut here = at + node::SLOTS;
            for _ in 0..slots {
                if here + slot::SIZE > at + stride {
                    break;
                }
                for field in [slot::CALLS, slot::BYTECODES] {
                    self.long(here + field).store(0, Ordering::Relaxed);
                }
                here += slot::SIZE;
            }
            self.clear(here, at + stride);
            at += stride;
        }
    }

    fn forget_ledger(&self, from: u64, to: u64) {
        for at in (from..to).step_by(ledger::SIZE as usize) {
            for field in [ledger::COUNT, ledger::VALUE] {
                if at + field + 8 <= to {
                    self.long(at + field).store(0, Ordering::Relaxed);
                }
            }
        }
    }

    /// Sets words to zero that are in use.
    fn clear(&self, from: u64, to: u64) {
        for at in (from..to).step_by(8) {
            self.long(at).store(0, Ordering::Relaxed);
        }
    }
}

const _: () = assert!((sample::SIZE | event::SIZE | tally::CELL).is_multiple_of(8));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::append::{Context, Sample};
    use crate::layout::{frame, method_word, node_size, place_word};
    use crate::reader::Contents;
    use crate::record::Record;

    #[test]
    fn nothing_is_left_but_names_and_places() {
        let path = std::env::temp_dir().join(format!("quipu-test-{}-forget", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let arena = ArenaWriter::create(&path, 64 << 20).unwrap();
        arena.log(&Record::Class { id: 1, loader: 0, name: b"A", source: b"" }).unwrap();
        arena.log(&Record::opaque_method(1, 1, b"m", b"()V")).unwrap();
        // A root, and a child that is held by the root's second slot.
        let size = node_size(layout::ROOT_SLOTS, 0);
        let (root_size, child_size) = (size, node_size(1, 0));
        let chunk_at = arena.add_nodes(1, 1024).unwrap() as u64 - arena.base() as u64;
        let root = chunk_at + chunk::HEADER;
        let child = root + root_size;
        for (at, method, parent, size) in
            [(root, layout::ROOT_METHOD, 0, root_size), (child, 1, root / layout::ID_UNIT, child_size)]
        {
            arena.word(at + node::METHOD).store(method_word(method), Ordering::Relaxed);
            arena.word(at + node::PARENT).store(parent as u32, Ordering::Relaxed);
            arena.word(at + node::STRIDE).store((size / 8) as u32, Ordering::Relaxed);
        }
        let held = root + node::SLOTS + slot::SIZE;
        arena.word(held + slot::METHOD).store(method_word(1), Ordering::Relaxed);
        arena.word(held + slot::NODE).store(((child - held) / layout::LINK_UNIT) as u32, Ordering::Relaxed);
        arena.long(chunk_at + chunk::USED).store(child + child_size - chunk_at, Ordering::Relaxed);
        let (contexts, samples) = (Appender::contexts(), Appender::samples());
        let count = || {
            arena.long(held + slot::CALLS).store(7, Ordering::Relaxed);
            arena.long(child + node::BYTECODES).store(70, Ordering::Relaxed);
            assert!(arena.provide(&contexts, &mut Vec::new()) && arena.provide(&samples, &mut Vec::new()));
            let place = place_word(frame::JAVA, None);
            let context = arena.append_context(&contexts, Context { code: 9, parent: 0, place }).unwrap();
            let sample = Sample {
                time: 5,
                value: 3,
                count: 1,
                context,
                thread: 1,
                labels: 0,
                metric: 1,
                detail: 0,
                state: 0,
            };
            assert!(arena.append_sample(&samples, &sample));
            arena.add(header::WALKS, 1);
        };
        let read = || {
            let bytes = std::fs::read(&path).unwrap();
            let contents = Contents::read(&bytes).unwrap();
            let nodes: Vec<_> = contents.nodes.iter().map(|node| (node.calls, node.bytecodes)).collect();
            (nodes, contents.sampled.samples.len(), contents.header.walks, contents.header.used)
        };
        count();
        let first = read();
        assert_eq!((&first.0[..], first.1, first.2), (&[(0, 0), (7, 70)][..], 1, 1));
        arena.forget(&[&samples], &|_| 1);
        let forgotten = read();
        assert_eq!((&forgotten.0[..], forgotten.1, forgotten.2), (&[(0, 0), (0, 0)][..], 0, 0));
        count();
        assert_eq!(read(), first, "the same again, in the same room");
        std::fs::remove_file(path).unwrap();
    }
}
