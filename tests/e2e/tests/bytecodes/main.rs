//! Samples every N bytecodes.

mod attached;
mod counts;
mod same_everywhere;
mod subset;
mod threads;
mod verify;
