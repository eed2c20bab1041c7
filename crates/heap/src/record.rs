//! The records that a heap is made of, one after the other, as HPROF has them.

use crate::error::Stop;
use crate::source::{Cursor, IdSize};

/// The types of fields and of elements of arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "they are Java's")]
pub enum Kind {
    Object,
    Boolean,
    Char,
    Float,
    Double,
    Byte,
    Short,
    Int,
    Long,
}

impl Kind {
    /// Those of primitive values.
    pub const PRIMITIVE: [Kind; 8] = [
        Kind::Boolean,
        Kind::Char,
        Kind::Float,
        Kind::Double,
        Kind::Byte,
        Kind::Short,
        Kind::Int,
        Kind::Long,
    ];

    #[inline]
    fn of(code: u8, offset: u64) -> Result<Kind, Stop> {
        Ok(match code {
            2 => Kind::Object,
            4 => Kind::Boolean,
            5 => Kind::Char,
            6 => Kind::Float,
            7 => Kind::Double,
            8 => Kind::Byte,
            9 => Kind::Short,
            10 => Kind::Int,
            11 => Kind::Long,
            _ => return Err(Stop::bad(offset, format!("{code} is the code of no type"))),
        })
    }

    /// Bytes that a value takes in the dump, where references are as long as ids.
    #[inline]
    pub fn bytes(self, reference: usize) -> usize {
        match self {
            Kind::Object => reference,
            Kind::Boolean | Kind::Byte => 1,
            Kind::Char | Kind::Short => 2,
            Kind::Float | Kind::Int => 4,
            Kind::Double | Kind::Long => 8,
        }
    }

    /// The class of arrays of it, as people write it.
    pub fn array_name(self) -> &'static str {
        match self {
            Kind::Object => "java.lang.Object[]",
            Kind::Boolean => "boolean[]",
            Kind::Char => "char[]",
            Kind::Float => "float[]",
            Kind::Double => "double[]",
            Kind::Byte => "byte[]",
            Kind::Short => "short[]",
            Kind::Int => "int[]",
            Kind::Long => "long[]",
        }
    }
}

/// Why an object is alive although no other object holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "their words are in `RootKind::words`")]
pub enum RootKind {
    Unknown,
    JniGlobal,
    JniLocal,
    JavaFrame,
    NativeStack,
    StickyClass,
    ThreadBlock,
    Monitor,
    Thread,
    Other,
}

impl RootKind {
    /// What it is, for people.
    pub fn words(self) -> &'static str {
        match self {
            RootKind::Unknown => "unknown root",
            RootKind::JniGlobal => "JNI global reference",
            RootKind::JniLocal => "JNI local reference",
            RootKind::JavaFrame => "local variable",
            RootKind::NativeStack => "native stack",
            RootKind::StickyClass => "system class",
            RootKind::ThreadBlock => "thread block",
            RootKind::Monitor => "locked monitor",
            RootKind::Thread => "thread",
            RootKind::Other => "VM root",
        }
    }
}

/// A root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Root {
    /// The object's id.
    pub id: u64,
    /// Why it is one.
    pub kind: RootKind,
    /// The serial number of the thread that it belongs to; 0 for none.
    pub thread: u32,
    /// The frame in that thread's stack, counted from the top; for threads the serial number of their stack.
    pub frame: u32,
}

/// A class, as the dump has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClassDump {
    pub id: u64,
    pub superclass: u64,
    pub loader: u64,
    /// Other objects it refers to: signers, protection domain, constants.
    pub others: Vec<u64>,
    /// Name, type and value (as the dump has it) of its static fields.
    pub statics: Vec<(u64, Kind, u64)>,
    /// Name and type of the fields that it declares.
    pub fields: Vec<(u64, Kind)>,
}

/// A record; what is said of objects' contents comes behind it and is to be read or skipped.
#[derive(Debug)]
pub(crate) enum Record {
    Root(Root),
    Class(Box<ClassDump>),
    Instance {
        id: u64,
        class: u64,
        bytes: u32,
    },
    ObjectArray {
        id: u64,
        class: u64,
        length: u32,
    },
    PrimitiveArray {
        id: u64,
        kind: Kind,
        length: u32,
        present: bool,
    },
    /// Nothing that is of interest.
    Nothing,
}

impl Record {
    /// How many bytes of contents follow.
    #[inline]
    pub fn contents(&self, ids: IdSize) -> u64 {
        match self {
            Record::Instance { bytes, .. } => u64::from(*bytes),
            Record::ObjectArray { length, .. } => u64::from(*length) * ids.bytes() as u64,
            Record::PrimitiveArray { kind, length, present: true, .. } => {
                u64::from(*length) * kind.bytes(0) as u64
            }
            _ => 0,
        }
    }

    /// The next record.
    #[inline]
    pub fn next(cursor: &mut Cursor<'_>, ids: IdSize) -> Result<Record, Stop> {
        let offset = cursor.offset();
        let tag = cursor.u1()?;
        Ok(match tag {
            0x21 => {
                let id = cursor.id(ids)?;
                cursor.u4()?;
                Record::Instance { id, class: cursor.id(ids)?, bytes: cursor.u4()? }
            }
            0x22 => {
                let id = cursor.id(ids)?;
                cursor.u4()?;
                let length = cursor.u4()?;
                Record::ObjectArray { id, class: cursor.id(ids)?, length }
            }
            // The second is Android's, for arrays whose contents were left out.
            0x23 | 0xc3 => {
                let id = cursor.id(ids)?;
                cursor.u4()?;
                let length = cursor.u4()?;
                let kind = Kind::of(cursor.u1()?, offset)?;
                if kind == Kind::Object {
                    return Err(Stop::bad(offset, "an array of primitive values that are objects"));
                }
                Record::PrimitiveArray { id, kind, length, present: tag == 0x23 }
            }
            0x20 => Record::Class(class(cursor, ids)?),
            _ => rare(tag, offset, cursor, ids)?,
        })
    }
}

#[cold]
fn rare(tag: u8, offset: u64, cursor: &mut Cursor<'_>, ids: IdSize) -> Result<Record, Stop> {
    use RootKind::*;
    let (kind, numbers) = match tag {
        0xff => (Unknown, 0),
        0x01 => {
            let id = cursor.id(ids)?;
            cursor.id(ids)?;
            return Ok(Record::Root(Root { id, kind: JniGlobal, thread: 0, frame: 0 }));
        }
        0x02 => (JniLocal, 2),
        0x03 => (JavaFrame, 2),
        0x04 => (NativeStack, 1),
        0x05 => (StickyClass, 0),
        0x06 => (ThreadBlock, 1),
        0x07 => (Monitor, 0),
        0x08 => (Thread, 2),
        // Android's.
        0x89..=0x8d | 0x90 => (Other, 0),
        0x8e => (Other, 2),
        0xfe => {
            cursor.u4()?;
            cursor.id(ids)?;
            return Ok(Record::Nothing);
        }
        _ => return Err(Stop::bad(offset, format!("{tag:#04x} begins no record of a heap"))),
    };
    let id = cursor.id(ids)?;
    let thread = if numbers > 0 { cursor.u4()? } else { 0 };
    let frame = if numbers > 1 { cursor.u4()? } else { 0 };
    Ok(Record::Root(Root { id, kind, thread, frame }))
}

#[cold]
fn class(cursor: &mut Cursor<'_>, ids: IdSize) -> Result<Box<ClassDump>, Stop> {
    let id = cursor.id(ids)?;
    cursor.u4()?;
    let (superclass, loader) = (cursor.id(ids)?, cursor.id(ids)?);
    let mut others = vec![cursor.id(ids)?, cursor.id(ids)?];
    cursor.skip(2 * ids.bytes() as u64 + 4)?;
    for _ in 0..cursor.u2()? {
        cursor.u2()?;
        if let (Kind::Object, value) = value(cursor, ids)? {
            others.push(value);
        }
    }
    others.retain(|&id| id != 0);
    let mut statics = Vec::new();
    for _ in 0..cursor.u2()? {
        let name = cursor.id(ids)?;
        let (kind, value) = value(cursor, ids)?;
        statics.push((name, kind, value));
    }
    let mut fields = Vec::new();
    for _ in 0..cursor.u2()? {
        let name = cursor.id(ids)?;
        let offset = cursor.offset();
        fields.push((name, Kind::of(cursor.u1()?, offset)?));
    }
    Ok(Box::new(ClassDump { id, superclass, loader, others, statics, fields }))
}

fn value(cursor: &mut Cursor<'_>, ids: IdSize) -> Result<(Kind, u64), Stop> {
    let offset = cursor.offset();
    let kind = Kind::of(cursor.u1()?, offset)?;
    let bytes = cursor.take(kind.bytes(ids.bytes()))?;
    Ok((kind, bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte))))
}
