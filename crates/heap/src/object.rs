//! Looking at single objects.

use crate::classes::{Class, Field, Shape};
use crate::dump::Dump;
use crate::error::{Damage, HeapError, Stop};
use crate::histogram::class_object_size;
use crate::record::{Kind, Record};
use crate::scan::MARK;
use crate::source::Cursor;

/// An object.
#[derive(Debug, Clone)]
pub struct Object {
    pub(crate) number: u64,
    /// Its id.
    pub id: u64,
    /// The number of its class.
    pub class: u32,
    /// Bytes that it takes itself.
    pub size: u64,
    /// What is in it.
    pub contents: Contents,
}

/// What is in an object.
#[derive(Debug, Clone)]
pub enum Contents {
    /// It is the class with this number.
    Class(u32),
    /// The values of its fields, as the dump has them; see [`Objects::fields`].
    Instance(Vec<u8>),
    /// An array.
    Array {
        /// What is in it.
        kind: Kind,
        /// How many of them.
        length: u64,
        /// Where in the file they are; nothing if they were left out.
        at: Option<u64>,
    },
}

/// A value of a field or an element of an array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// An object's id; 0 is null.
    Reference(u64),
    /// `true` or `false`.
    Boolean(bool),
    /// A unit of UTF-16.
    Char(u16),
    /// A whole number.
    Integer(i64),
    /// A number that need not be whole.
    Real(f64),
}

impl Value {
    /// From the bits that a dump has.
    pub fn of(kind: Kind, bits: u64) -> Value {
        match kind {
            Kind::Object => Value::Reference(bits),
            Kind::Boolean => Value::Boolean(bits != 0),
            Kind::Char => Value::Char(bits as u16),
            Kind::Float => Value::Real(f64::from(f32::from_bits(bits as u32))),
            Kind::Double => Value::Real(f64::from_bits(bits)),
            Kind::Byte => Value::Integer(i64::from(bits as i8)),
            Kind::Short => Value::Integer(i64::from(bits as i16)),
            Kind::Int => Value::Integer(i64::from(bits as i32)),
            Kind::Long => Value::Integer(bits as i64),
        }
    }
}

/// Texts are cut here.
const LONGEST_TEXT: u64 = 1 << 20;

/// Reads objects.
pub struct Objects<'d> {
    dump: &'d Dump<'d>,
    cursor: Cursor<'d>,
}

impl<'d> Objects<'d> {
    /// Of this dump.
    pub fn new(dump: &'d Dump<'d>) -> Objects<'d> {
        Objects { dump, cursor: Cursor::with_window(dump.source, 4096) }
    }

    /// The object with this id.
    pub fn with_id(&mut self, id: u64) -> Result<Object, HeapError> {
        let number = self.dump.number(id);
        number.map_or_else(
            || Err(HeapError::Question(format!("there is no object with the id {id:#x} in this dump"))),
            |number| self.read(number),
        )
    }

    /// The object with this number.
    pub(crate) fn read(&mut self, number: u64) -> Result<Object, HeapError> {
        let (dump, ids) = (self.dump, self.dump.skeleton.ids);
        if number < dump.first() {
            let (class, own) = (number as u32, dump.classes.get(number as u32));
            let size = class_object_size(&dump.classes, class, dump.layout);
            return Ok(Object {
                number,
                id: own.id,
                class: dump.classes.class,
                size,
                contents: Contents::Class(class),
            });
        }
        let nothing = || HeapError::Question(format!("there is no object {number} in this dump"));
        let span = dump.span_of(number).ok_or_else(nothing)?;
        let within = number - dump.first() - span.first;
        let mark = span.marks.get((within / MARK) as usize).ok_or_else(nothing)?;
        self.cursor.go(span.begin + u64::from(*mark), span.end);
        let mut left = within % MARK;
        loop {
            let record = Record::next(&mut self.cursor, ids).map_err(failed)?;
            let is_object = matches!(
                record,
                Record::Instance { .. } | Record::ObjectArray { .. } | Record::PrimitiveArray { .. }
            );
            if is_object && left == 0 {
                return self.object(number, &record).map_err(failed);
            }
            left -= u64::from(is_object);
            self.cursor.skip(record.contents(ids)).map_err(failed)?;
        }
    }

    fn object(&mut self, number: u64, record: &Record) -> Result<Object, Stop> {
        let classes = &self.dump.classes;
        let class_of = |id| classes.by_id(id).unwrap_or(classes.unknown);
        let at = self.cursor.offset();
        let (id, class, contents) = match *record {
            Record::Instance { id, class, bytes } => {
                (id, class_of(class), Contents::Instance(self.cursor.take(bytes as usize)?.to_vec()))
            }
            Record::ObjectArray { id, class, length } => (
                id,
                class_of(class),
                Contents::Array { kind: Kind::Object, length: length.into(), at: Some(at) },
            ),
            Record::PrimitiveArray { id, kind, length, present } => {
                let at = present.then_some(at);
                (id, classes.of_primitives(kind), Contents::Array { kind, length: length.into(), at })
            }
            _ => return Err(Stop::bad(at, "no object")),
        };
        let size = match (classes.get(class).shape, &contents) {
            (Shape::Instance { size }, _) => size,
            (_, &Contents::Array { kind, length, .. }) => self.dump.layout().array(kind, length),
            _ => 0,
        };
        Ok(Object { number, id, class, size, contents })
    }

    /// The class of an object.
    pub fn class(&self, object: &Object) -> &'d Class {
        self.dump.classes.get(object.class)
    }

    /// The fields of an instance with their values, the class's own first; the class is the one that declares the field.
    pub fn fields<'o>(
        &self,
        object: &'o Object,
    ) -> impl Iterator<Item = (u32, &'d Field, Value)> + use<'o, 'd> {
        let contents = match &object.contents {
            Contents::Instance(contents) => contents.as_slice(),
            _ => &[],
        };
        let reference = self.dump.skeleton.ids.bytes();
        self.dump.classes.fields(object.class).scan(0, move |at, (class, field)| {
            let bytes = contents.get(*at..*at + field.kind.bytes(reference))?;
            *at += bytes.len();
            Some((class, field, Value::of(field.kind, bits(bytes))))
        })
    }

    /// The value of a field.
    pub fn field(&self, object: &Object, name: &str) -> Option<Value> {
        if let Contents::Class(class) = object.contents {
            let field = self.dump.classes.get(class).statics.iter().find(|field| field.name == name)?;
            return Some(Value::of(field.kind, field.value));
        }
        self.fields(object).find(|(_, field, _)| field.name == name).map(|(_, _, value)| value)
    }

    /// The object that a field refers to.
    pub fn follow(&mut self, object: &Object, name: &str) -> Option<Object> {
        match self.field(object, name)? {
            Value::Reference(id) if id != 0 => self.with_id(id).ok(),
            _ => None,
        }
    }

    /// Elements of an array, from the first on, as many as `most`.
    pub fn elements(&mut self, object: &Object, most: u64) -> Vec<Value> {
        let mut values = Vec::new();
        self.each_element(object, most, |value| {
            values.push(value);
            true
        });
        values
    }

    /// The place of an object in an array of objects.
    pub(crate) fn index_of(&mut self, object: &Object, id: u64) -> Option<u64> {
        let (mut index, mut found) = (0, None);
        self.each_element(object, u64::MAX, |value| {
            if value == Value::Reference(id) {
                found = Some(index);
            }
            index += 1;
            found.is_none()
        });
        found
    }

    fn each_element(&mut self, object: &Object, most: u64, mut each: impl FnMut(Value) -> bool) {
        let Contents::Array { kind, length, at: Some(at) } = object.contents else { return };
        let width = kind.bytes(self.dump.skeleton.ids.bytes());
        let mut left = length.min(most);
        self.cursor.go(at, self.dump.source.size());
        while left > 0 {
            let Ok(some) = self.cursor.take_some(width, left) else { return };
            left -= (some.len() / width) as u64;
            for bytes in some.chunks_exact(width) {
                if !each(Value::of(kind, bits(bytes))) {
                    return;
                }
            }
        }
    }

    /// The text of a `java.lang.String`.
    pub fn text(&mut self, object: &Object) -> Option<String> {
        if self.class(object).name != "java.lang.String" {
            return None;
        }
        let wide = matches!(self.field(object, "coder"), Some(Value::Integer(1)));
        let value = self.follow(object, "value")?;
        let units: Vec<u16> = match value.contents {
            Contents::Array { kind: Kind::Char, .. } => self
                .elements(&value, LONGEST_TEXT)
                .into_iter()
                .map(|value| if let Value::Char(unit) = value { unit } else { 0 })
                .collect(),
            Contents::Array { kind: Kind::Byte, .. } => {
                let bytes: Vec<u8> = self
                    .elements(&value, LONGEST_TEXT)
                    .into_iter()
                    .map(|value| if let Value::Integer(byte) = value { byte as u8 } else { 0 })
                    .collect();
                match wide {
                    // In the order of the machine that wrote it, which is taken to be like this one.
                    true => {
                        bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()
                    }
                    false => bytes.into_iter().map(u16::from).collect(),
                }
            }
            _ => return None,
        };
        Some(String::from_utf16_lossy(&units))
    }

    /// Elements of a collection, where it is one of the JDK's; the length of an array.
    pub fn length(&mut self, object: &Object) -> Option<u64> {
        if let Contents::Array { length, .. } = object.contents {
            return Some(length);
        }
        for name in ["size", "count", "elementCount", "length"] {
            if let Some(Value::Integer(size)) = self.field(object, name) {
                return u64::try_from(size).ok();
            }
        }
        if let Some(Value::Integer(count)) = self.field(object, "baseCount") {
            return u64::try_from(count).ok();
        }
        for name in ["map", "m", "c", "list", "al"] {
            if let Some(inner) = self.follow(object, name) {
                return self.length(&inner).filter(|_| inner.id != object.id);
            }
        }
        None
    }

    /// In a few words, for people: a string's text, a boxed number, the length of an array.
    pub fn summary(&mut self, object: &Object) -> Option<String> {
        if let Some(text) = self.text(object) {
            let short: String = text.chars().take(80).collect();
            let more = if short.len() < text.len() { "…" } else { "" };
            return Some(format!("\"{}{more}\"", short.escape_debug()));
        }
        if let Contents::Array { length, .. } = object.contents {
            return Some(format!("length {length}"));
        }
        if let Contents::Class(class) = object.contents {
            return Some(self.dump.classes.get(class).name.clone());
        }
        let name = self.class(object).name.strip_prefix("java.lang.")?;
        match name {
            "Integer" | "Long" | "Short" | "Byte" | "Double" | "Float" | "Boolean" | "Character" => {
                self.field(object, "value").map(words)
            }
            "Thread" => self.thread_name(object),
            _ => None,
        }
    }

    /// The name of a thread.
    pub(crate) fn thread_name(&mut self, object: &Object) -> Option<String> {
        let name = self.follow(object, "name")?;
        self.text(&name).map(|name| format!("\"{}\"", name.escape_debug()))
    }
}

/// A value for people.
pub(crate) fn words(value: Value) -> String {
    match value {
        Value::Reference(0) => "null".to_owned(),
        Value::Reference(id) => format!("{id:#x}"),
        Value::Boolean(value) => value.to_string(),
        Value::Char(unit) => {
            let text = String::from_utf16_lossy(&[unit]);
            format!("'{}'", text.escape_debug())
        }
        Value::Integer(value) => value.to_string(),
        Value::Real(value) => value.to_string(),
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&words(*self))
    }
}

fn bits(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

fn failed(stop: Stop) -> HeapError {
    match stop.damage() {
        Ok(Damage { offset, what }) => {
            HeapError::Io { doing: "reading an object", offset, source: std::io::Error::other(what) }
        }
        Err(error) => error,
    }
}
