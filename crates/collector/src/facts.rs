//! What an agent said of its JVM and of itself.

use std::io;
use std::path::Path;

use quipu_arena::reader::Contents;
use quipu_arena::record::Record;
use quipu_classfile::mutf8;

use crate::arena::ArenaFile;

/// Keys and values in an arena's log, in the order of writing.
pub fn of_arena(path: &Path) -> io::Result<Vec<(String, String)>> {
    let bytes = ArenaFile::open(path)?.read()?;
    let contents = Contents::read(&bytes).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?;
    let facts = contents.records.iter().filter_map(|record| match *record {
        Record::Info { key, value } => Some((mutf8::decode(key), mutf8::decode(value))),
        _ => None,
    });
    Ok(facts.collect())
}
