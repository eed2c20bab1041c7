//! Class files of a JDK that is not running: its run-time image `lib/modules` (JDK 9 and newer), read in place.
//!
//! The image is a header, a hash table, the attributes of every resource and a pool of strings, then the resources.
//! The table is not used: all attributes are gone through once, and classes are kept by name.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::rt_jar::RtJar;

const MAGIC: u32 = 0xCAFE_DADA;
const HEADER: u64 = 28;
/// The index of a whole JDK is 3 MB; a damaged header must not have us read everything.
const LARGEST_INDEX: u64 = 256 << 20;
const LARGEST_CLASS: u64 = 16 << 20;

/// Kinds of attributes.
mod attribute {
    pub const END: usize = 0;
    pub const MODULE: usize = 1;
    pub const PARENT: usize = 2;
    pub const BASE: usize = 3;
    pub const EXTENSION: usize = 4;
    pub const OFFSET: usize = 5;
    pub const COMPRESSED: usize = 6;
    pub const SIZE: usize = 7;
    pub const COUNT: usize = 8;
}

/// The classes of a JDK: its run-time image, or the jar that JDK 8 has in its place.
#[derive(Debug)]
pub struct RuntimeImage(Classes);

#[derive(Debug)]
enum Classes {
    Image(Image),
    Jar(RtJar),
}

#[derive(Debug)]
struct Image {
    file: File,
    /// Where each class is, and its size.
    classes: HashMap<Vec<u8>, (u64, u64)>,
}

impl RuntimeImage {
    /// Opens what the JDK with this home has; `None` if it has nothing that can be read.
    pub fn open(java_home: &Path) -> Option<RuntimeImage> {
        let image = || Image::open(java_home).map(Classes::Image);
        image().or_else(|| RtJar::open(java_home).map(Classes::Jar)).map(RuntimeImage)
    }

    /// The internal names of all classes, in no order.
    pub fn names(&self) -> Box<dyn Iterator<Item = &[u8]> + '_> {
        match &self.0 {
            Classes::Image(image) => Box::new(image.classes.keys().map(Vec::as_slice)),
            Classes::Jar(jar) => Box::new(jar.names()),
        }
    }

    /// The bytes of a class, by internal name.
    pub fn class(&self, name: &[u8]) -> Option<Vec<u8>> {
        match &self.0 {
            Classes::Image(image) => image.class(name),
            Classes::Jar(jar) => jar.class(name),
        }
    }
}

impl Image {
    fn open(java_home: &Path) -> Option<Image> {
        let file = File::open(java_home.join("lib/modules")).ok()?;
        let mut header = [0; HEADER as usize];
        file.read_exact_at(&mut header, 0).ok()?;
        if word(&header, 0)? != MAGIC {
            return None;
        }
        let [table, locations, strings] = [16, 20, 24].map(|at| word(&header, at).unwrap_or(0).into());
        let index = 8u64.checked_mul(table)?.checked_add(locations)?.checked_add(strings)?;
        if index > LARGEST_INDEX {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(index).ok()?];
        file.read_exact_at(&mut bytes, HEADER).ok()?;
        let offsets = bytes.get(4 * table as usize..8 * table as usize)?;
        let (locations, strings) = bytes.get(8 * table as usize..)?.split_at(locations as usize);
        let mut classes = HashMap::new();
        for offset in offsets.chunks_exact(4).filter_map(|offset| word(offset, 0)) {
            let Some((name, at, size)) = class_at(locations.get(offset as usize..)?, strings) else {
                continue;
            };
            classes.insert(name, (HEADER + index + at, size));
        }
        Some(Image { file, classes })
    }

    fn class(&self, name: &[u8]) -> Option<Vec<u8>> {
        let &(at, size) = self.classes.get(name)?;
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        self.file.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }
}

/// Name, offset and size of the class that these attributes describe.
fn class_at(mut location: &[u8], strings: &[u8]) -> Option<(Vec<u8>, u64, u64)> {
    let mut values = [0u64; attribute::COUNT];
    loop {
        let &byte = location.first()?;
        let (kind, length) = (usize::from(byte >> 3), usize::from(byte & 7) + 1);
        if kind == attribute::END {
            break;
        }
        let value = location.get(1..=length)?.iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        *values.get_mut(kind)? = value;
        location = location.get(1 + length..)?;
    }
    let value = |kind: usize| values.get(kind).copied().unwrap_or(0);
    let string = |kind: usize| {
        let rest = strings.get(usize::try_from(value(kind)).ok()?..)?;
        rest.split(|&byte| byte == 0).next()
    };
    let usable = value(attribute::MODULE) != 0
        && string(attribute::EXTENSION)? == b"class"
        && value(attribute::COMPRESSED) == 0
        && value(attribute::SIZE) <= LARGEST_CLASS;
    let name = match string(attribute::PARENT)? {
        b"" => string(attribute::BASE)?.to_vec(),
        parent => [parent, b"/", string(attribute::BASE)?].concat(),
    };
    usable.then(|| (name, value(attribute::OFFSET), value(attribute::SIZE)))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}
