//! Reading what samplers wrote.

use crate::bytes::Bytes;
use crate::layout::{self, context, event, growth, object, sample};

/// A sampled context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    /// What the VM, or the machine, calls the code.
    pub code: u64,
    /// Index of the caller's context.
    pub parent: Option<u32>,
    /// One of [`layout::frame`].
    pub kind: u32,
    /// Where the frame was in its method.
    pub bci: Option<u32>,
}

/// A sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Its offset in the arena, which never changes; later ones have larger ones.
    pub at: u64,
    /// Nanoseconds of the target's monotonic clock.
    pub time: u64,
    /// What it stands for, in the metric's unit.
    pub value: u64,
    /// How many occurrences it stands for.
    pub count: u32,
    /// Index of the context.
    pub context: u32,
    /// Id of the thread.
    pub thread: u32,
    /// Set of labels; 0 for none.
    pub labels: u32,
    /// Id of the metric.
    pub metric: u32,
    /// What it was about; 0 for nothing in particular.
    pub detail: u32,
    /// One of [`layout::run_state`].
    pub state: u32,
}

/// An event of the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Its offset in the arena, which never changes; later ones have larger ones.
    pub at: u64,
    /// When it began: nanoseconds of the target's monotonic clock.
    pub time: u64,
    /// Nanoseconds it lasted.
    pub duration: u64,
    /// Numbers that its kind has names for.
    pub values: [u64; 2],
    /// Id of its kind.
    pub kind: u32,
    /// Id of the thread; 0 for none.
    pub thread: u32,
    /// What it was about; 0 for nothing in particular.
    pub detail: u32,
    /// Index of the context.
    pub context: Option<u32>,
}

/// An object that was there when it was last looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watched {
    /// The sample that was taken when it was made.
    pub made: Sample,
    /// How many collections it has survived.
    pub age: u32,
}

/// What objects of a class that a context made took, at one moment after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Growth {
    /// Index of the context.
    pub context: u32,
    /// Id of the thread.
    pub thread: u32,
    /// Their class.
    pub detail: u32,
    /// Bytes.
    pub points: Vec<u64>,
}

/// All that samplers wrote.
#[derive(Debug, Default)]
pub struct Sampled {
    /// Contexts, callers before those they call.
    pub contexts: Vec<Context>,
    /// Samples, in the order of writing.
    pub samples: Vec<Sample>,
    /// Events of the timeline, in the order of writing.
    pub events: Vec<Event>,
    /// Objects that were there when it was last looked, in no particular order.
    pub objects: Vec<Watched>,
    /// What such objects took after collections.
    pub growth: Vec<Growth>,
    /// After how many collections that was, point by point.
    pub collections: Vec<u64>,
    /// First id of each chunk, and the index that goes with it; sorted.
    chunks: Vec<(u32, u32)>,
}

impl Sampled {
    /// Reads a chunk's contexts; returns how many make no sense. Those that are not written yet do not count.
    pub(crate) fn read_contexts(&mut self, bytes: Bytes<'_>, mut at: u64, end: u64) -> u64 {
        let mut damaged = 0;
        let Ok(first) = u32::try_from(at / context::SIZE) else { return 1 };
        self.chunks.push((first, self.contexts.len() as u32));
        while at + context::SIZE <= end {
            let code = bytes.u64(at + context::CODE).unwrap_or(0);
            let parent = bytes.u32(at + context::PARENT).unwrap_or(0);
            let place = bytes.u32(at + context::PLACE).unwrap_or(0);
            let bci = place & layout::NO_BCI;
            let mut read = Context {
                code,
                parent: None,
                kind: place >> 24,
                bci: (bci != layout::NO_BCI).then_some(bci),
            };
            if parent != 0 {
                match self.index_of(parent) {
                    Some(index) => read.parent = Some(index),
                    None => {
                        damaged += u64::from(code != 0);
                        read.code = 0;
                    }
                }
            }
            self.contexts.push(read);
            at += context::SIZE;
        }
        damaged
    }

    /// Reads a chunk's samples, after all contexts; returns how many make no sense.
    pub(crate) fn read_samples(&mut self, bytes: Bytes<'_>, mut at: u64, end: u64) -> u64 {
        let mut damaged = 0;
        while at + sample::SIZE <= end {
            match self.read_sample(bytes, at) {
                Ok(sample) => self.samples.extend(sample),
                Err(Damaged) => damaged += 1,
            }
            at += sample::SIZE;
        }
        damaged
    }

    /// A sample; none if it is not written to its end.
    fn read_sample(&self, bytes: Bytes<'_>, at: u64) -> Result<Option<Sample>, Damaged> {
        let word = |field| bytes.u32(at + field).unwrap_or(0);
        let metric = word(sample::METRIC);
        if metric & 0xffff == 0 {
            return Ok(None);
        }
        Ok(Some(Sample {
            at,
            time: bytes.u64(at + sample::TIME).unwrap_or(0),
            value: bytes.u64(at + sample::VALUE).unwrap_or(0),
            count: word(sample::COUNT),
            context: self.known(word(sample::CONTEXT)).ok_or(Damaged)?,
            thread: word(sample::THREAD),
            labels: word(sample::LABELS),
            metric: metric & 0xffff,
            detail: word(sample::DETAIL),
            state: metric >> 16 & 0xff,
        }))
    }

    /// Reads a chunk's objects, after all contexts; returns how many make no sense.
    pub(crate) fn read_objects(&mut self, bytes: Bytes<'_>, mut at: u64, end: u64) -> u64 {
        let mut damaged = 0;
        while at + object::SIZE <= end {
            let word = |field| bytes.u32(at + field).unwrap_or(0);
            let age = word(object::SEEN).wrapping_sub(word(object::BORN));
            match self.read_sample(bytes, at) {
                Ok(made) => self.objects.extend(made.map(|made| Watched { made, age })),
                Err(Damaged) => damaged += 1,
            }
            at += object::SIZE;
        }
        damaged
    }

    /// Reads a chunk's series, after all contexts; returns how many make no sense.
    pub(crate) fn read_growth(&mut self, bytes: Bytes<'_>, mut at: u64, end: u64) -> u64 {
        let mut damaged = 0;
        while at + growth::SIZE <= end {
            let word = |field| bytes.u32(at + field).unwrap_or(0);
            let (what, count) = (word(growth::WHAT) & 0xffff, (word(growth::WHAT) >> 16) as usize);
            let points = (0..count.min(growth::MOST) as u64)
                .map(|place| bytes.u64(at + growth::POINTS + 8 * place).unwrap_or(0))
                .collect();
            match (what, self.known(word(growth::CONTEXT))) {
                (0, _) => {}
                (growth::COLLECTIONS, _) => self.collections = points,
                (growth::BYTES, Some(context)) => self.growth.push(Growth {
                    context,
                    thread: word(growth::THREAD),
                    detail: word(growth::DETAIL),
                    points,
                }),
                _ => damaged += 1,
            }
            at += growth::SIZE;
        }
        damaged
    }

    /// Reads a chunk's events, after all contexts; returns how many make no sense.
    pub(crate) fn read_events(&mut self, bytes: Bytes<'_>, mut at: u64, end: u64) -> u64 {
        let mut damaged = 0;
        while at + event::SIZE <= end {
            let word = |field| bytes.u32(at + field).unwrap_or(0);
            let long = |field| bytes.u64(at + field).unwrap_or(0);
            let (kind, id) = (word(event::KIND), word(event::CONTEXT));
            let context = self.known(id);
            if kind != 0 && id != 0 && context.is_none() {
                damaged += 1;
            } else if kind != 0 {
                self.events.push(Event {
                    at,
                    time: long(event::TIME),
                    duration: long(event::DURATION),
                    values: [long(event::VALUES), long(event::VALUES + 8)],
                    kind,
                    thread: word(event::THREAD),
                    detail: word(event::DETAIL),
                    context,
                });
            }
            at += event::SIZE;
        }
        damaged
    }

    /// Index of the context with this id, if it was written to its end.
    fn known(&self, id: u32) -> Option<u32> {
        let written = |&index: &u32| self.contexts.get(index as usize).is_some_and(|c| c.code != 0);
        self.index_of(id).filter(written)
    }

    /// Index of the context with this id, if it has been read already.
    fn index_of(&self, id: u32) -> Option<u32> {
        let behind = self.chunks.partition_point(|&(first, _)| first <= id);
        let &(first, index) = self.chunks.get(behind.checked_sub(1)?)?;
        let index = index.checked_add(id - first)?;
        let next = self.chunks.get(behind).map_or(self.contexts.len() as u32, |&(_, index)| index);
        (index < next).then_some(index)
    }
}

/// A sample of a context that is not there.
struct Damaged;
