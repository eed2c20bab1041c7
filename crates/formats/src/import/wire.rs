//! The outermost protocol buffer message, field by field, without building it: a two-byte field must not become a
//! structure of a hundred bytes just because there are many of them.

use crate::ImportError;
use prost::bytes::Buf;
use prost::encoding::{WireType, decode_key, decode_varint};

/// A field's content.
#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// One field.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub offset: usize,
    pub tag: u32,
    pub value: Value<'a>,
}

impl<'a> Field<'a> {
    /// The content of a length-delimited field; nothing when the wire type is another.
    pub fn bytes(&self) -> Result<&'a [u8], ImportError> {
        match self.value {
            Value::Bytes(bytes) => Ok(bytes),
            Value::Number(_) => Err(self.error("a number where a message or text belongs")),
        }
    }

    /// The nested message.
    pub fn message<M: prost::Message + Default>(&self) -> Result<M, ImportError> {
        M::decode(self.bytes()?).map_err(|error| self.error(error))
    }

    /// The field's numbers: one, or several when packed.
    pub fn numbers(&self) -> Result<Vec<i64>, ImportError> {
        match self.value {
            Value::Number(number) => Ok(vec![number as i64]),
            Value::Bytes(mut bytes) => {
                let mut numbers = Vec::new();
                while !bytes.is_empty() {
                    numbers.push(decode_varint(&mut bytes).map_err(|error| self.error(error))? as i64);
                }
                Ok(numbers)
            }
        }
    }

    fn error(&self, problem: impl ToString) -> ImportError {
        ImportError::Message { offset: self.offset, problem: problem.to_string() }
    }
}

/// Iterates over the fields of a message; fixed-width fields, which `profile.proto` has none of, are skipped.
pub(super) fn fields(bytes: &[u8]) -> impl Iterator<Item = Result<Field<'_>, ImportError>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let offset = bytes.len() - rest.len();
            match field(&mut rest, offset) {
                Ok(None) => continue,
                Ok(Some(field)) => return Some(Ok(field)),
                Err(problem) => {
                    rest = &[];
                    return Some(Err(ImportError::Message { offset, problem }));
                }
            }
        }
        None
    })
}

fn field<'a>(rest: &mut &'a [u8], offset: usize) -> Result<Option<Field<'a>>, String> {
    let (tag, wire_type) = decode_key(rest).map_err(|error| error.to_string())?;
    let value = match wire_type {
        WireType::Varint => Value::Number(decode_varint(rest).map_err(|error| error.to_string())?),
        WireType::LengthDelimited => {
            let length = decode_varint(rest).map_err(|error| error.to_string())?;
            let length = usize::try_from(length).ok().filter(|&length| length <= rest.len());
            let (bytes, after) = rest.split_at(length.ok_or("a field is longer than the message")?);
            *rest = after;
            Value::Bytes(bytes)
        }
        WireType::SixtyFourBit | WireType::ThirtyTwoBit => {
            let width = if wire_type == WireType::SixtyFourBit { 8 } else { 4 };
            if rest.len() < width {
                return Err("the message ends inside a field".to_owned());
            }
            rest.advance(width);
            return Ok(None);
        }
        WireType::StartGroup | WireType::EndGroup => return Err("groups are not used by pprof".to_owned()),
    };
    Ok(Some(Field { offset, tag, value }))
}
