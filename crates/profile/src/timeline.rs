//! What happened when: samples and events with a time. Both are optional; exact profiles have none.

use crate::{MetricId, NodeId, StrId, ThreadId};

/// One sample: at this time, this context was charged this much.
///
/// Samples repeat what the tree's metrics already add up; they are what a cut by time works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sample {
    /// Nanoseconds since the profile began.
    pub time: u64,
    /// Whose sample it is.
    pub thread: ThreadId,
    /// The context.
    pub node: NodeId,
    /// The metric it was charged to.
    pub metric: MetricId,
    /// How much.
    pub value: u64,
}

/// Something that took place over a stretch of time: a collection, a compilation, a span of the application.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Event {
    /// Nanoseconds since the profile began.
    pub time: u64,
    /// Nanoseconds it lasted; 0 for an instant.
    pub duration: u64,
    /// The thread it belongs to, or [`NO_THREAD`](crate::NO_THREAD).
    pub thread: ThreadId,
    /// What it was: `gc.pause`, `jit.compile`, …
    pub name: StrId,
    /// Details (key, value), sorted by key.
    pub details: Vec<(StrId, StrId)>,
}
