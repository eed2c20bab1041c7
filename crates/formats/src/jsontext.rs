//! Writing JSON piece by piece: these documents are too large to build as values first.

use std::io::{self, Write};

/// A quoted string.
pub(crate) fn string(out: &mut dyn Write, text: &str) -> io::Result<()> {
    serde_json::to_writer(out, text).map_err(io::Error::from)
}

/// `,` before all but the first item.
pub(crate) fn comma(out: &mut dyn Write, first: &mut bool) -> io::Result<()> {
    if std::mem::replace(first, false) { Ok(()) } else { out.write_all(b",") }
}

/// `[1,2,3]`
pub(crate) fn numbers<T: std::fmt::Display>(
    out: &mut dyn Write,
    items: impl IntoIterator<Item = T>,
) -> io::Result<()> {
    out.write_all(b"[")?;
    let mut first = true;
    for item in items {
        comma(out, &mut first)?;
        write!(out, "{item}")?;
    }
    out.write_all(b"]")
}

/// `["a","b"]`
pub(crate) fn strings<T: AsRef<str>>(
    out: &mut dyn Write,
    items: impl IntoIterator<Item = T>,
) -> io::Result<()> {
    out.write_all(b"[")?;
    let mut first = true;
    for item in items {
        comma(out, &mut first)?;
        string(out, item.as_ref())?;
    }
    out.write_all(b"]")
}
