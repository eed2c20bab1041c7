//! Writing objects that are watched until they are gone, and what they took from one collection to the next. Unlike samples,
//! these change: a place whose object is gone is used for another one. By one thread at a time.

use std::sync::atomic::Ordering;

use crate::append::Sample;
use crate::layout::{self, chunk, growth, object, sample};
use crate::writer::ArenaWriter;

/// Size of a chunk: 1,364 objects, 454 series.
const CHUNK: u64 = 64 << 10;

/// Places for entries of one size, which can be given back.
#[derive(Debug)]
pub struct Places {
    kind: u32,
    entry: u64,
    chunk: u64,
    free: Vec<u64>,
}

impl Places {
    /// For objects.
    pub const fn objects() -> Places {
        Places { kind: layout::CHUNK_OBJECTS, entry: object::SIZE, chunk: 0, free: Vec::new() }
    }

    /// For series.
    pub const fn growth() -> Places {
        Places { kind: layout::CHUNK_GROWTH, entry: growth::SIZE, chunk: 0, free: Vec::new() }
    }

    /// The offset of a place that is not in use; `None` if the arena is full.
    pub fn take(&mut self, arena: &ArenaWriter) -> Option<u64> {
        if let Some(at) = self.free.pop() {
            return Some(at);
        }
        let used = |at: u64| arena.long(at + chunk::USED).load(Ordering::Relaxed);
        if self.chunk == 0 || used(self.chunk) + self.entry > CHUNK {
            self.chunk = arena.take_free_chunk(self.kind).or_else(|| arena.add_chunk(self.kind, CHUNK))?;
        }
        let before = used(self.chunk);
        arena.long(self.chunk + chunk::USED).store(before + self.entry, Ordering::Release);
        Some(self.chunk + before)
    }

    /// The entry is not there any more, and its place can be used again.
    pub fn give_back(&mut self, arena: &ArenaWriter, at: u64) {
        let what = if self.kind == layout::CHUNK_OBJECTS { sample::METRIC } else { growth::WHAT };
        arena.word(at + what).store(0, Ordering::Release);
        self.free.push(at);
    }
}

impl ArenaWriter {
    /// Writes an object that was made after so many collections.
    pub fn write_object(&self, at: u64, made: &Sample, born: u32) {
        self.word(at + object::BORN).store(born, Ordering::Relaxed);
        self.word(at + object::SEEN).store(born, Ordering::Relaxed);
        self.write_sample(at, made);
    }

    /// The object was still there after so many collections.
    pub fn object_seen(&self, at: u64, collections: u32) {
        self.word(at + object::SEEN).store(collections, Ordering::Relaxed);
    }

    /// Writes a series: context, thread and detail, and the points; of collections, if there is no context.
    pub fn write_growth(&self, at: u64, [context, thread, detail]: [u32; 3], points: &[u64]) {
        self.word(at + growth::CONTEXT).store(context, Ordering::Relaxed);
        self.word(at + growth::THREAD).store(thread, Ordering::Relaxed);
        self.word(at + growth::DETAIL).store(detail, Ordering::Relaxed);
        for (place, point) in (0..).zip(points.iter().take(growth::MOST)) {
            self.long(at + growth::POINTS + 8 * place).store(*point, Ordering::Relaxed);
        }
        let what = if context == 0 { growth::COLLECTIONS } else { growth::BYTES };
        let count = points.len().min(growth::MOST) as u32;
        self.word(at + growth::WHAT).store(what | count << 16, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::append::{Appender, Context};
    use crate::reader::Contents;

    #[test]
    fn objects_come_and_go_in_the_same_room() {
        let path = std::env::temp_dir().join(format!("quipu-test-{}-watched", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let arena = ArenaWriter::create(&path, 64 << 20).unwrap();
        let contexts = Appender::contexts();
        assert!(arena.provide(&contexts, &mut Vec::new()));
        let context = arena.append_context(&contexts, Context { code: 1, parent: 0, place: 0 }).unwrap();
        let made = Sample {
            time: 3,
            value: 100,
            count: 4,
            context,
            thread: 7,
            labels: 0,
            metric: 2,
            detail: 9,
            state: 0,
        };
        let mut places = Places::objects();
        let mut one_round = || {
            let all: Vec<u64> = (0..3_000).map(|_| places.take(&arena).unwrap()).collect();
            for (&at, n) in all.iter().zip(0..) {
                arena.write_object(at, &Sample { value: n, ..made }, 5);
                arena.object_seen(at, if n % 2 == 0 { 5 } else { 8 });
            }
            all.iter().for_each(|&at| {
                if at != all[1] {
                    places.give_back(&arena, at)
                }
            });
            all[1]
        };
        let kept = one_round();
        let read = || std::fs::read(&path).unwrap();
        let bytes = read();
        let contents = Contents::read(&bytes).unwrap();
        let [object] = contents.sampled.objects[..] else { panic!("one is left") };
        assert_eq!((object.age, object.made.value, object.made.count, object.made.detail), (3, 1, 4, 9));
        one_round();
        let again = read();
        let contents = Contents::read(&again).unwrap();
        assert_eq!((contents.sampled.objects.len(), again.len()), (2, bytes.len()));
        // One whose context is not there is damage, and nothing else.
        arena.write_object(kept, &Sample { context: context + 1, ..made }, 0);
        let mut series = Places::growth();
        let (one, all) = (series.take(&arena).unwrap(), series.take(&arena).unwrap());
        arena.write_growth(one, [context, 7, 9], &[1, 2, 3]);
        arena.write_growth(all, [0, 0, 0], &[10, 20, 30]);
        let bytes = read();
        let contents = Contents::read(&bytes).unwrap();
        assert_eq!(contents.damage.samples, 1);
        assert_eq!(contents.sampled.growth.len(), 1);
        assert_eq!(contents.sampled.growth[0].points, [1, 2, 3]);
        assert_eq!(contents.sampled.collections, [10, 20, 30]);
        arena.forget(&[], &|_| 1);
        let bytes = read();
        let contents = Contents::read(&bytes).unwrap();
        assert!(contents.sampled.objects.is_empty() && contents.sampled.growth.is_empty());
        std::fs::remove_file(path).unwrap();
    }
}
