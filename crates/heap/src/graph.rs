//! Who refers to whom.
//!
//! Objects are numbered as they stand in the dump, and mostly refer to objects nearby: so references are kept as distances,
//! in as few bytes as each needs. Of an object there is: for an instance the number of its references, for an array its
//! length and (of references) how many bytes follow; then the distances. Every [`BLOCK`]th object's place is known.
//!
//! Weak, soft and phantom references do not hold what they refer to and are kept apart. The local variables of a thread are
//! references of the thread object. An object refers to its class, too, which is not written down but known.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::classes::{Class, Shape};
use crate::dump::Dump;
use crate::error::{HeapError, Stop};
use crate::histogram::class_object_size;
use crate::record::{Kind, Record, Root, RootKind};
use crate::scan::Span;
use crate::scratch::{Bytes, Numbers, Scratch, allocate};
use crate::source::Cursor;
use crate::watch::Watch;

const BLOCK: u64 = 8;
/// Spans that are encoded at a time, before what was made of them is put away.
const BATCH: usize = 128;

/// A directed graph with roots. Nodes are numbers from 0 on.
pub(crate) trait Graph {
    fn nodes(&self) -> u64;
    fn roots(&self) -> Vec<u64>;
    /// Calls something with the targets of a node's edges.
    fn targets(&self, node: u64, each: impl FnMut(u64));
    /// Calls something with all edges, by source.
    fn edges(&self, mut each: impl FnMut(u64, u64)) {
        for node in 0..self.nodes() {
            self.targets(node, |target| each(node, target));
        }
    }
}

/// The objects of a dump and their references.
pub(crate) struct References<'d> {
    dump: &'d Dump<'d>,
    class_targets: Vec<Vec<u64>>,
    spans: Vec<EncodedSpan>,
    blobs: Vec<Box<dyn Bytes>>,
    blocks: Vec<u32>,
    /// Class of each object that is no class object.
    class_of: Numbers,
    /// Whether instances of a class hold it, which they need not if it is a root.
    holds_class: Vec<bool>,
    locals: HashMap<u64, Vec<u64>>,
    /// Objects that are roots, and why; without those that belong to a thread.
    pub roots: Vec<(u64, Root)>,
    /// Local variables and such: thread object, what it holds, and how.
    pub held_by_threads: Vec<(u64, u64, Root)>,
    /// Weak, soft and phantom references: the reference object and what it refers to.
    pub weak: Vec<(u64, u64)>,
    /// References to objects that are not in the dump.
    pub dangling: u64,
}

struct EncodedSpan {
    /// The number of its first object, not counting classes.
    first: u64,
    objects: u64,
    blob: usize,
    begin: usize,
    block: usize,
}

/// What is made of a span.
#[derive(Default)]
struct Encoded {
    bytes: Vec<u8>,
    blocks: Vec<u32>,
    classes: Vec<u32>,
    weak: Vec<(u64, u64)>,
    dangling: u64,
}

impl<'d> References<'d> {
    pub fn read(
        dump: &'d Dump<'d>,
        scratch: &dyn Scratch,
        watch: &dyn Watch,
    ) -> Result<References<'d>, HeapError> {
        watch.begin("following references", dump.spans.iter().map(|span| span.end - span.begin).sum());
        let mut graph = References {
            dump,
            class_targets: class_targets(dump),
            spans: Vec::with_capacity(dump.spans.len()),
            blobs: Vec::new(),
            blocks: Vec::new(),
            class_of: Numbers::new(scratch, dump.objects, dump.classes.count() as u64)?,
            holds_class: vec![true; dump.classes.count()],
            locals: HashMap::new(),
            roots: Vec::new(),
            held_by_threads: Vec::new(),
            weak: Vec::new(),
            dangling: 0,
        };
        graph.find_roots();
        for batch in dump.spans.chunks(BATCH) {
            let encoded = batch
                .par_iter()
                .map_init(
                    || Cursor::new(dump.source),
                    |cursor, span| {
                        let encoded = encode(dump, span, cursor);
                        watch.advance(span.end - span.begin);
                        encoded
                    },
                )
                .collect::<Result<Vec<Encoded>, HeapError>>()?;
            graph.put_away(batch, encoded, scratch)?;
        }
        Ok(graph)
    }

    fn put_away(
        &mut self,
        spans: &[Span],
        encoded: Vec<Encoded>,
        scratch: &dyn Scratch,
    ) -> Result<(), HeapError> {
        let total: usize = encoded.iter().map(|part| part.bytes.len()).sum();
        let mut blob = allocate(scratch, total as u64)?;
        let (bytes, mut begin) = (blob.get_mut(), 0);
        let mut class_of = self.class_of.view_mut();
        for (span, mut part) in spans.iter().zip(encoded) {
            bytes[begin..begin + part.bytes.len()].copy_from_slice(&part.bytes);
            self.spans.push(EncodedSpan {
                first: span.first,
                objects: span.objects,
                blob: self.blobs.len(),
                begin,
                block: self.blocks.len(),
            });
            begin += part.bytes.len();
            self.blocks.append(&mut part.blocks);
            for (number, class) in (span.first..).zip(part.classes) {
                class_of.set(number, u64::from(class));
            }
            self.weak.append(&mut part.weak);
            self.dangling += part.dangling;
        }
        self.blobs.push(blob);
        Ok(())
    }

    fn find_roots(&mut self) {
        let threads: HashMap<u32, u64> = self
            .dump
            .roots
            .iter()
            .filter(|root| root.kind == RootKind::Thread)
            .filter_map(|root| Some((root.thread, self.dump.number(root.id)?)))
            .collect();
        for &root in &self.dump.roots {
            let Some(number) = self.dump.number(root.id) else { continue };
            let of_thread = matches!(
                root.kind,
                RootKind::JniLocal | RootKind::JavaFrame | RootKind::NativeStack | RootKind::ThreadBlock
            );
            match threads.get(&root.thread).filter(|_| of_thread) {
                Some(&thread) => {
                    self.locals.entry(thread).or_default().push(number);
                    self.held_by_threads.push((thread, number, root));
                }
                None => {
                    self.roots.push((number, root));
                    if let Some(holds) =
                        self.holds_class.get_mut(number as usize).filter(|_| number < self.dump.first())
                    {
                        *holds = false;
                    }
                }
            }
        }
        for holds in self.holds_class.iter_mut().skip(self.dump.classes.with_object) {
            *holds = false;
        }
    }

    /// The number of an object's class.
    pub fn class(&self, node: u64) -> u32 {
        match node.checked_sub(self.dump.first()) {
            Some(place) => self.class_of.get(place) as u32,
            None => self.dump.classes.class,
        }
    }

    /// Calls something with the number and the size of every object.
    pub fn sizes(&self, mut each: impl FnMut(u64, u64)) {
        for class in 0..self.dump.first() {
            each(class, class_object_size(&self.dump.classes, class as u32, self.dump.layout));
        }
        let layout = self.dump.layout();
        self.walk(|node, class, reader, _| {
            let size = match class.shape {
                Shape::Instance { size } => {
                    let count = reader.varint();
                    (0..count).for_each(|_| _ = reader.varint());
                    size
                }
                Shape::Array(kind) => {
                    let length = reader.varint();
                    if kind == Kind::Object {
                        let bytes = reader.varint();
                        reader.at += bytes as usize;
                    }
                    layout.array(kind, length)
                }
            };
            each(node, size);
        });
    }

    /// Goes through all objects that are no classes.
    fn walk(&self, mut each: impl FnMut(u64, &Class, &mut Reader<'_>, u32)) {
        let class_of = self.class_of.view();
        for span in &self.spans {
            let mut reader = Reader { bytes: self.blobs[span.blob].get(), at: span.begin };
            for place in span.first..span.first + span.objects {
                let class = class_of.get(place) as u32;
                each(place + self.dump.first(), self.dump.classes.get(class), &mut reader, class);
            }
        }
    }

    /// What an object refers to by itself, without its class and without local variables.
    fn own_targets(node: u64, class: &Class, reader: &mut Reader<'_>, mut each: impl FnMut(u64)) {
        let mut last = node;
        match class.shape {
            Shape::Instance { .. } => {
                for _ in 0..reader.varint() {
                    last = last.wrapping_add(unzigzag(reader.varint()));
                    each(last);
                }
            }
            Shape::Array(Kind::Object) => {
                reader.varint();
                let bytes = reader.varint() as usize;
                let end = reader.at + bytes;
                while reader.at < end {
                    last = last.wrapping_add(unzigzag(reader.varint()));
                    each(last);
                }
            }
            Shape::Array(_) => _ = reader.varint(),
        }
    }

    fn skip(class: &Class, reader: &mut Reader<'_>) {
        match class.shape {
            Shape::Instance { .. } => (0..reader.varint()).for_each(|_| _ = reader.varint()),
            Shape::Array(kind) => {
                reader.varint();
                if kind == Kind::Object {
                    let bytes = reader.varint();
                    reader.at += bytes as usize;
                }
            }
        }
    }

    fn also(&self, node: u64, class: u32, mut each: impl FnMut(u64)) {
        if self.holds_class[class as usize] {
            each(u64::from(class));
        }
        if !self.locals.is_empty()
            && let Some(locals) = self.locals.get(&node)
        {
            locals.iter().for_each(|&local| each(local));
        }
    }
}

impl Graph for References<'_> {
    fn nodes(&self) -> u64 {
        self.dump.objects()
    }

    fn roots(&self) -> Vec<u64> {
        self.roots.iter().map(|&(number, _)| number).collect()
    }

    fn targets(&self, node: u64, mut each: impl FnMut(u64)) {
        let Some(place) = node.checked_sub(self.dump.first()) else {
            return self.class_targets[node as usize].iter().for_each(|&target| each(target));
        };
        let Some(span) = self.spans.partition_point(|span| span.first <= place).checked_sub(1) else {
            return;
        };
        let span = &self.spans[span];
        let within = place - span.first;
        let block = within / BLOCK;
        let at = span.begin + self.blocks[span.block + block as usize] as usize;
        let mut reader = Reader { bytes: self.blobs[span.blob].get(), at };
        let class_of = self.class_of.view();
        let class = |place| self.dump.classes.get(class_of.get(place) as u32);
        for before in span.first + block * BLOCK..place {
            Self::skip(class(before), &mut reader);
        }
        Self::own_targets(node, class(place), &mut reader, &mut each);
        self.also(node, class_of.get(place) as u32, each);
    }

    fn edges(&self, mut each: impl FnMut(u64, u64)) {
        for (node, targets) in (0..).zip(&self.class_targets) {
            targets.iter().for_each(|&target| each(node, target));
        }
        self.walk(|node, class, reader, number| {
            Self::own_targets(node, class, reader, |target| each(node, target));
            self.also(node, number, |target| each(node, target));
        });
    }
}

/// What class objects refer to: superclass, loader, static fields.
fn class_targets(dump: &Dump<'_>) -> Vec<Vec<u64>> {
    let with_object = dump.classes.iter().take(dump.classes.with_object);
    let targets = with_object.map(|class| {
        let statics =
            class.statics.iter().filter(|field| field.kind == Kind::Object).map(|field| field.value);
        let ids = statics.chain(class.others.iter().copied()).chain([class.loader]);
        let superclass = class.superclass.filter(|&number| (number as usize) < dump.classes.with_object);
        let mut targets: Vec<u64> =
            ids.filter_map(|id| dump.number(id)).chain(superclass.map(u64::from)).collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    });
    targets.collect()
}

/// What is made of a span must have as many objects in it as were counted, whatever is read now.
fn encode(dump: &Dump<'_>, span: &Span, cursor: &mut Cursor<'_>) -> Result<Encoded, HeapError> {
    let mut encoded = Encoded::default();
    cursor.go(span.begin, span.end);
    let (mut count, mut last_class) = (0, (0, dump.classes.unknown));
    while count < span.objects {
        let number = dump.first() + span.first + count;
        let blocks = encoded.blocks.len() as u64;
        if blocks * BLOCK == count {
            encoded.blocks.push(encoded.bytes.len() as u32);
        }
        match one(dump, number, cursor, &mut encoded, &mut last_class) {
            Ok(true) => count += 1,
            Ok(false) => {}
            Err(Stop::Io { offset, source }) => {
                return Err(HeapError::Io { doing: "reading the dump", offset, source });
            }
            // It could be read the first time.
            Err(Stop::Short { offset } | Stop::Bad(crate::error::Damage { offset, .. })) => {
                let source = std::io::Error::other("the file has changed since it was read first");
                return Err(HeapError::Io { doing: "reading the dump", offset, source });
            }
        }
    }
    Ok(encoded)
}

/// Encodes the next object, if what comes next is one.
#[inline]
fn one(
    dump: &Dump<'_>,
    number: u64,
    cursor: &mut Cursor<'_>,
    encoded: &mut Encoded,
    last_class: &mut (u64, u32),
) -> Result<bool, Stop> {
    let ids = dump.skeleton.ids;
    let record = Record::next(cursor, ids)?;
    match record {
        Record::Instance { class, bytes, .. } => {
            if last_class.0 != class {
                *last_class = (class, dump.classes.by_id(class).unwrap_or(dump.classes.unknown));
            }
            let class_number = last_class.1;
            let contents = cursor.take(bytes as usize)?;
            let class = dump.classes.get(class_number);
            let count_at = encoded.bytes.len();
            if !matches!(class.shape, Shape::Instance { .. }) {
                // An instance of an array class: nonsense that is kept as an object without references.
                encoded.classes.push(dump.classes.unknown);
                varint(&mut encoded.bytes, 0);
                return Ok(true);
            }
            encoded.classes.push(class_number);
            // Nearly always below 128, for which a byte is enough.
            encoded.bytes.push(0);
            let (mut count, mut last) = (0_u64, number);
            for &at in &class.references {
                let id = contents.get(at as usize..).map_or(0, |bytes| ids.of(bytes));
                if id == 0 {
                    continue;
                }
                match dump.number(id) {
                    Some(target) => {
                        varint(&mut encoded.bytes, zigzag(target.wrapping_sub(last)));
                        last = target;
                        count += 1;
                    }
                    None => encoded.dangling += 1,
                }
            }
            set_count(&mut encoded.bytes, count_at, count);
            if let Some(at) = class.referent {
                let id = contents.get(at as usize..).map_or(0, |bytes| ids.of(bytes));
                encoded.weak.extend(dump.number(id).map(|target| (number, target)));
            }
        }
        Record::ObjectArray { class, length, .. } => {
            let class = dump.classes.by_id(class).unwrap_or(dump.classes.unknown);
            let is_array = dump.classes.get(class).shape == Shape::Array(Kind::Object);
            if !is_array {
                encoded.classes.push(dump.classes.unknown);
                varint(&mut encoded.bytes, 0);
                cursor.skip(record.contents(ids))?;
                return Ok(true);
            }
            encoded.classes.push(class);
            varint(&mut encoded.bytes, u64::from(length));
            let mut targets = Vec::new();
            let (mut left, mut last) = (u64::from(length), number);
            while left > 0 {
                let some = cursor.take_some(ids.bytes(), left)?;
                left -= (some.len() / ids.bytes()) as u64;
                for id in some.chunks_exact(ids.bytes()).map(|bytes| ids.of(bytes)).filter(|&id| id != 0) {
                    match dump.number(id) {
                        Some(target) => {
                            varint(&mut targets, zigzag(target.wrapping_sub(last)));
                            last = target;
                        }
                        None => encoded.dangling += 1,
                    }
                }
            }
            varint(&mut encoded.bytes, targets.len() as u64);
            encoded.bytes.append(&mut targets);
        }
        Record::PrimitiveArray { kind, length, .. } => {
            encoded.classes.push(dump.classes.of_primitives(kind));
            varint(&mut encoded.bytes, u64::from(length));
            cursor.skip(record.contents(ids))?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Writes a count to where room for one byte was left.
fn set_count(bytes: &mut Vec<u8>, at: usize, count: u64) {
    if count < 128 {
        bytes[at] = count as u8;
        return;
    }
    let mut long = Vec::new();
    varint(&mut long, count);
    bytes.splice(at..=at, long);
}

#[inline]
fn zigzag(distance: u64) -> u64 {
    let distance = distance as i64;
    ((distance << 1) ^ (distance >> 63)) as u64
}

#[inline]
fn unzigzag(value: u64) -> u64 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

#[inline]
fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 128 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Reader<'_> {
    #[inline]
    fn varint(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.bytes[self.at];
            self.at += 1;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return value;
            }
            shift += 7;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, 127, 128, 300, 1 << 35, u64::MAX, (-5_i64) as u64, i64::MIN as u64] {
            let mut bytes = Vec::new();
            varint(&mut bytes, zigzag(value));
            assert_eq!(unzigzag(Reader { bytes: &bytes, at: 0 }.varint()), value);
        }
    }

    #[test]
    fn counts_may_be_long() {
        let mut bytes = vec![9, 0, 7];
        set_count(&mut bytes, 1, 300);
        assert_eq!(bytes, [9, 0xac, 2, 7]);
    }
}
