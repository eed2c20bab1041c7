//! What rewriting a class results in.

use quipu_classfile::{Code, Method};

/// What became of a class.
#[derive(Debug, Default)]
pub struct Rewritten {
    /// The new bytes; `None` if nothing changed.
    pub bytes: Option<Vec<u8>>,
    /// The methods that count themselves.
    pub shapes: Vec<Shape>,
    /// The methods that should have been instrumented but cannot.
    pub left: Vec<Left>,
    /// Positions of the methods that have become too long for HotSpot to compile.
    pub huge: Vec<usize>,
}

/// A method that an instrument could not be put into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Its position in the class.
    pub index: usize,
    /// The instrument.
    pub of: &'static str,
    /// Why; and which, unless it is the one that counts.
    pub why: String,
}

/// What a node of a method looks like, and how to read it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shape {
    /// The method's id.
    pub id: u32,
    /// Its position in the class.
    pub index: usize,
    /// Slots of its nodes; slot 0 is for calls the VM makes.
    pub slots: u32,
    /// Bytecodes that every call executes and that are not counted otherwise.
    pub per_call: u32,
    /// Bytecode index of each slot's call, from slot 1 on, if slots are call sites.
    pub sites: Vec<u16>,
    /// Bytecode index, number of instructions and number of allocations of each counted block, in turn.
    pub blocks: Vec<u16>,
    /// Opaque methods that every call of this one calls once.
    pub derived: Vec<u32>,
    /// Slots that count calls of opaque methods, and the methods.
    pub leaves: Vec<[u32; 2]>,
    /// Bytecode index and line, in turn: all lines where a report can use them, else the first.
    pub lines: Vec<u16>,
    /// Whether its nodes have numbers of samples instead of calls and bytecodes.
    pub sampled: bool,
    /// Whether its nodes have times instead of bytecodes, and whose clock tells them.
    pub timed: Option<Clock>,
}

/// Whose time that of a method is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Clock {
    /// Its own.
    Own,
    /// Its caller's: it only counts its calls.
    Callers,
}

/// Bytecode indices and lines, in turn; only the first unless `all`.
pub(crate) fn lines(method: &Method<'_, '_>, code: &Code<'_>, all: bool) -> Vec<u16> {
    let Some(table) = code.attributes.find(method.class().pool(), b"LineNumberTable") else {
        return Vec::new();
    };
    let rows = table.data.get(2..).unwrap_or_default().chunks_exact(4);
    let rows = rows.take(if all { usize::MAX } else { 1 });
    rows.flat_map(|row| {
        row.chunks_exact(2).map(|half| half.iter().fold(0, |n, &byte| n << 8 | u16::from(byte)))
    })
    .collect()
}
