//! The header of an arena.

use std::fmt;

use crate::bytes::Bytes;
use crate::layout::{self, header};

/// Why bytes are not an arena.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAnArena {
    /// The first word is something else.
    Magic,
    /// Shorter than a header.
    Truncated,
    /// Written by another version of Quipu.
    Version(u32),
}

impl fmt::Display for NotAnArena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotAnArena::Magic => write!(f, "is not a Quipu arena"),
            NotAnArena::Truncated => write!(f, "is shorter than an arena's header"),
            NotAnArena::Version(v) => write!(
                f,
                "is an arena of format version {v}; this program reads version {}: use the Quipu that made it",
                layout::VERSION
            ),
        }
    }
}

impl std::error::Error for NotAnArena {}

/// The numbers of the header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// Process id of the target.
    pub pid: u32,
    /// Whether the target ended in an orderly way.
    pub ended: bool,
    /// Nanoseconds since 1970.
    pub created: u64,
    /// Nanoseconds since 1970, 0 while running.
    pub ended_at: u64,
    /// End of the last chunk.
    pub used: u64,
    /// Bytes of all tallies together.
    pub tallied: u64,
    /// The size the arena may grow to.
    pub limit: u64,
    /// Calls whose context could not be opened: the arena was full.
    pub refused: u64,
    /// Nanoseconds spent in rewriting classes.
    pub rewrite_nanos: u64,
    /// Classes and methods rewritten and left alone.
    pub classes: u64,
    /// Methods rewritten.
    pub methods: u64,
    /// Methods that had to be left as they were.
    pub methods_left: u64,
    /// Classes that had to be left as they were.
    pub classes_left: u64,
    /// Stacks that were walked, or tried to be.
    pub walks: u64,
    /// Samples that threads took of themselves.
    pub samples: u64,
    /// Nanoseconds that took them.
    pub sampling_nanos: u64,
    /// What samplers lost, in the order of [`layout::CAUSES`].
    pub lost: [u64; layout::CAUSES.len()],
}

/// Reads it, if the bytes are an arena of this version.
pub(super) fn read(bytes: Bytes<'_>) -> Result<Header, NotAnArena> {
    let truncated = NotAnArena::Truncated;
    let magic = bytes.u32(header::MAGIC).ok_or(NotAnArena::Truncated)?;
    if magic != layout::MAGIC {
        return Err(NotAnArena::Magic);
    }
    let version = bytes.u32(header::VERSION).ok_or(NotAnArena::Truncated)?;
    if version != layout::VERSION {
        return Err(NotAnArena::Version(version));
    }
    if bytes.len() < layout::HEADER_SIZE {
        return Err(truncated);
    }
    let u64_at = |at| bytes.u64(at).ok_or(NotAnArena::Truncated);
    let u32_at = |at| bytes.u32(at).ok_or(NotAnArena::Truncated);
    Ok(Header {
        pid: u32_at(header::PID)?,
        ended: u32_at(header::STATE)? == layout::state::ENDED,
        created: u64_at(header::CREATED)?,
        ended_at: u64_at(header::ENDED)?,
        used: u64_at(header::USED)?,
        tallied: u64_at(header::TALLIES)?.saturating_mul(u64_at(header::TALLY_USED)?),
        limit: u64_at(header::LIMIT)?,
        refused: u64_at(header::REFUSED)?,
        rewrite_nanos: u64_at(header::REWRITE_NANOS)?,
        classes: u64_at(header::CLASSES)?,
        methods: u64_at(header::METHODS)?,
        methods_left: u64_at(header::METHODS_LEFT)?,
        classes_left: u64_at(header::CLASSES_LEFT)?,
        walks: u64_at(header::WALKS)?,
        samples: u64_at(header::SAMPLES)?,
        sampling_nanos: u64_at(header::SAMPLING_NANOS)?,
        lost: std::array::from_fn(|cause| bytes.u64(header::LOST + 8 * cause as u64).unwrap_or(0)),
    })
}
