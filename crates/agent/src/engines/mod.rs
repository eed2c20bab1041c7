//! The engines: one file for those that work alike.

mod alloc;
mod clock;
mod instrumentation;
mod locks;
mod timeline;

pub use alloc::ALLOC;
pub use clock::{CPU, WALL};
pub use instrumentation::{BYTECODES, EXACT};
pub use locks::LOCKS;
pub use timeline::TIMELINE;
