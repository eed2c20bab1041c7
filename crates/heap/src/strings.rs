//! Strings that are there more than once.

use std::collections::HashMap;
use std::hash::Hasher;

use rayon::prelude::*;

use crate::dump::Dump;
use crate::error::HeapError;
use crate::ids::IdHasher;
use crate::object::{Objects, Value};
use crate::record::{Kind, Record};
use crate::scan::Span;
use crate::scratch::Bits;
use crate::source::Cursor;
use crate::watch::Watch;

/// A text that several arrays have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateString {
    /// The text, cut where it is long.
    pub text: String,
    /// How many arrays have it.
    pub copies: u64,
    /// Bytes that would be saved if there were one.
    pub wasted: u64,
}

/// All strings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Strings {
    /// `java.lang.String` objects.
    pub strings: u64,
    /// Arrays with their texts: several strings can share one.
    pub arrays: u64,
    /// Different texts.
    pub distinct: u64,
    /// Bytes that are taken by arrays, and by strings that have an array of their own, beyond one of each text.
    pub wasted: u64,
    /// Those that waste most.
    pub duplicates: Vec<DuplicateString>,
}

/// Texts in a list are cut here.
const SHOWN: usize = 120;
/// In a length, which has 31 bits in Java: the array is of characters, not of bytes.
const OF_CHARS: u32 = 1 << 31;

/// Finds the strings of which most is wasted, as many as `limit`.
pub fn strings(dump: &Dump<'_>, limit: usize, watch: &dyn Watch) -> Result<Strings, HeapError> {
    let Some(class) =
        dump.classes.iter().position(|class| class.name == "java.lang.String" && !class.fields.is_empty())
    else {
        return Ok(Strings::default());
    };
    let (class, total) = (class as u32, dump.spans.iter().map(|span| span.end - span.begin).sum());
    let string = dump.classes.get(class);
    let mut at = 0;
    let mut place = |name: &str| {
        at = 0;
        dump.classes.fields(class).find_map(|(_, field)| {
            let here = at;
            at += field.kind.bytes(dump.skeleton.ids.bytes());
            (field.name == name).then_some(here)
        })
    };
    let (Some(value), coder) = (place("value"), place("coder")) else { return Ok(Strings::default()) };

    watch.begin("looking for strings", total);
    let mut is_value = Bits::new(dump.objects());
    let mut is_wide = Bits::new(dump.objects());
    let mut result = Strings::default();
    for batch in dump.spans.chunks(128) {
        let found =
            each_span(dump, batch, watch, |found: &mut Vec<(u64, bool)>, record, _, cursor| match record {
                &Record::Instance { class, bytes, .. } if class == string.id => {
                    let contents = cursor.take(bytes as usize)?;
                    let id = contents.get(value..).map_or(0, |bytes| dump.skeleton.ids.of(bytes));
                    let wide = coder.and_then(|at| contents.get(at)).is_some_and(|&coder| coder == 1);
                    found.push((id, wide));
                    Ok(true)
                }
                _ => Ok(false),
            })?;
        for (id, wide) in found.into_iter().flatten() {
            result.strings += 1;
            if let Some(number) = dump.number(id) {
                result.arrays += u64::from(is_value.set(number));
                if wide {
                    is_wide.set(number);
                }
            }
        }
    }

    watch.begin("comparing texts", total);
    let (is_value, is_wide) = (&is_value, &is_wide);
    let mut texts: Vec<(u64, u32, u64)> = Vec::with_capacity(result.arrays as usize);
    for batch in dump.spans.chunks(128) {
        let found =
            each_span(dump, batch, watch, |found: &mut Vec<(u64, u32, u64)>, record, number, cursor| {
                match record {
                    &Record::PrimitiveArray {
                        kind: kind @ (Kind::Byte | Kind::Char),
                        length,
                        present: true,
                        ..
                    } if is_value.has(number) => {
                        let mut hasher = IdHasher::default();
                        hasher.write_u64(
                            u64::from(is_wide.has(number)) + 2 * u64::from(kind == Kind::Char) + 4,
                        );
                        let width = kind.bytes(0);
                        let mut left = u64::from(length);
                        while left > 0 {
                            // In pieces of the same size whatever the window, so that equal texts have equal hashes.
                            let piece = left.min(2048);
                            left -= piece;
                            hash(&mut hasher, cursor.take(piece as usize * width)?);
                        }
                        found.push((
                            hasher.finish(),
                            length & !OF_CHARS | if kind == Kind::Char { OF_CHARS } else { 0 },
                            number,
                        ));
                        Ok(true)
                    }
                    _ => Ok(false),
                }
            })?;
        texts.extend(found.into_iter().flatten());
    }
    texts.par_sort_unstable();

    let string_size = match string.shape {
        crate::classes::Shape::Instance { size } => size,
        crate::classes::Shape::Array(_) => 0,
    };
    let mut groups: Vec<(u64, u64, u64)> = Vec::new();
    for group in texts.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        result.distinct += 1;
        let (_, length, number) = group[0];
        let copies = group.len() as u64;
        if copies > 1 {
            let kind = if length & OF_CHARS != 0 { Kind::Char } else { Kind::Byte };
            let size = dump.layout().array(kind, u64::from(length & !OF_CHARS)) + string_size;
            result.wasted += (copies - 1) * size;
            groups.push(((copies - 1) * size, copies, number));
        }
    }
    groups.sort_unstable_by_key(|&(wasted, _, number)| (std::cmp::Reverse(wasted), number));
    groups.truncate(limit);
    let wanted: HashMap<u64, bool> =
        groups.iter().map(|&(_, _, number)| (number, is_wide.has(number))).collect();
    let mut objects = Objects::new(dump);
    for (wasted, copies, number) in groups {
        let text = text_of(&mut objects, number, wanted[&number])?;
        result.duplicates.push(DuplicateString { text, copies, wasted });
    }
    Ok(result)
}

fn text_of(objects: &mut Objects<'_>, number: u64, wide: bool) -> Result<String, HeapError> {
    let array = objects.read(number)?;
    let values = objects.elements(&array, 2 * SHOWN as u64 + 2);
    let bytes: Vec<u8> = values
        .iter()
        .filter_map(|value| if let Value::Integer(byte) = value { Some(*byte as u8) } else { None })
        .collect();
    let units: Vec<u16> = match values.first() {
        Some(Value::Char(_)) => values
            .iter()
            .filter_map(|value| if let Value::Char(unit) = value { Some(*unit) } else { None })
            .collect(),
        _ if wide => bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect(),
        _ => bytes.into_iter().map(u16::from).collect(),
    };
    let text = String::from_utf16_lossy(&units);
    let short: String = text.chars().take(SHOWN).collect();
    Ok(if short.len() < text.len() { short + "…" } else { short })
}

#[inline]
fn hash(hasher: &mut IdHasher, bytes: &[u8]) {
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let mut whole = [0; 8];
        whole.copy_from_slice(word);
        hasher.write_u64(u64::from_le_bytes(whole).wrapping_add(0x9e37_79b9_7f4a_7c15));
    }
    let rest = words.remainder();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    hasher.write_u64(u64::from_le_bytes(last).wrapping_add(rest.len() as u64 + 1));
}

/// Goes through objects, in parallel. `each` says whether it has read the contents.
pub(crate) fn each_span<T: Default + Send>(
    dump: &Dump<'_>,
    spans: &[Span],
    watch: &dyn Watch,
    each: impl Fn(&mut T, &Record, u64, &mut Cursor<'_>) -> Result<bool, crate::error::Stop> + Sync,
) -> Result<Vec<T>, HeapError> {
    let ids = dump.skeleton.ids;
    let read = |cursor: &mut Cursor<'_>, span: &Span| -> Result<T, crate::error::Stop> {
        let (mut found, mut count) = (T::default(), 0);
        cursor.go(span.begin, span.end);
        while count < span.objects {
            let record = Record::next(cursor, ids)?;
            let is_object = matches!(
                record,
                Record::Instance { .. } | Record::ObjectArray { .. } | Record::PrimitiveArray { .. }
            );
            let number = dump.first() + span.first + count;
            if !is_object || !each(&mut found, &record, number, cursor)? {
                cursor.skip(record.contents(ids))?;
            }
            count += u64::from(is_object);
        }
        watch.advance(span.end - span.begin);
        Ok(found)
    };
    let changed = |stop: crate::error::Stop| match stop.damage() {
        Ok(damage) => HeapError::Io {
            doing: "reading the dump again",
            offset: damage.offset,
            source: std::io::Error::other("the file has changed since it was read first"),
        },
        Err(error) => error,
    };
    spans
        .par_iter()
        .map_init(|| Cursor::new(dump.source), |cursor, span| read(cursor, span).map_err(changed))
        .collect()
}
