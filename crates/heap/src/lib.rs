//! Heap dumps: what is in them, what holds it, and what it costs.
//!
//! Design constraints, in order:
//!
//! 1. **Truth.** Numbers are those of the VM: objects to the last one, sizes from the distances of objects ([`Layout`]),
//!    dominators from the whole graph.
//! 2. **Dumps are hostile, cut off and huge.** Nothing in a dump is believed; a damaged one is read as far as it goes, and
//!    [`Dump::damage`] says where it is broken. Nothing counts objects in 32 bits. Tables with an entry for each object
//!    come from a [`Scratch`], which may be files.
//! 3. **A few passes over the file, in parallel**, instead of an index that takes longer to build than the answer is worth.
//!    Objects are numbered as they stand in the file, so that each pass is a stream.
//!
//! Nothing here prints, and files are read through a [`Source`].
//!
//! ```no_run
//! use quipu_heap::{Dump, DumpFile, Unwatched};
//! let file = DumpFile::new(std::fs::File::open("x.hprof")?)?;
//! let counted = Dump::count(&file, &Unwatched)?;
//! for row in counted.histogram.rows.iter().take(10) {
//!     println!("{} {} {}", row.objects, row.bytes, row.class);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod addresses;
mod analysis;
mod classes;
mod collections;
mod dominators;
mod dump;
mod error;
mod graph;
mod histogram;
mod ids;
mod layout;
mod leaks;
mod object;
mod paths;
mod query;
mod record;
mod scan;
mod scratch;
mod skeleton;
mod source;
mod strings;
mod watch;

pub use analysis::{Analysis, Group, GroupBy, Holder, Reachable};
pub use classes::{Class, Classes, Field, Shape, Static};
pub use collections::{CollectionRow, collections};
pub use dump::{Counted, Dump};
pub use error::{Damage, HeapError};
pub use histogram::{Change, Histogram, HistogramRow, changes};
pub use layout::Layout;
pub use leaks::{Suspect, suspects};
pub use object::{Contents, Object, Objects, Value};
pub use paths::{Path, Paths, Step};
pub use query::{Condition, Listing, list};
pub use record::{Kind, Root, RootKind};
pub use scratch::{Bytes, InMemory, Scratch};
pub use source::{DumpFile, IdSize, Source};
pub use strings::{DuplicateString, Strings, strings};
pub use watch::{Unwatched, Watch};
