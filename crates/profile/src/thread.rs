//! Threads: the trees of the forest.

use crate::{NodeId, StrId};

/// Index into [`Profile::threads`](crate::Profile::threads).
pub type ThreadId = u32;

/// What an event has that belongs to no thread.
pub const NO_THREAD: ThreadId = u32::MAX;

/// What kind of thread a tree belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ThreadKind {
    /// A thread of the operating system.
    #[default]
    Platform = 0,
    /// A virtual thread.
    Virtual = 1,
    /// Not a thread: the root of a profile that does not tell threads apart.
    Root = 2,
}

impl ThreadKind {
    /// The kind a file's byte stands for.
    pub(crate) fn from_byte(byte: u8) -> Option<ThreadKind> {
        [ThreadKind::Platform, ThreadKind::Virtual, ThreadKind::Root].get(byte as usize).copied()
    }

    /// `platform`, `virtual` or `root`.
    pub fn as_str(self) -> &'static str {
        match self {
            ThreadKind::Platform => "platform",
            ThreadKind::Virtual => "virtual",
            ThreadKind::Root => "root",
        }
    }
}

/// One tree of contexts. Identity is (name, group, kind, labels): threads that share it share a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Thread name, or the pattern that several names were folded into.
    pub name: StrId,
    /// Thread group; empty when unknown.
    pub group: StrId,
    /// Platform, virtual, or a root that stands for all.
    pub kind: ThreadKind,
    /// How many JVM threads are folded into this tree.
    pub threads: u64,
    /// Labels (key, value) that hold for the whole tree, sorted by key.
    pub labels: Vec<(StrId, StrId)>,
    /// The node without a method that the tree hangs from.
    pub root: NodeId,
}

impl Thread {
    /// Identity, in the canonical order when the ids are those of a finished profile.
    pub(crate) fn key(&self) -> (StrId, StrId, ThreadKind, &[(StrId, StrId)]) {
        (self.name, self.group, self.kind, &self.labels)
    }
}

/// What a [`Builder`](crate::Builder) is told about a thread.
#[derive(Clone, Copy, Debug)]
pub struct ThreadSpec<'a> {
    /// Thread name.
    pub name: &'a str,
    /// Thread group.
    pub group: &'a str,
    /// Platform, virtual, or root.
    pub kind: ThreadKind,
    /// How many JVM threads this stands for; added up when the identity is already there.
    pub threads: u64,
    /// Labels in any order.
    pub labels: &'a [(&'a str, &'a str)],
}

impl Default for ThreadSpec<'_> {
    fn default() -> Self {
        ThreadSpec { name: "", group: "", kind: ThreadKind::Platform, threads: 1, labels: &[] }
    }
}
