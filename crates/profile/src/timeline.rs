//! What happened when: samples and events with a time. Both are optional; exact profiles have none.

use crate::{MetricId, NodeId, Profile, StrId, ThreadId};

/// Names a set of labels that samples carry, see [`Profile::labels`].
pub type LabelsId = u32;

/// Of a sample without labels.
pub const NO_LABELS: LabelsId = 0;

/// Of a sample that does not say where its method was.
pub const NO_BCI: u32 = u32::MAX;

/// One sample: at this time, this context was charged this much.
///
/// Samples repeat what the tree's metrics already add up; they are what a cut by time or label works on.
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
    /// What it was on behalf of: a request, a user, a phase. [`NO_LABELS`] for nothing in particular.
    pub labels: LabelsId,
    /// Where the context's method was: a bytecode index, or [`NO_BCI`].
    pub bci: u32,
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
    /// The context in which it took place, or [`NO_NODE`](crate::NO_NODE). The last field, so that events are in order
    /// without it, too: it has a section of its own in the file.
    pub node: NodeId,
}

impl Profile {
    /// The labels (key, value) that this id of a sample stands for, sorted by key.
    pub fn labels(&self, id: LabelsId) -> &[(StrId, StrId)] {
        id.checked_sub(1).map_or(&[], |at| &self.label_sets[at as usize])
    }

    /// True when any of the labels is this one.
    pub(crate) fn has_label(&self, labels: &[(StrId, StrId)], key: &str, value: &str) -> bool {
        labels.iter().any(|&(k, v)| (self.str(k), self.str(v)) == (key, value))
    }
}
