//! The engines: one file for those that work alike.

mod clock;
mod instrumentation;

pub use clock::{CPU, WALL};
pub use instrumentation::{BYTECODES, EXACT};
