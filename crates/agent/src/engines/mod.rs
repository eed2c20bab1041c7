//! The engines: one file for those that work alike. A new one is named here, and nowhere else.

mod alloc;
pub mod calls;
mod clock;
#[cfg(test)]
mod example;
mod instrumentation;
pub mod interval;
mod live;
pub mod locks;
mod made;
pub mod root;
mod timeline;

use quipu_kinds::KINDS;

use crate::engine::Engine;

use alloc::ALLOC;
use calls::CALLS;
use clock::{CPU, EVENT, WALL};
use instrumentation::{BYTECODES, EXACT};
use live::LIVE;
use locks::LOCKS;
use root::ROOT;
use timeline::TIMELINE;

/// One for each kind, in the order in which they are started: what is instrumented first, so that samples find their
/// contexts in it.
pub static ENGINES: [&dyn Engine; KINDS.len()] =
    [&EXACT, &BYTECODES, &ROOT, &CALLS, &CPU, &WALL, &EVENT, &ALLOC, &LIVE, &LOCKS, &TIMELINE];
