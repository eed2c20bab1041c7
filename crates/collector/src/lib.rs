//! The side of Quipu that stands outside the target: finding JVMs and talking to them.
//!
//! Whatever comes from a target is hostile: its files, its answers, even its name. It is bounded, checked and decoded
//! by functions that take bytes, which are apart from the thin code that fetches the bytes.
//!
//! - [`arena`] finds and reads the file in which a target keeps its profile.
//! - [`attach`] speaks HotSpot's attach protocol: load an agent, run a `jcmd`.
//! - [`control`] steers a profile that is being taken.
//! - [`executable`] tells programs that cannot be measured.
//! - [`facts`] reads what an agent said of its JVM.
//! - [`import`] makes a profile of an arena.
//! - [`jvms`] lists the JVMs of this machine.
//! - [`orphans`] lists the arenas that no process uses any more.

#![forbid(unsafe_code)]

pub mod arena;
pub mod attach;
pub mod control;
pub mod executable;
pub mod facts;
pub mod import;
pub mod jvms;
pub mod orphans;

mod proc;
