//! The log: what the target says about methods, threads and itself, once each, in order.
//!
//! A record is `u32` tag, `u32` length of the payload, payload, padding to 8 bytes. Unknown tags
//! are skipped, so a record can be added without a new format version.

use crate::bytes::Reader;

/// Record tags.
pub mod tag {
    /// [`super::Record::Class`]
    pub const CLASS: u32 = 1;
    /// [`super::Record::Method`]
    pub const METHOD: u32 = 2;
    /// [`super::Record::Group`]
    pub const GROUP: u32 = 3;
    /// [`super::Record::Tree`]
    pub const TREE: u32 = 4;
    /// [`super::Record::Info`]
    pub const INFO: u32 = 5;
    /// [`super::Record::Left`]
    pub const LEFT: u32 = 6;
    /// [`super::Record::SampledMethod`]
    pub const SAMPLED_METHOD: u32 = 7;
    /// [`super::Record::SampledThread`]
    pub const SAMPLED_THREAD: u32 = 8;
    /// [`super::Record::SampledModule`]
    pub const SAMPLED_MODULE: u32 = 9;
    /// [`super::Record::SampledLabel`]
    pub const SAMPLED_LABEL: u32 = 10;
    /// [`super::Record::Start`]
    pub const START: u32 = 11;
    /// [`super::Record::Metric`]
    pub const METRIC: u32 = 12;
    /// [`super::Record::Detail`]
    pub const DETAIL: u32 = 13;
    /// [`super::Record::EventKind`]
    pub const EVENT_KIND: u32 = 14;
    /// [`super::Record::Site`]
    pub const SITE: u32 = 15;
    /// [`super::Record::ClassSize`]
    pub const CLASS_SIZE: u32 = 16;
    /// The last one that is known.
    pub const LAST: u32 = CLASS_SIZE;
}

/// Bits of [`Record::Method`]'s flags.
pub mod flag {
    /// Native or intrinsic: a leaf, nothing below it is counted.
    pub const OPAQUE: u32 = 1;
    /// The method's nodes have a number of samples in place of bytecodes.
    pub const SAMPLED: u32 = 4;
    /// They have nanoseconds in place of bytecodes.
    pub const TIMED: u32 = 8;
    /// With that: calls are counted, and their time is the caller's.
    pub const WITHOUT_CLOCK: u32 = 16;
}

/// Size of a record's tag and length.
pub const RECORD_HEADER: u64 = 8;

/// One entry of the log. Strings are the JVM's modified UTF-8, as found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record<'a> {
    /// A class whose methods follow.
    Class {
        /// Dense class id.
        id: u32,
        /// Which class loader defined it; 0 is the boot loader.
        loader: u32,
        /// Internal name, with slashes.
        name: &'a [u8],
        /// Source file, empty if unknown.
        source: &'a [u8],
    },
    /// A method.
    Method {
        /// Dense method id, above 0.
        id: u32,
        /// The class it belongs to.
        class: u32,
        /// See [`flag`].
        flags: u32,
        /// Bytecodes that every call executes and that are not counted otherwise.
        per_call: u32,
        /// Name.
        name: &'a [u8],
        /// Descriptor.
        descriptor: &'a [u8],
        /// `u16` pairs (bci, line).
        lines: &'a [u8],
        /// `u16` bytecode index of each slot's call site, from slot 1 on; empty if slots are not sites.
        sites: &'a [u8],
        /// `u16` triples (bci, instructions, allocations) of each counted block; empty if blocks are not counted. No
        /// instructions: only allocations are.
        blocks: &'a [u8],
        /// Opaque methods called once by every call before anything can go wrong: `u32` ids.
        derived: &'a [u8],
        /// `u32` pairs of a slot that counts calls of an opaque method, and that method.
        leaves: &'a [u8],
        /// `u32` triples (metric, detail, bci) of the columns that its nodes have behind the counters of blocks.
        columns: &'a [u8],
    },
    /// Threads that share trees one after the other.
    Group {
        /// Dense group id.
        id: u32,
        /// 1 for virtual threads.
        is_virtual: u32,
        /// How many threads there have been.
        threads: u64,
        /// Name of the first thread.
        first: &'a [u8],
        /// What the names have in common.
        pattern: &'a [u8],
    },
    /// A tree and the group of threads that uses it.
    Tree {
        /// Tree id, as in the chunk headers.
        id: u32,
        /// Group id.
        group: u32,
    },
    /// A fact about the target, e.g. its JVM.
    Info {
        /// What it is.
        key: &'a [u8],
        /// Its value.
        value: &'a [u8],
    },
    /// A method or class that was left as it was.
    Left {
        /// Class, or `class.method descriptor`.
        what: &'a [u8],
        /// Why.
        why: &'a [u8],
    },
    /// A method that was met on a sampled stack.
    SampledMethod {
        /// What the VM calls it, as in the contexts.
        code: u64,
        /// 1 for native ones.
        native: u32,
        /// Its class's internal name, with slashes.
        class: &'a [u8],
        /// Name.
        name: &'a [u8],
        /// Descriptor.
        descriptor: &'a [u8],
        /// Source file, empty if unknown.
        source: &'a [u8],
        /// `u16` pairs (bci, line).
        lines: &'a [u8],
    },
    /// A thread that was sampled.
    SampledThread {
        /// Dense id, as in the samples.
        id: u32,
        /// 1 for Java's threads, 2 for virtual ones.
        java: u32,
        /// The machine's id of it.
        tid: u32,
        /// The group that it is in, or [`NO_GROUP`].
        group: u32,
        /// Its name.
        name: &'a [u8],
    },
    /// A library, or the program, in whose code samples may be.
    SampledModule {
        /// First address of its code.
        start: u64,
        /// The address behind the last.
        end: u64,
        /// What is added to addresses in its file.
        bias: u64,
        /// Its file.
        path: &'a [u8],
    },
    /// A profile begins: what facts say before it belongs to an earlier one.
    Start {
        /// Nanoseconds of the machine's monotonic clock.
        time: u64,
    },
    /// A metric that samples, or columns of nodes, have values of.
    Metric {
        /// Its number, above 0. A metric that is declared again has another rate, say.
        id: u32,
        /// One of [`crate::layout::aggregation`].
        aggregation: u32,
        /// One of [`crate::layout::parts`].
        parts: u32,
        /// What one sample stands for, in the metric's unit; 0 if everything was counted.
        period: u64,
        /// Its name in profiles.
        name: &'a [u8],
        /// Its unit's name.
        unit: &'a [u8],
        /// The metric that numbers of occurrences go to; empty if there is none.
        count: &'a [u8],
    },
    /// What samples, events and columns can be about.
    Detail {
        /// Its number, above 0.
        id: u32,
        /// One of [`crate::layout::detail`].
        kind: u32,
        /// Tells apart those with the same name; 0 if they are not to be.
        identity: u64,
        /// Its name: a class's signature, or any text.
        name: &'a [u8],
    },
    /// A kind of event of the timeline.
    EventKind {
        /// Its number, above 0.
        id: u32,
        /// Its name: `gc.pause`.
        name: &'a [u8],
        /// What its two numbers are called; empty for one that it does not have.
        values: [&'a [u8]; 2],
    },
    /// An instruction that is told apart from others in ledgers, with one kind of what it is about: two if it makes objects
    /// of two classes.
    Site {
        /// Its number, above 0.
        id: u32,
        /// The method that it is in.
        method: u32,
        /// Where it is there.
        bci: u32,
        /// The metric that its values are of, see [`Record::Metric`]; how often it was executed goes to the metric that this one
        /// names.
        metric: u32,
        /// One of [`crate::layout::detail`].
        kind: u32,
        /// 1 if only its execution told what it is about.
        met: u32,
        /// What it is about: a class's signature; empty if only its execution tells.
        name: &'a [u8],
    },
    /// How large instances of a class are.
    ClassSize {
        /// Which class loader defined it; 0 is the boot loader.
        loader: u32,
        /// In bytes.
        bytes: u32,
        /// Its signature.
        name: &'a [u8],
    },
    /// A set of labels that samples may carry. UTF-8.
    SampledLabel {
        /// Its number, above that of any it is made of.
        set: u32,
        /// The set that the label was added to; 0 for none.
        before: u32,
        /// The label's key.
        key: &'a [u8],
        /// Its value; that of an inner set counts.
        value: &'a [u8],
    },
}

/// Stands for no group of threads.
pub const NO_GROUP: u32 = u32::MAX;

/// Offset of the thread count in a group's payload: the one field that changes.
pub const GROUP_THREADS: u64 = 8;

impl<'a> Record<'a> {
    /// Whether there are records with this tag. Others are of a newer version, and are skipped; 0 is none.
    pub fn is_known(tag: u32) -> bool {
        tag <= tag::LAST
    }

    /// Reads a payload; `None` for unknown tags and damaged payloads.
    pub fn decode(tag: u32, payload: &'a [u8]) -> Option<Record<'a>> {
        let r = &mut Reader::new(payload);
        Some(match tag {
            tag::CLASS => {
                Record::Class { id: r.u32()?, loader: r.u32()?, name: r.string()?, source: r.string()? }
            }
            tag::METHOD => Record::Method {
                id: r.u32()?,
                class: r.u32()?,
                flags: r.u32()?,
                per_call: r.u32()?,
                name: r.string()?,
                descriptor: r.string()?,
                lines: r.string()?,
                sites: r.string()?,
                blocks: r.string()?,
                derived: r.string()?,
                leaves: r.string()?,
                columns: r.string()?,
            },
            tag::GROUP => Record::Group {
                id: r.u32()?,
                is_virtual: r.u32()?,
                threads: r.u64()?,
                first: r.string()?,
                pattern: r.string()?,
            },
            tag::TREE => Record::Tree { id: r.u32()?, group: r.u32()? },
            tag::INFO => Record::Info { key: r.string()?, value: r.string()? },
            tag::LEFT => Record::Left { what: r.string()?, why: r.string()? },
            tag::SAMPLED_METHOD => Record::SampledMethod {
                code: r.u64()?,
                native: r.u32()?,
                class: r.string()?,
                name: r.string()?,
                descriptor: r.string()?,
                source: r.string()?,
                lines: r.string()?,
            },
            tag::SAMPLED_THREAD => {
                let (id, java, tid, group) = (r.u32()?, r.u32()?, r.u32()?, r.u32()?);
                Record::SampledThread { id, java, tid, group, name: r.string()? }
            }
            tag::SAMPLED_MODULE => {
                Record::SampledModule { start: r.u64()?, end: r.u64()?, bias: r.u64()?, path: r.string()? }
            }
            tag::SAMPLED_LABEL => {
                Record::SampledLabel { set: r.u32()?, before: r.u32()?, key: r.string()?, value: r.string()? }
            }
            tag::START => Record::Start { time: r.u64()? },
            tag::METRIC => {
                let (id, aggregation, parts, period) = (r.u32()?, r.u32()?, r.u32()?, r.u64()?);
                let (name, unit, count) = (r.string()?, r.string()?, r.string()?);
                Record::Metric { id, aggregation, parts, period, name, unit, count }
            }
            tag::DETAIL => {
                Record::Detail { id: r.u32()?, kind: r.u32()?, identity: r.u64()?, name: r.string()? }
            }
            tag::SITE => {
                let (id, method, bci, metric, kind) = (r.u32()?, r.u32()?, r.u32()?, r.u32()?, r.u32()?);
                Record::Site { id, method, bci, metric, kind, met: r.u32()?, name: r.string()? }
            }
            tag::CLASS_SIZE => Record::ClassSize { loader: r.u32()?, bytes: r.u32()?, name: r.string()? },
            tag::EVENT_KIND => {
                let (id, name) = (r.u32()?, r.string()?);
                Record::EventKind { id, name, values: [r.string()?, r.string()?] }
            }
            _ => return None,
        })
    }

    /// Appends the record, padded, to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let tag = match self {
            Record::Class { .. } => tag::CLASS,
            Record::Method { .. } => tag::METHOD,
            Record::Group { .. } => tag::GROUP,
            Record::Tree { .. } => tag::TREE,
            Record::Info { .. } => tag::INFO,
            Record::Left { .. } => tag::LEFT,
            Record::SampledMethod { .. } => tag::SAMPLED_METHOD,
            Record::SampledThread { .. } => tag::SAMPLED_THREAD,
            Record::SampledModule { .. } => tag::SAMPLED_MODULE,
            Record::SampledLabel { .. } => tag::SAMPLED_LABEL,
            Record::Start { .. } => tag::START,
            Record::Metric { .. } => tag::METRIC,
            Record::Detail { .. } => tag::DETAIL,
            Record::EventKind { .. } => tag::EVENT_KIND,
            Record::Site { .. } => tag::SITE,
            Record::ClassSize { .. } => tag::CLASS_SIZE,
        };
        word(out, tag);
        word(out, 0);
        match *self {
            Record::Class { id, loader, name, source } => {
                word(out, id);
                word(out, loader);
                string(out, name);
                string(out, source);
            }
            Record::Method {
                id,
                class,
                flags,
                per_call,
                name,
                descriptor,
                lines,
                sites,
                blocks,
                derived,
                leaves,
                columns,
            } => {
                for n in [id, class, flags, per_call] {
                    word(out, n);
                }
                for s in [name, descriptor, lines, sites, blocks, derived, leaves, columns] {
                    string(out, s);
                }
            }
            Record::Group { id, is_virtual, threads, first, pattern } => {
                word(out, id);
                word(out, is_virtual);
                out.extend_from_slice(&threads.to_ne_bytes());
                string(out, first);
                string(out, pattern);
            }
            Record::Tree { id, group } => {
                word(out, id);
                word(out, group);
            }
            Record::Info { key, value } => {
                string(out, key);
                string(out, value);
            }
            Record::Left { what, why } => {
                string(out, what);
                string(out, why);
            }
            Record::SampledMethod { code, native, class, name, descriptor, source, lines } => {
                out.extend_from_slice(&code.to_ne_bytes());
                word(out, native);
                for s in [class, name, descriptor, source, lines] {
                    string(out, s);
                }
            }
            Record::SampledThread { id, java, tid, group, name } => {
                for n in [id, java, tid, group] {
                    word(out, n);
                }
                string(out, name);
            }
            Record::SampledModule { start, end, bias, path } => {
                for n in [start, end, bias] {
                    out.extend_from_slice(&n.to_ne_bytes());
                }
                string(out, path);
            }
            Record::SampledLabel { set, before, key, value } => {
                word(out, set);
                word(out, before);
                string(out, key);
                string(out, value);
            }
            Record::Start { time } => out.extend_from_slice(&time.to_ne_bytes()),
            Record::Metric { id, aggregation, parts, period, name, unit, count } => {
                for n in [id, aggregation, parts] {
                    word(out, n);
                }
                out.extend_from_slice(&period.to_ne_bytes());
                for s in [name, unit, count] {
                    string(out, s);
                }
            }
            Record::Detail { id, kind, identity, name } => {
                word(out, id);
                word(out, kind);
                out.extend_from_slice(&identity.to_ne_bytes());
                string(out, name);
            }
            Record::Site { id, method, bci, metric, kind, met, name } => {
                for n in [id, method, bci, metric, kind, met] {
                    word(out, n);
                }
                string(out, name);
            }
            Record::ClassSize { loader, bytes, name } => {
                word(out, loader);
                word(out, bytes);
                string(out, name);
            }
            Record::EventKind { id, name, values } => {
                word(out, id);
                for s in [name, values[0], values[1]] {
                    string(out, s);
                }
            }
        }
        let payload = (out.len() - start) as u64 - RECORD_HEADER;
        if let Some(length) = out.get_mut(start + 4..start + 8) {
            length.copy_from_slice(&(payload as u32).to_ne_bytes());
        }
        out.resize(out.len().next_multiple_of(8), 0);
    }
}

/// A method's record as those have it who write one.
#[derive(Debug, Clone, Copy)]
pub struct RewrittenMethod<'a> {
    /// As in [`Record::Method`].
    pub id: u32,
    /// As in [`Record::Method`].
    pub class: u32,
    /// As in [`Record::Method`].
    pub flags: u32,
    /// As in [`Record::Method`].
    pub per_call: u32,
    /// As in [`Record::Method`].
    pub name: &'a [u8],
    /// As in [`Record::Method`].
    pub descriptor: &'a [u8],
    /// As in [`Record::Method`].
    pub lines: &'a [u16],
    /// As in [`Record::Method`].
    pub sites: &'a [u16],
    /// As in [`Record::Method`].
    pub blocks: &'a [u16],
    /// As in [`Record::Method`].
    pub derived: &'a [u32],
    /// As in [`Record::Method`].
    pub leaves: &'a [[u32; 2]],
    /// As in [`Record::Method`].
    pub columns: &'a [[u32; 3]],
}

impl RewrittenMethod<'_> {
    /// Appends the record, padded, to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let bytes = |numbers: &[u16]| numbers.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>();
        Record::Method {
            id: self.id,
            class: self.class,
            flags: self.flags,
            per_call: self.per_call,
            name: self.name,
            descriptor: self.descriptor,
            lines: &bytes(self.lines),
            sites: &bytes(self.sites),
            blocks: &bytes(self.blocks),
            derived: &self.derived.iter().flat_map(|id| id.to_ne_bytes()).collect::<Vec<u8>>(),
            leaves: &self.leaves.iter().flatten().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>(),
            columns: &self.columns.iter().flatten().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>(),
        }
        .encode(out);
    }
}

impl<'a> Record<'a> {
    /// The record of an opaque method, of which nothing is known but its name.
    pub fn opaque_method(id: u32, class: u32, name: &'a [u8], descriptor: &'a [u8]) -> Record<'a> {
        let none: &[u8] = b"";
        let (lines, sites, blocks, derived, leaves, columns) = (none, none, none, none, none, none);
        let flags = flag::OPAQUE;
        Record::Method {
            id,
            class,
            flags,
            per_call: 0,
            name,
            descriptor,
            lines,
            sites,
            blocks,
            derived,
            leaves,
            columns,
        }
    }
}

fn word(out: &mut Vec<u8>, n: u32) {
    out.extend_from_slice(&n.to_ne_bytes());
}

fn string(out: &mut Vec<u8>, s: &[u8]) {
    word(out, s.len() as u32);
    out.extend_from_slice(s);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_comes_back() {
        let records = [
            Record::Class { id: 3, loader: 1, name: b"a/B", source: b"" },
            Record::Method {
                id: 7,
                class: 3,
                flags: flag::OPAQUE,
                per_call: 4,
                name: b"m",
                descriptor: b"()V",
                lines: &[1, 0, 2, 0],
                sites: b"",
                blocks: b"",
                derived: &[9, 0, 0, 0],
                leaves: &[1, 0, 0, 0, 9, 0, 0, 0],
                columns: &[1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0],
            },
            Record::Group { id: 1, is_virtual: 1, threads: 5, first: b"w-1", pattern: b"w-#" },
            Record::Tree { id: 2, group: 1 },
            Record::Info { key: b"jvm", value: b"x" },
            Record::Left { what: b"a", why: b"b" },
            Record::SampledMethod {
                code: 1 << 40,
                native: 1,
                class: b"a/B",
                name: b"m",
                descriptor: b"()V",
                source: b"B.java",
                lines: &[1, 0, 2, 0],
            },
            Record::SampledThread { id: 1, java: 1, tid: 99, group: 3, name: b"main" },
            Record::SampledModule { start: 1 << 40, end: 1 << 41, bias: 3, path: b"/lib/x.so" },
            Record::SampledLabel { set: 2, before: 1, key: b"user", value: b"bob" },
            Record::Start { time: 1 << 50 },
        ];
        for record in records {
            let mut out = vec![0; 8];
            record.encode(&mut out);
            assert_eq!(out.len() % 8, 0);
            let mut r = Reader::new(&out[8..]);
            let (tag, len) = (r.u32().unwrap(), r.u32().unwrap());
            assert_eq!(Record::decode(tag, r.take(len.into()).unwrap()), Some(record));
        }
    }

    #[test]
    fn cut_payloads_are_refused() {
        let mut out = Vec::new();
        Record::Info { key: b"key", value: b"value" }.encode(&mut out);
        for end in 8..out.len() - 4 {
            assert_eq!(Record::decode(tag::INFO, &out[8..end]), None, "cut at {end}");
        }
    }
}
