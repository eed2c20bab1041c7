//! Where results go: looked at before the work begins, written whole or not at all.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::exit::Failure;

/// Refuses a place that nothing can be written to, before hours of work have been done for it.
pub fn check(path: &Path) -> anyhow::Result<()> {
    quipu_profile::try_place(path).map_err(|error| {
        Failure::usage(format!(
            "{} cannot be written: {error}; name another file with -o, in a directory that is there and yours to write to",
            path.display()
        ))
    })
}

/// Writes a file: all of it, or nothing.
pub fn write(path: &Path, contents: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let whole = |file: &mut File| -> anyhow::Result<()> {
        let mut out = BufWriter::new(file);
        contents(&mut out)?;
        Ok(out.flush()?)
    };
    quipu_profile::replace_file(path, whole).map_err(|error| match error.is::<Failure>() {
        true => error,
        false => Failure::target(format!("cannot write {}: {error:#}", path.display())),
    })
}
