//! Appending from a signal handler: entries of one size, without a lock, an allocation or a system call.
//!
//! A chunk is in use and another lies ready behind it. Whoever finds the first full puts the second in its place; an
//! ordinary thread ([`ArenaWriter::provide`]) lays out the next. When that thread does not keep up, the entry is lost, and
//! the one who lost it knows.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::layout::{self, chunk, context, sample};
use crate::writer::ArenaWriter;

/// Size of a chunk of entries: 8,192 samples, 16,384 contexts.
const CHUNK: u64 = 256 << 10;
/// A handler does not wait for another: after so many changes under its hands it gives up.
const ATTEMPTS: usize = 8;

/// A run of entries of one size.
pub struct Appender {
    kind: u32,
    entry: u64,
    current: AtomicU64,
    spare: AtomicU64,
}

impl Appender {
    /// Sampled contexts.
    pub const fn contexts() -> Appender {
        Appender::new(layout::CHUNK_CONTEXTS, context::SIZE)
    }

    /// Samples.
    pub const fn samples() -> Appender {
        Appender::new(layout::CHUNK_SAMPLES, sample::SIZE)
    }

    const fn new(kind: u32, entry: u64) -> Appender {
        Appender { kind, entry, current: AtomicU64::new(0), spare: AtomicU64::new(0) }
    }

    /// Has no chunk any more. Whoever is writing to one still does.
    pub(crate) fn leave_chunks(&self) {
        self.spare.store(0, Ordering::Release);
        self.current.store(0, Ordering::Release);
    }

    /// Whether [`ArenaWriter::provide`] has something to do.
    pub fn wants(&self) -> bool {
        self.spare.load(Ordering::Relaxed) == 0
    }
}

/// A sampled context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    /// What the code is called.
    pub code: u64,
    /// The caller's id, or 0.
    pub parent: u32,
    /// Kind of frame and bytecode index.
    pub place: u32,
}

/// A sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Nanoseconds of the monotonic clock.
    pub time: u64,
    /// Nanoseconds it stands for.
    pub value: u64,
    /// Id of the context.
    pub context: u32,
    /// Id of the thread.
    pub thread: u32,
    /// Set of labels.
    pub labels: u32,
    /// One of [`layout::event`].
    pub event: u32,
    /// One of [`layout::run_state`].
    pub state: u32,
}

impl ArenaWriter {
    /// Lays out the chunk that comes next, if there is none; `false` when the arena is full. Not for signal handlers.
    /// Returns the chunk's offset in `made`, for those who keep track.
    pub fn provide(&self, appender: &Appender, made: &mut Vec<u64>) -> bool {
        while appender.wants() || appender.current.load(Ordering::Relaxed) == 0 {
            let free = if appender.kind == layout::CHUNK_SAMPLES { self.take_free_samples() } else { None };
            let Some(at) = free.or_else(|| self.add_chunk(appender.kind, CHUNK)) else { return false };
            made.push(at);
            // The first one goes into use at once.
            if appender.current.compare_exchange(0, at, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                appender.spare.store(at, Ordering::Release);
            }
        }
        true
    }

    /// Takes room for an entry; its offset, or `None` if there is none. For signal handlers.
    fn take(&self, appender: &Appender) -> Option<u64> {
        for _ in 0..ATTEMPTS {
            let at = appender.current.load(Ordering::Acquire);
            if at == 0 {
                return None;
            }
            let used = self.long(at + chunk::USED);
            let before = used.load(Ordering::Relaxed);
            let after = before + appender.entry;
            if after <= CHUNK {
                if used.compare_exchange(before, after, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    return Some(at + before);
                }
                continue;
            }
            match appender.spare.swap(0, Ordering::AcqRel) {
                // Somebody else may be putting it in place just now.
                0 if appender.current.load(Ordering::Acquire) == at => return None,
                0 => {}
                next => appender.current.store(next, Ordering::Release),
            }
        }
        None
    }

    /// Appends a context and returns its id. For signal handlers.
    pub fn append_context(&self, appender: &Appender, new: Context) -> Option<u32> {
        let at = self.take(appender)?;
        self.word(at + context::PARENT).store(new.parent, Ordering::Relaxed);
        self.word(at + context::PLACE).store(new.place, Ordering::Relaxed);
        self.long(at + context::CODE).store(new.code, Ordering::Release);
        u32::try_from(at / context::SIZE).ok()
    }

    /// A context that was appended.
    pub fn context(&self, id: u32) -> Context {
        let at = u64::from(id) * context::SIZE;
        Context {
            code: self.long(at + context::CODE).load(Ordering::Acquire),
            parent: self.word(at + context::PARENT).load(Ordering::Relaxed),
            place: self.word(at + context::PLACE).load(Ordering::Relaxed),
        }
    }

    /// Ids of the contexts in a chunk made by [`ArenaWriter::provide`].
    pub fn contexts_in(&self, chunk_at: u64) -> std::ops::Range<u32> {
        let used = self.long(chunk_at + chunk::USED).load(Ordering::Acquire);
        let id = |at: u64| u32::try_from(at / context::SIZE).unwrap_or(0);
        id(chunk_at + chunk::HEADER)..id(chunk_at + used)
    }

    /// Whether all entries of a chunk made by [`ArenaWriter::provide`] are taken.
    pub fn is_full(&self, appender: &Appender, chunk_at: u64) -> bool {
        self.long(chunk_at + chunk::USED).load(Ordering::Acquire) + appender.entry > CHUNK
    }

    /// Appends a sample; `false` if there is no room. For signal handlers.
    pub fn append_sample(&self, appender: &Appender, new: &Sample) -> bool {
        let Some(at) = self.take(appender) else { return false };
        self.long(at + sample::TIME).store(new.time, Ordering::Relaxed);
        self.long(at + sample::VALUE).store(new.value, Ordering::Relaxed);
        self.word(at + sample::CONTEXT).store(new.context, Ordering::Relaxed);
        self.word(at + sample::THREAD).store(new.thread, Ordering::Relaxed);
        self.word(at + sample::LABELS).store(new.labels, Ordering::Relaxed);
        self.word(at + sample::EVENT).store(new.event | new.state << 8, Ordering::Release);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{frame, place_word};
    use crate::reader::Contents;

    #[test]
    fn what_many_threads_append_is_all_there() {
        let path = std::env::temp_dir().join(format!("quipu-test-{}-append", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let arena = ArenaWriter::create(&path, 64 << 20).unwrap();
        let (contexts, samples) = (Appender::contexts(), Appender::samples());
        assert_eq!(arena.append_context(&contexts, Context { code: 1, parent: 0, place: 0 }), None);
        let mut made = Vec::new();
        assert!(arena.provide(&contexts, &mut made) && arena.provide(&samples, &mut made));
        assert_eq!(made.len(), 4);
        let place = place_word(frame::JAVA, Some(7));
        let outer = arena.append_context(&contexts, Context { code: 1, parent: 0, place }).unwrap();
        let lost = AtomicU64::new(0);
        let work = |thread: u32| {
            for i in 0..10_000 {
                let new = Context { code: 2 + i, parent: outer, place };
                let Some(context) = arena.append_context(&contexts, new) else {
                    lost.fetch_add(1, Ordering::Relaxed);
                    continue;
                };
                let (event, state) = (layout::event::CPU, layout::run_state::RUNNING);
                let sample = Sample { time: i, value: 5, context, thread, labels: thread, event, state };
                if !arena.append_sample(&samples, &sample) {
                    lost.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (1..=4).map(|id| scope.spawn(move || work(id))).collect();
            while workers.iter().any(|worker| !worker.is_finished()) {
                arena.provide(&contexts, &mut Vec::new());
                arena.provide(&samples, &mut Vec::new());
            }
        });
        let bytes = std::fs::read(&path).unwrap();
        let contents = Contents::read(&bytes).unwrap();
        assert_eq!(contents.damage, Default::default());
        assert_eq!(contents.sampled.samples.len() as u64 + lost.into_inner(), 40_000);
        for sample in &contents.sampled.samples {
            let context = contents.sampled.contexts[sample.context as usize];
            assert_eq!((context.parent, context.code), (Some(0), 2 + sample.time));
            assert_eq!((context.kind, context.bci), (frame::JAVA, Some(7)));
        }
        std::fs::remove_file(path).unwrap();
    }
}
