//! Events that the kernel counts for a thread: what they are called, and counters of them.
//!
//! Design constraints:
//!
//! - The command line and the agent must agree on what an event's name means and on why it cannot be had, so that is here, once.
//! - A counter belongs to one thread. It counts on while a signal is on its way: what it says is the truth, and a signal
//!   only says that it is time to look.
//! - Reading a counter is one system call, for signal handlers.
//!
//! It knows nothing of any JVM.

#![allow(
    unsafe_code,
    reason = "perf_event_open and what is done with its descriptors are plain system calls"
)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod allowed;
mod attributes;
mod counter;
mod event;
mod names;
pub mod usdt;

pub use allowed::{Refused, paranoia};
pub use attributes::{Attributes, Scope};
pub use counter::{Count, arm, enable, open, read, refresh, settle};
pub use event::{Event, Group};
pub use names::{NAMED, Named};
