//! The first pass over a heap: counts by class, roots, classes, and where objects are. Segments are read in parallel.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::addresses::Pages;
use crate::error::{Damage, HeapError};
use crate::ids::Ids;
use crate::layout::{LAYOUTS, Votes};
use crate::record::{ClassDump, Kind, Record, Root};
use crate::source::{Cursor, IdSize, Source};
use crate::watch::Watch;

/// A part of a segment that is read by itself: whole records, about this much of the file.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    /// Where in the file it begins and ends.
    pub begin: u64,
    pub end: u64,
    /// The number of its first object, not counting classes.
    pub first: u64,
    pub objects: u64,
    /// Where, behind its begin, every [`MARK`]th object begins.
    pub marks: Vec<u32>,
}

const SPAN: u64 = 1 << 20;
/// Objects from one mark to the next: so many records are looked at to find one by its number.
pub(crate) const MARK: u64 = 32;

/// What is counted of instances of a class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub objects: u64,
    /// The least distance to the object behind; 0 if none is known.
    pub distance: u64,
}

/// What the first pass finds.
#[derive(Debug)]
pub(crate) struct Found {
    pub spans: Vec<Span>,
    pub classes: Vec<ClassDump>,
    pub roots: Vec<Root>,
    pub instances: HashMap<u64, Tally, Ids>,
    pub arrays: HashMap<u64, ArrayTally, Ids>,
    pub primitives: [ArrayTally; Kind::PRIMITIVE.len()],
    pub votes: Votes,
    pub pages: Pages,
    pub objects: u64,
    pub damage: Vec<Damage>,
    /// An id was not a multiple of 8.
    pub unaligned: bool,
    /// The last class seen, and what was counted of it but not yet put into the table.
    last: (u64, Tally),
}

/// What is counted of arrays of a class: the sizes depend on the layout, which is known at the end only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ArrayTally {
    pub objects: u64,
    pub elements: u64,
    pub bytes: [u64; LAYOUTS.len()],
}

impl ArrayTally {
    #[inline]
    fn add(&mut self, kind: Kind, length: u64) {
        self.objects += 1;
        self.elements += length;
        for (bytes, layout) in self.bytes.iter_mut().zip(LAYOUTS) {
            *bytes += layout.array(kind, length);
        }
    }

    fn merge(&mut self, other: &ArrayTally) {
        self.objects += other.objects;
        self.elements += other.elements;
        self.bytes.iter_mut().zip(other.bytes).for_each(|(bytes, more)| *bytes += more);
    }
}

/// How thorough the pass is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Counts only.
    Counts,
    /// Where objects are, too.
    Places {
        /// Ids are multiples of 1 << shift.
        shift: u32,
    },
}

impl Found {
    fn new(detail: Detail) -> Found {
        let shift = if let Detail::Places { shift } = detail { shift } else { 3 };
        Found {
            spans: Vec::new(),
            classes: Vec::new(),
            roots: Vec::new(),
            instances: HashMap::default(),
            arrays: HashMap::default(),
            primitives: Default::default(),
            votes: Votes::default(),
            pages: Pages::new(shift),
            objects: 0,
            damage: Vec::new(),
            unaligned: false,
            last: Default::default(),
        }
    }

    /// Reads all segments.
    pub fn scan(
        source: &dyn Source,
        ids: IdSize,
        segments: &[(u64, u64)],
        detail: Detail,
        watch: &dyn Watch,
    ) -> Result<Found, HeapError> {
        watch.begin("reading objects", segments.iter().map(|(begin, end)| end - begin).sum());
        let parts = segments
            .par_iter()
            .try_fold(
                || (Found::new(detail), Cursor::new(source)),
                |(mut found, mut cursor), &(begin, end)| {
                    found.segment(&mut cursor, ids, (begin, end), detail, watch)?;
                    Ok((found, cursor))
                },
            )
            .map(|part| part.map(|(found, _)| found))
            .collect::<Result<Vec<Found>, HeapError>>()?;
        let mut all = Found::new(detail);
        parts.into_iter().for_each(|part| all.append(part));
        Ok(all)
    }

    fn segment(
        &mut self,
        cursor: &mut Cursor<'_>,
        ids: IdSize,
        (begin, end): (u64, u64),
        detail: Detail,
        watch: &dyn Watch,
    ) -> Result<(), HeapError> {
        cursor.go(begin, end);
        loop {
            let stopped = self.span(cursor, ids, detail);
            self.settle();
            if let Some(span) = self.spans.last() {
                watch.advance(span.end.saturating_sub(span.begin));
            }
            match stopped {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(stop) => {
                    self.damage.push(stop.damage()?);
                    return Ok(());
                }
            }
        }
    }

    /// Reads up to the end of a span; whether it is the end of the segment.
    fn span(
        &mut self,
        cursor: &mut Cursor<'_>,
        ids: IdSize,
        detail: Detail,
    ) -> Result<bool, crate::error::Stop> {
        let (begin, first) = (cursor.offset(), self.objects);
        self.spans.push(Span { begin, end: begin, first, objects: 0, marks: Vec::new() });
        // The object before, of which the distance to the next is to be known.
        let mut before = Before::Nothing;
        let mut votes_left = 64;
        let result = loop {
            let at = cursor.offset();
            if cursor.is_done() || at - begin >= SPAN {
                break Ok(cursor.is_done());
            }
            let record = match Record::next(cursor, ids) {
                Ok(record) => record,
                Err(stop) => break Err(stop),
            };
            if let Err(stop) = cursor.skip(record.contents(ids)) {
                break Err(stop);
            }
            let id = match record {
                Record::Instance { id, class, .. } => {
                    before.distance(id, self, &mut votes_left);
                    if class != self.last.0 {
                        self.settle();
                        self.last.0 = class;
                    }
                    self.last.1.objects += 1;
                    before = Before::Instance { id };
                    id
                }
                Record::ObjectArray { id, class, length } => {
                    self.arrays.entry(class).or_default().add(Kind::Object, u64::from(length));
                    before.distance(id, self, &mut votes_left);
                    before = Before::Array { id, kind: Kind::Object, length };
                    id
                }
                Record::PrimitiveArray { id, kind, length, .. } => {
                    self.primitives[kind as usize - 1].add(kind, u64::from(length));
                    before.distance(id, self, &mut votes_left);
                    before = Before::Array { id, kind, length };
                    id
                }
                Record::Class(class) => {
                    self.classes.push(*class);
                    continue;
                }
                Record::Root(root) => {
                    self.roots.push(root);
                    continue;
                }
                Record::Nothing => continue,
            };
            if let Detail::Places { .. } = detail {
                if (self.objects - first).is_multiple_of(MARK)
                    && let Some(span) = self.spans.last_mut()
                {
                    span.marks.push((at - begin) as u32);
                }
                self.unaligned |= !self.pages.add(id, self.objects);
            }
            self.objects += 1;
        };
        let end = cursor.offset();
        if let Some(span) = self.spans.last_mut() {
            span.objects = self.objects - first;
            // Of a record that is damaged nothing is kept, but it may have been begun.
            span.end = end;
        }
        result
    }

    /// Puts what was counted of the last class into the table.
    #[inline]
    fn settle(&mut self) {
        let (class, tally) = std::mem::take(&mut self.last);
        if tally.objects > 0 {
            self.instances.entry(class).or_default().merge(&tally);
        }
    }

    fn append(&mut self, mut part: Found) {
        let (objects, pages) = (self.objects, self.pages.pages.len());
        part.spans.iter_mut().for_each(|span| span.first += objects);
        self.spans.append(&mut part.spans);
        self.classes.append(&mut part.classes);
        self.roots.append(&mut part.roots);
        for (class, tally) in part.instances {
            self.instances.entry(class).or_default().merge(&tally);
        }
        for (class, tally) in &part.arrays {
            self.arrays.entry(*class).or_default().merge(tally);
        }
        self.primitives.iter_mut().zip(&part.primitives).for_each(|(sum, tally)| sum.merge(tally));
        self.votes.iter_mut().zip(part.votes).for_each(|(sum, votes)| *sum += votes);
        self.pages.pages.append(&mut part.pages.pages);
        self.pages.raise(pages, objects);
        self.objects += part.objects;
        self.damage.append(&mut part.damage);
        self.unaligned |= part.unaligned;
    }
}

impl Tally {
    fn merge(&mut self, other: &Tally) {
        self.objects += other.objects;
        self.near(other.distance);
    }

    #[inline]
    fn near(&mut self, distance: u64) {
        if distance > 0 && (self.distance == 0 || distance < self.distance) {
            self.distance = distance;
        }
    }
}

/// The object before the one that is being read.
enum Before {
    Nothing,
    /// Of the class that was counted last.
    Instance {
        id: u64,
    },
    Array {
        id: u64,
        kind: Kind,
        length: u32,
    },
}

/// No distance between neighbours is larger than the largest of their sizes that is of interest.
const FAR: u64 = 1 << 16;

impl Before {
    #[inline]
    fn distance(&self, id: u64, found: &mut Found, votes_left: &mut u32) {
        match *self {
            Before::Instance { id: before } if id.wrapping_sub(before) < FAR => {
                found.last.1.near(id - before)
            }
            Before::Array { id: before, kind, length }
                if id.wrapping_sub(before) < FAR && *votes_left > 0 =>
            {
                *votes_left -= 1;
                for (votes, layout) in found.votes.iter_mut().zip(LAYOUTS) {
                    *votes += u64::from(layout.array(kind, u64::from(length)) == id - before);
                }
            }
            _ => {}
        }
    }
}
