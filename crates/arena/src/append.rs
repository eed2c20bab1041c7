//! Appending from a signal handler: entries of one size, without a lock, an allocation or a system call.
//!
//! A chunk is in use and another lies ready behind it. Whoever finds the first full puts the second in its place; an
//! ordinary thread ([`ArenaWriter::provide`]) lays out the next. When that thread does not keep up, the entry is lost, and
//! the one who lost it knows.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::layout::{self, chunk, context, event, sample};
use crate::writer::ArenaWriter;

/// Size of a chunk of entries: 6,553 samples, 16,384 contexts.
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

    /// Events of the timeline.
    pub const fn events() -> Appender {
        Appender::new(layout::CHUNK_EVENTS, event::SIZE)
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
    /// What it stands for, in the metric's unit.
    pub value: u64,
    /// How many occurrences it stands for.
    pub count: u32,
    /// Id of the context.
    pub context: u32,
    /// Id of the thread.
    pub thread: u32,
    /// Set of labels.
    pub labels: u32,
    /// Id of the metric; not 0.
    pub metric: u16,
    /// What it was about; 0 for nothing in particular.
    pub detail: u32,
    /// One of [`layout::run_state`].
    pub state: u32,
}

/// An event of the timeline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Event {
    /// When it began: nanoseconds of the monotonic clock.
    pub time: u64,
    /// Nanoseconds it lasted.
    pub duration: u64,
    /// Two numbers.
    pub values: [u64; 2],
    /// Id of the kind of event; not 0.
    pub kind: u32,
    /// Id of the thread; 0 for none.
    pub thread: u32,
    /// What it was about; 0 for nothing in particular.
    pub detail: u32,
    /// Id of the context; 0 for none.
    pub context: u32,
}

impl ArenaWriter {
    /// Lays out the chunk that comes next, if there is none; `false` when the arena is full. Not for signal handlers.
    /// Returns the chunk's offset in `made`, for those who keep track.
    pub fn provide(&self, appender: &Appender, made: &mut Vec<u64>) -> bool {
        while appender.wants() || appender.current.load(Ordering::Relaxed) == 0 {
            let free = self.take_free_chunk(appender.kind);
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
        self.write_sample(at, new);
        true
    }

    /// Writes the fields of a sample, the one last that says that it is there.
    pub(crate) fn write_sample(&self, at: u64, new: &Sample) {
        self.long(at + sample::TIME).store(new.time, Ordering::Relaxed);
        self.long(at + sample::VALUE).store(new.value, Ordering::Relaxed);
        self.word(at + sample::CONTEXT).store(new.context, Ordering::Relaxed);
        self.word(at + sample::THREAD).store(new.thread, Ordering::Relaxed);
        self.word(at + sample::LABELS).store(new.labels, Ordering::Relaxed);
        self.word(at + sample::COUNT).store(new.count, Ordering::Relaxed);
        self.word(at + sample::DETAIL).store(new.detail, Ordering::Relaxed);
        self.word(at + sample::METRIC).store(u32::from(new.metric) | new.state << 16, Ordering::Release);
    }

    /// Appends an event of the timeline; `false` if there is no room. For signal handlers.
    pub fn append_event(&self, appender: &Appender, new: &Event) -> bool {
        let Some(at) = self.take(appender) else { return false };
        self.long(at + event::TIME).store(new.time, Ordering::Relaxed);
        self.long(at + event::DURATION).store(new.duration, Ordering::Relaxed);
        for (place, value) in (0..).zip(new.values) {
            self.long(at + event::VALUES + 8 * place).store(value, Ordering::Relaxed);
        }
        self.word(at + event::THREAD).store(new.thread, Ordering::Relaxed);
        self.word(at + event::DETAIL).store(new.detail, Ordering::Relaxed);
        self.word(at + event::CONTEXT).store(new.context, Ordering::Relaxed);
        self.word(at + event::KIND).store(new.kind, Ordering::Release);
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
                let sample = Sample {
                    time: i,
                    value: 5,
                    count: 2,
                    context,
                    thread,
                    labels: thread,
                    metric: 300,
                    detail: 7,
                    state: layout::run_state::RUNNING,
                };
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
            assert_eq!((sample.value, sample.count, sample.metric, sample.detail), (5, 2, 300, 7));
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn events_come_back() {
        let path = std::env::temp_dir().join(format!("quipu-test-{}-events", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let arena = ArenaWriter::create(&path, 64 << 20).unwrap();
        let (contexts, events) = (Appender::contexts(), Appender::events());
        let first = Event { time: 3, duration: 4, values: [5, 6], kind: 2, thread: 7, detail: 8, context: 0 };
        assert!(!arena.append_event(&events, &first), "no room yet");
        assert!(arena.provide(&contexts, &mut Vec::new()) && arena.provide(&events, &mut Vec::new()));
        let context = arena.append_context(&contexts, Context { code: 1, parent: 0, place: 0 }).unwrap();
        let second = Event { context, ..first };
        assert!(arena.append_event(&events, &first) && arena.append_event(&events, &second));
        // A context that is not there.
        assert!(arena.append_event(&events, &Event { context: 1, ..first }));
        let bytes = std::fs::read(&path).unwrap();
        let contents = Contents::read(&bytes).unwrap();
        assert_eq!(contents.damage.samples, 1);
        let read: Vec<_> =
            contents.sampled.events.iter().map(|e| (e.time, e.duration, e.values, e.context)).collect();
        assert_eq!(read, [(3, 4, [5, 6], None), (3, 4, [5, 6], Some(0))]);
        assert_eq!(contents.sampled.events[0].kind, 2);
        std::fs::remove_file(path).unwrap();
    }
}
