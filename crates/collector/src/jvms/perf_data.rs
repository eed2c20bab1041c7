//! HotSpot's performance data: the file `/tmp/hsperfdata_USER/PID` each JVM maps and keeps its counters in.
//!
//! The layout is version 2.0, the only one there has been since JDK 5: a prologue of 32 bytes, then entries, each with
//! its own length and offsets to its name and value. All of it is checked; the file may be anyone's, or half written.

use crate::proc::{self, Status};
use rustix::fs::{Mode, OFlags};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

const MAGIC: [u8; 4] = [0xCA, 0xFE, 0xC0, 0xC0];
/// `-XX:PerfDataMemorySize` is 32 KB by default and has no reason to be near this.
const SIZE_LIMIT: u64 = 16 << 20;

/// The texts and numbers of one JVM's performance data, by name.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct PerfData {
    texts: BTreeMap<String, String>,
    numbers: BTreeMap<String, i64>,
}

impl PerfData {
    /// Reads a file's bytes; `None` if they are not performance data. Entries that do not fit are left out.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.get(..4)? != MAGIC {
            return None;
        }
        let little = match bytes.get(4)? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let reader = Reader { bytes, little };
        if *bytes.get(5)? != 2 {
            return None;
        }
        let mut data = Self::default();
        let mut at = reader.int(24)?;
        let count = reader.int(28)?;
        for _ in 0..count {
            let Some(length) = reader.int(at) else { break };
            if length == 0 {
                break;
            }
            data.entry(&reader, at, length);
            let Some(next) = at.checked_add(length) else { break };
            at = next;
        }
        Some(data)
    }

    /// Takes in one entry, if all of it lies inside its own bounds.
    fn entry(&mut self, reader: &Reader<'_>, at: usize, length: usize) -> Option<()> {
        let entry = Reader { bytes: reader.bytes.get(at..at.checked_add(length)?)?, ..*reader };
        let name = until_nul(entry.bytes.get(entry.int(4)?..)?);
        let elements = entry.int(8)?;
        let kind = *entry.bytes.get(12)?;
        let value = entry.bytes.get(entry.int(16)?..)?;
        match (kind, elements) {
            (b'B', 1..) => {
                let text = until_nul(value.get(..elements.min(value.len()))?);
                self.texts.insert(name, text);
            }
            (b'J', 0) => {
                let bytes = value.get(..8)?.try_into().ok()?;
                let number = if entry.little { i64::from_le_bytes(bytes) } else { i64::from_be_bytes(bytes) };
                self.numbers.insert(name, number);
            }
            _ => {}
        }
        Some(())
    }

    /// A text by its name, e.g. `sun.rt.javaCommand` or `java.property.java.version`.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    /// A number by its name, e.g. `java.cls.loadedClasses`.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.numbers.get(name).copied()
    }

    /// Whether the VM takes clients, if it says: the first of its capabilities is false with
    /// `-XX:+DisableAttachMechanism`.
    pub fn attachable(&self) -> Option<bool> {
        match self.text("sun.rt.jvmCapabilities")?.as_bytes().first()? {
            b'0' => Some(false),
            b'1' => Some(true),
            _ => None,
        }
    }
}

/// Garbage collections of a JVM so far.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Collections {
    /// How many.
    pub count: u64,
    /// How long they took.
    pub time: Duration,
}

impl Collections {
    /// Those of a running JVM; `None` if it does not tell us.
    pub fn of_process(pid: u32) -> Option<Collections> {
        Collections::of(&perf_data(pid, &Status::read(pid).ok()?)?)
    }

    fn of(data: &PerfData) -> Option<Collections> {
        let number = |name: &str| data.number(name).and_then(|number| u64::try_from(number).ok());
        let ticks_a_second = number("sun.os.hrt.frequency").filter(|&ticks| ticks > 0)?;
        let mut collections = Collections::default();
        // Each collector (young, old, the pauses of a concurrent one) has its own.
        for i in 0.. {
            let Some(count) = number(&format!("sun.gc.collector.{i}.invocations")) else { break };
            let ticks = number(&format!("sun.gc.collector.{i}.time")).unwrap_or(0);
            collections.count += count;
            collections.time += Duration::from_secs_f64(ticks as f64 / ticks_a_second as f64);
        }
        Some(collections)
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    little: bool,
}

impl Reader<'_> {
    fn int(&self, at: usize) -> Option<usize> {
        let bytes = self.bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        let value = if self.little { i32::from_le_bytes(bytes) } else { i32::from_be_bytes(bytes) };
        usize::try_from(value).ok()
    }
}

fn until_nul(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

/// The performance data of a running JVM, if it keeps any that we may read: in its own `/tmp`, under the id and user
/// name it has there.
pub(crate) fn perf_data(pid: u32, status: &Status) -> Option<PerfData> {
    let tmp = proc::path(pid, "root/tmp");
    let folders = std::fs::read_dir(tmp).ok()?.flatten();
    let folders = folders.filter(|folder| folder.file_name().as_encoded_bytes().starts_with(b"hsperfdata_"));
    folders.into_iter().find_map(|folder| {
        let bytes = read_own(&folder.path().join(status.namespace_pid.to_string()), status.uid)?;
        PerfData::parse(&bytes)
    })
}

/// Reads a file only if it belongs to `uid`: anyone may make a folder of such a name and put anything in it.
fn read_own(path: &Path, uid: u32) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.uid() != uid {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(SIZE_LIMIT).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A file as a JVM writes it.
    fn file(entries: &[(&str, &[u8], u8)]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 2, 0, 1]);
        bytes.extend([0; 16]);
        bytes.extend(32_i32.to_le_bytes());
        bytes.extend((entries.len() as i32).to_le_bytes());
        for (name, value, kind) in entries {
            let data = 20 + name.len() + 1;
            let elements = if *kind == b'J' { 0 } else { value.len() as i32 };
            for field in [(data + value.len()) as i32, 20, elements] {
                bytes.extend(field.to_le_bytes());
            }
            bytes.extend([*kind, 0, 1, 1]);
            bytes.extend((data as i32).to_le_bytes());
            bytes.extend(name.bytes().chain([0]));
            bytes.extend(*value);
        }
        bytes
    }

    #[test]
    fn texts_and_numbers() {
        let bytes = file(&[
            ("sun.rt.javaCommand", b"Main a b\0\0\0", b'B'),
            ("sun.rt.jvmCapabilities", b"01000\0", b'B'),
            ("java.cls.loadedClasses", &480_i64.to_le_bytes(), b'J'),
        ]);
        let data = PerfData::parse(&bytes).unwrap();
        assert_eq!(data.text("sun.rt.javaCommand"), Some("Main a b"));
        assert_eq!(data.number("java.cls.loadedClasses"), Some(480));
        assert_eq!(data.attachable(), Some(false));
        assert_eq!(data.text("none"), None);
    }

    #[test]
    fn damaged() {
        let bytes = file(&[("a", b"first\0", b'B'), ("b", b"second\0", b'B')]);
        assert_eq!(PerfData::parse(b""), None);
        assert_eq!(PerfData::parse(&[0; 64]), None);
        for end in 0..bytes.len() {
            _ = PerfData::parse(&bytes[..end]);
        }
        let mut huge = bytes.clone();
        huge[28..32].copy_from_slice(&i32::MAX.to_le_bytes());
        assert_eq!(PerfData::parse(&huge).unwrap().texts.len(), 2);
        let mut outside = bytes.clone();
        outside[36..40].copy_from_slice(&i32::MAX.to_le_bytes());
        assert_eq!(PerfData::parse(&outside).unwrap().texts.len(), 1);
    }

    proptest! {
        #[test]
        fn any_bytes(mut bytes in proptest::collection::vec(any::<u8>(), 32..200), little: bool) {
            bytes[..6].copy_from_slice(&[0xCA, 0xFE, 0xC0, 0xC0, little.into(), 2]);
            bytes[24..28].copy_from_slice(&if little { 32_i32.to_le_bytes() } else { 32_i32.to_be_bytes() });
            _ = PerfData::parse(&bytes);
        }
    }
}
