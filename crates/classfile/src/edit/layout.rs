//! Where everything goes: insertions sorted by place, and the map from old to new positions, which is filled while the
//! code is written.

use super::pen::SPARE;
use super::positions::Positions;
use crate::code::Code;
use crate::scan::Scan;

/// Bytes of a `goto_w`.
const FAR: u64 = 5;
/// Bytes that a switch may need more than before.
const MOST_PADDING: u64 = 3;
/// In code of this length every jump reaches.
const REACH: u64 = 32_767;

/// Where a snippet goes relative to the instruction and the place branches to it arrive.
/// The order is the order in the code; branches arrive between `FallThrough` and `Handler`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    Entry,
    FallThrough,
    Handler,
    Before,
    Leave,
}

/// A snippet at an instruction, in eight bytes: where most instructions get one, they are what an edit needs most memory
/// for. From the highest bit: place (16 bits), rank (3), how much of the snippet buffer was in use (16), and then either
/// a bit and the length of what is in the buffer from there on, or no bit and the snippet itself if it is short. So the
/// order of the numbers is the order in the code, and at the same place and rank the order in which snippets were given,
/// as long as short ones are only used where they come after all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Insertion(u64);

/// What an insertion holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// This many of these bytes.
    Short([u8; Insertion::SHORT], u16),
    /// A piece of the snippet buffer.
    Kept(Span),
}

impl Insertion {
    /// Longest snippet that needs no buffer: a counter's `iinc`.
    pub(crate) const SHORT: usize = 3;
    const PLACE: u32 = 45;
    const START: u32 = 29;
    const IN_BUFFER: u64 = 1 << 28;

    /// Where a snippet goes; larger comes later in the code.
    #[inline]
    pub(crate) fn place(bci: u16, rank: Rank) -> u64 {
        ((u64::from(bci) << 3) | rank as u64) << Self::PLACE
    }

    #[inline]
    pub(crate) fn kept(place: u64, span: Span) -> Self {
        Insertion(place | (u64::from(span.start) << Self::START) | Self::IN_BUFFER | u64::from(span.len))
    }

    #[inline]
    pub(crate) fn short(place: u64, in_use: u16, [a, b, c]: [u8; Self::SHORT], len: usize) -> Self {
        let bytes = u64::from(u32::from_be_bytes([len as u8, a, b, c]));
        Insertion(place | (u64::from(in_use) << Self::START) | bytes)
    }

    /// Does everything at this place and rank come after this one?
    #[inline]
    pub(crate) fn is_before(self, place: u64) -> bool {
        (self.0 >> Self::PLACE) < (place >> Self::PLACE)
    }

    #[inline]
    pub(crate) fn bci(self) -> u32 {
        (self.0 >> (Self::PLACE + 3)) as u32
    }

    #[inline]
    fn rank(self) -> u8 {
        (self.0 >> Self::PLACE) as u8 & 7
    }

    /// Does it come before the place where branches arrive?
    #[inline]
    pub(crate) fn is_above_label(self) -> bool {
        self.rank() <= Rank::FallThrough as u8
    }

    /// Length of the snippet.
    #[inline]
    pub(crate) fn len(self) -> u16 {
        if self.0 & Self::IN_BUFFER == 0 { (self.0 >> 24) as u16 & 0xf } else { self.0 as u16 }
    }

    #[inline]
    pub(crate) fn held(self) -> Held {
        let len = self.len();
        if self.0 & Self::IN_BUFFER == 0 {
            let [_, a, b, c] = (self.0 as u32).to_be_bytes();
            Held::Short([a, b, c], len)
        } else {
            Held::Kept(Span { start: (self.0 >> Self::START) as u16, len })
        }
    }
}

/// A piece of the snippet buffer, which stays shorter than a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u16,
    pub(crate) len: u16,
}

/// Which way out of an instruction; ordered so that stubs can be found by binary search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EdgeKey {
    Branch(u32),
    Case(u32, u32),
    Default(u32),
    Handler(u32),
}

/// A snippet on an edge. Snippets of the same edge share a stub, in the order they were given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeInsertion {
    pub(crate) key: EdgeKey,
    pub(crate) target: u32,
    pub(crate) snippet: Span,
    /// New position of the stub this snippet starts; `u32::MAX` if it continues the one before.
    pub(crate) position: u32,
    /// Whether the snippet may throw; see [`super::CodeEditor::insert_guarded_at_handler`].
    pub(crate) guarded: bool,
}

/// What is inserted, and where everything goes.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub(crate) positions: Positions,
    pub(crate) insertions: Vec<Insertion>,
    /// Are insertions out of order?
    mixed: bool,
    /// Bytes of all insertions.
    inserted: u64,
    pub(crate) edges: Vec<EdgeInsertion>,
    pub(crate) snippets: Vec<u8>,
    /// The snippet kept last.
    pub(crate) last_snippet: Option<Span>,
    /// For each jump of the scan, whether it needs the long form. Empty if none does; one flag even without jumps tells
    /// stubs to jump far.
    pub(crate) long: Vec<bool>,
    /// Length of the entry snippets.
    pub(crate) entry_len: u32,
    /// End of the old code, its insertions included; stubs follow.
    pub(crate) code_end: u32,
    /// End of the stubs; handlers follow.
    pub(crate) stubs_end: u32,
}

impl Layout {
    pub(crate) fn clear(&mut self) {
        self.insertions.clear();
        (self.mixed, self.inserted) = (false, 0);
        self.edges.clear();
        self.snippets.clear();
        self.last_snippet = None;
        self.long.clear();
    }

    /// Bytes kept for the next method.
    pub(crate) fn memory(&self) -> usize {
        self.positions.memory()
            + size_of::<Insertion>() * self.insertions.capacity()
            + size_of::<EdgeInsertion>() * self.edges.capacity()
            + self.snippets.capacity()
            + self.long.capacity()
    }

    /// Where branches to the old position go.
    #[inline]
    pub(crate) fn label(&self, bci: u32) -> u32 {
        self.positions.label(bci)
    }

    /// Where the instruction itself is, after anything inserted before it.
    pub(crate) fn instruction(&self, bci: u32) -> u32 {
        let first = self.insertions.partition_point(|i| i.bci() < bci);
        let inserted = self.insertions.iter().skip(first).take_while(|i| i.bci() == bci);
        let len: u32 = inserted.filter(|i| !i.is_above_label()).map(|i| u32::from(i.len())).sum();
        self.label(bci) + len
    }

    /// A snippet in the buffer.
    pub(crate) fn bytes(&self, span: Span) -> &[u8] {
        let start = usize::from(span.start);
        self.snippets.get(start..start + usize::from(span.len)).unwrap_or_default()
    }

    /// New position of the stub on an edge.
    pub(crate) fn stub(&self, key: EdgeKey) -> Option<u32> {
        if self.edges.is_empty() {
            return None;
        }
        let first = self.edges.partition_point(|e| e.key < key);
        self.edges.get(first).filter(|e| e.key == key).map(|e| e.position)
    }

    /// Where snippets are that may throw, from and to, and what they are in front of.
    pub(crate) fn guards(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        let mut at = 0;
        self.edges.iter().filter_map(move |edge| {
            let start = if edge.position == u32::MAX { at } else { edge.position };
            at = start + u32::from(edge.snippet.len);
            edge.guarded.then_some((start, at, edge.target))
        })
    }

    /// Adds a snippet of `len` bytes, which may come after all others in the code.
    #[inline]
    pub(crate) fn insert(&mut self, insertion: Insertion, len: usize, comes_last: bool) {
        self.mixed |= !comes_last && self.insertions.last().is_some_and(|last| *last > insertion);
        self.inserted += len as u64;
        self.insertions.push(insertion);
    }

    /// Puts everything in order before the code is written.
    pub(crate) fn sort(&mut self) {
        if self.mixed {
            self.insertions.sort_unstable();
        }
        if !self.edges.is_empty() {
            self.edges.sort_by_key(|e| e.key);
        }
        let entry = self.insertions.iter().take_while(|i| i.rank() == Rank::Entry as u8);
        self.entry_len = entry.map(|i| u32::from(i.len())).sum();
        if !self.snippets.is_empty() {
            self.snippets.reserve_exact(SPARE);
            self.snippets.extend([0; SPARE]);
        }
    }

    /// The code gets no longer than this with its snippets and what jumps to and from them.
    pub(crate) fn longest(&self, code: &Code<'_>, scan: &Scan) -> u64 {
        let on_edges: u64 = self.edges.iter().map(|e| u64::from(e.snippet.len) + FAR).sum();
        let near = code.bytes.len() as u64 + self.inserted + on_edges + MOST_PADDING * scan.switches as u64;
        // A branch that does not reach becomes an inverted one and a far jump.
        if near <= REACH { near } else { near + FAR * scan.jumps.len() as u64 }
    }

    /// Gives stubs their positions after the code, which ends at `code_end`.
    pub(crate) fn place_stubs(&mut self, code_end: u32) {
        self.code_end = code_end;
        let jump = if self.long.is_empty() { 3 } else { 5 };
        let mut position = self.code_end;
        let mut previous = None;
        for edge in &mut self.edges {
            if previous == Some(edge.key) {
                edge.position = u32::MAX;
            } else {
                if previous.is_some() {
                    position += jump;
                }
                edge.position = position;
            }
            previous = Some(edge.key);
            position += u32::from(edge.snippet.len);
        }
        if previous.is_some() {
            position += jump;
        }
        self.stubs_end = position;
    }
}

/// Bytes between a switch's opcode and its operands.
#[inline]
pub(crate) fn padding(bci: u32) -> u16 {
    3 - (bci as u16 & 3)
}
