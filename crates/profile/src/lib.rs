//! The profile: one calling context tree that carries any number of metrics, whatever measured them.
//!
//! Three decisions shape this crate; `docs/profile.md` argues for them.
//!
//! 1. **A [`Profile`] is always canonical.** Strings, methods and threads are sorted, nodes stand in preorder and
//!    siblings are sorted by method and call site. The same counts therefore give the same bytes, in whatever order
//!    and under whatever ids they were fed. Only a [`Builder`] makes profiles, and every operation goes through it.
//! 2. **Trees are columns.** [`Tree`] holds `parent`, `method`, `site` and `end` vectors; a [`Metric`] is one more
//!    column. Preorder makes a subtree the range `node..end(node)`, so totals are one backward scan and nothing
//!    recurses: a chain of 100,000 frames is an ordinary tree.
//! 3. **What differs from run to run lives apart.** [`Meta`] describes the experiment and is part of the content;
//!    [`Run`] has pids, timestamps and measured costs, in a file section that comparisons leave out.
//!
//! ```
//! use quipu_profile::{Builder, MethodSpec, MetricSpec, ThreadSpec, UNKNOWN_SITE};
//!
//! let mut b = Builder::new();
//! let calls = b.metric(MetricSpec::calls());
//! let main = b.method(MethodSpec { class: "Foo", name: "main", descriptor: "([Ljava/lang/String;)V", ..Default::default() });
//! let thread = b.thread(ThreadSpec { name: "main", ..Default::default() });
//! let node = b.child(b.root(thread), main, UNKNOWN_SITE);
//! b.add(node, calls, 1);
//! let profile = b.finish();
//! assert_eq!(profile.metric("calls").unwrap().total(), 1);
//! ```
//!
//! The crate does no printing and knows nothing of JVMs, arenas or other tools' formats.
#![forbid(unsafe_code)]

mod align;
mod builder;
mod butterfly;
mod canon;
mod diff;
mod edges;
mod file;
mod flat;
mod frames;
mod invert;
mod lost;
mod merge;
mod meta;
mod method;
mod metric;
mod modules;
mod names;
mod nearest;
mod overlap;
mod profile;
mod select;
mod significance;
mod strings;
mod thread;
mod timeline;
mod transform;
mod tree;

pub use align::{Aligned, Matching, NoSuchMetric, common_metrics};
pub use builder::Builder;
pub use butterfly::{Butterfly, Neighbour};
pub use diff::{Change, ContextRow, Diff, DiffRow, Moved, diff};
pub use edges::{CallGraph, Edge};
pub use file::{Contents, Differing, FORMAT_VERSION, FileError, ReadError, replace_file, try_place};
pub use flat::{By, Keys, Totals};
pub use lost::{loses_counts, lost_in_words};
pub use merge::MergeError;
pub use meta::{Host, Jvm, Meta, Run, Target};
pub use method::{Block, Line, Method, MethodFlags, MethodId, MethodSpec, NO_METHOD};
pub use metric::{Aggregation, Metric, MetricId, MetricKind, MetricSpec, Unit};
pub use modules::jdk_module;
pub use names::{Names, class_origin, method_origin, package_of, simple_name, thread_pattern};
pub use nearest::nearest;
pub use overlap::{On, expected_overlap, overlap, overlap_of, overlap_percent};
pub use profile::Profile;
pub use significance::{
    SIGMAS, Significance, share_error, significance, standard_error, weighted_share_error,
};
pub use strings::{StrId, Strings};
pub use thread::{NO_THREAD, Thread, ThreadId, ThreadKind, ThreadSpec};
pub use timeline::{Event, LabelsId, NO_BCI, NO_LABELS, Sample};
pub use tree::{Children, NO_NODE, NodeId, Tree, UNKNOWN_SITE};
