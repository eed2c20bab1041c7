//! One file for each kind.

mod alloc;
mod bytecodes;
mod calls;
mod cpu;
mod event;
mod exact;
mod live;
mod locks;
mod root;
mod shared;
mod timeline;
mod wall;

use crate::Kind;

pub use alloc::ALLOC;
pub use bytecodes::BYTECODES;
pub use calls::{CALLS, EXHAUSTIVE};
pub use cpu::CPU;
pub use event::{CHAINED_METRIC, CONTEXT, EVENT, EVENT_METRIC};
pub use exact::EXACT;
pub use live::LIVE;
pub use locks::LOCKS;
pub use root::ROOT;
pub use shared::{INTERNAL, SHARED};
pub use timeline::TIMELINE;
pub use wall::WALL;

/// All kinds, in the order in which they are told.
pub const KINDS: &[&Kind] =
    &[&EXACT, &BYTECODES, &ROOT, &CALLS, &CPU, &WALL, &EVENT, &ALLOC, &LIVE, &LOCKS, &TIMELINE];

/// What kinds that rewrite classes need of the JVM: HotSpot compiles no method of more than 8,000 bytes, and inserted code
/// can take one over that.
const REWRITING: &[&str] = &["-XX:-DontCompileHugeMethods"];

/// Compiled code then knows where it is between calls as well; without it, samples are charged to the next call site.
const SAMPLING: &[&str] = &["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"];
