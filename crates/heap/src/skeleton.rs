//! The outermost records of a dump: names, classes that were loaded, stacks, and where the heap is.

use std::collections::HashMap;

use crate::error::{Damage, HeapError, Stop};
use crate::ids::Ids;
use crate::source::{Cursor, IdSize, Source};

/// What a dump has around its heap.
#[derive(Debug)]
pub(crate) struct Skeleton {
    pub ids: IdSize,
    /// Milliseconds since 1970.
    pub time: u64,
    /// Where the bytes of a name are: id to offset and length.
    pub names: HashMap<u64, (u64, u32), Ids>,
    /// Class object to name.
    pub loaded: HashMap<u64, u64, Ids>,
    /// Serial number of a class to its object.
    pub serials: HashMap<u32, u64>,
    pub frames: HashMap<u64, Frame, Ids>,
    /// Serial number of a stack to its frames, youngest first.
    pub stacks: HashMap<u32, Vec<u64>>,
    /// Begin and end of the parts of the heap.
    pub segments: Vec<(u64, u64)>,
    pub damage: Vec<Damage>,
}

/// A frame of a thread's stack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub method: u64,
    pub class_serial: u32,
    pub line: i32,
}

const HEADINGS: [&[u8]; 2] = [b"JAVA PROFILE 1.0.1\0", b"JAVA PROFILE 1.0.2\0"];

impl Skeleton {
    pub fn read(source: &dyn Source) -> Result<Skeleton, HeapError> {
        let mut start = [0; 31];
        let count = source.read_at(0, &mut start).map_err(|source| HeapError::Io {
            doing: "reading the dump",
            offset: 0,
            source,
        })?;
        let start = &start[..count];
        let heading = HEADINGS.iter().find(|heading| start.starts_with(heading));
        let Some(heading) = heading.filter(|_| count == 31) else {
            return Err(HeapError::NotADump { found: described(start) });
        };
        let offset = heading.len() as u64;
        let mut cursor = Cursor::new(source);
        cursor.go(offset, source.size());
        let size = cursor.u4().unwrap_or(0);
        let ids = match size {
            4 => IdSize::Four,
            8 => IdSize::Eight,
            _ => return Err(HeapError::IdSize { size, offset }),
        };
        let time = cursor.id(IdSize::Eight).unwrap_or(0);
        let mut skeleton = Skeleton {
            ids,
            time,
            names: HashMap::default(),
            loaded: HashMap::default(),
            serials: HashMap::new(),
            frames: HashMap::default(),
            stacks: HashMap::new(),
            segments: Vec::new(),
            damage: Vec::new(),
        };
        while !cursor.is_done() {
            if let Err(stop) = skeleton.record(&mut cursor, source.size()) {
                skeleton.damage.push(stop.damage()?);
                break;
            }
        }
        Ok(skeleton)
    }

    fn record(&mut self, cursor: &mut Cursor<'_>, size: u64) -> Result<(), Stop> {
        let at = cursor.offset();
        let tag = cursor.u1()?;
        cursor.u4()?;
        let length = u64::from(cursor.u4()?);
        let begin = cursor.offset();
        let (end, ids) = (begin + length, self.ids);
        let known = matches!(tag, 0x01..=0x07 | 0x0a..=0x0e | 0x1c | 0x2c);
        if !known {
            return Err(Stop::bad(at, format!("{tag:#04x} begins no record")));
        }
        match tag {
            0x0c | 0x1c => {
                self.segments.push((begin, end.min(size)));
                if end > size {
                    let missing = end - size;
                    return Err(Stop::bad(
                        size,
                        format!(
                            "the dump ends here; {missing} bytes of the heap segment that begins at {at} are missing"
                        ),
                    ));
                }
            }
            0x01 => {
                let id = cursor.id(ids)?;
                let text = length.saturating_sub(ids.bytes() as u64);
                self.names.insert(id, (cursor.offset(), text as u32));
            }
            0x02 => {
                let serial = cursor.u4()?;
                let object = cursor.id(ids)?;
                cursor.u4()?;
                let name = cursor.id(ids)?;
                self.loaded.insert(object, name);
                self.serials.insert(serial, object);
            }
            0x04 => {
                let id = cursor.id(ids)?;
                let method = cursor.id(ids)?;
                cursor.skip(2 * ids.bytes() as u64)?;
                let class_serial = cursor.u4()?;
                let line = cursor.u4()? as i32;
                self.frames.insert(id, Frame { method, class_serial, line });
            }
            0x05 => {
                let serial = cursor.u4()?;
                cursor.u4()?;
                let count = cursor.u4()?;
                let mut stack = Vec::new();
                for _ in 0..count {
                    if cursor.offset() >= end {
                        break;
                    }
                    stack.push(cursor.id(ids)?);
                }
                self.stacks.insert(serial, stack);
            }
            _ => {}
        }
        if end > size {
            return Err(Stop::Short { offset: size });
        }
        cursor.go(end, size);
        Ok(())
    }

    /// The text of a name.
    pub fn name(&self, source: &dyn Source, id: u64) -> String {
        let Some(&(offset, length)) = self.names.get(&id) else { return format!("name#{id:x}") };
        // A name of Java is not longer.
        let mut text = vec![0; length.min(65_535) as usize];
        let count = source.read_at(offset, &mut text).unwrap_or(0);
        text.truncate(count);
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// The beginning of something that is no dump.
fn described(start: &[u8]) -> String {
    if start.is_empty() {
        return "the file is empty".to_owned();
    }
    let shown: String = start.iter().take(16).map(|byte| byte.escape_ascii().to_string()).collect();
    format!("it begins with \"{shown}\"")
}
