//! JSON rows, written as they come.

use crate::columns::{Columns, Of};
use crate::number;
use quipu_profile::{MethodId, NO_METHOD, Profile};
use std::io::{self, Write};

/// A report being written: `{"by":…,"metrics":[…],"rows":[…]}`.
pub(crate) struct Report<'a> {
    out: io::BufWriter<&'a mut dyn Write>,
    first_row: bool,
}

/// An object being written.
pub(crate) struct Object<'b, 'a> {
    out: &'b mut io::BufWriter<&'a mut dyn Write>,
    first: bool,
}

impl<'a> Report<'a> {
    pub(crate) fn new(out: &'a mut dyn Write, by: &str, metrics: &[String]) -> io::Result<Report<'a>> {
        let mut out = io::BufWriter::with_capacity(1 << 16, out);
        out.write_all(b"{\"by\":")?;
        string(&mut out, by)?;
        out.write_all(b",\"metrics\":[")?;
        for (at, name) in metrics.iter().enumerate() {
            out.write_all(if at > 0 { b"," } else { b"" })?;
            string(&mut out, name)?;
        }
        out.write_all(b"],\"rows\":[")?;
        Ok(Report { out, first_row: true })
    }

    /// One row on a line of its own.
    pub(crate) fn row(&mut self, fill: impl FnOnce(&mut Object<'_, 'a>) -> io::Result<()>) -> io::Result<()> {
        self.out.write_all(if self.first_row { b"\n" } else { b",\n" })?;
        self.first_row = false;
        object(&mut self.out, fill)
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(b"]}\n")?;
        self.out.flush()
    }
}

fn object<'a>(
    out: &mut io::BufWriter<&'a mut dyn Write>,
    fill: impl FnOnce(&mut Object<'_, 'a>) -> io::Result<()>,
) -> io::Result<()> {
    out.write_all(b"{")?;
    fill(&mut Object { out, first: true })?;
    out.write_all(b"}")
}

fn string(out: &mut impl Write, text: &str) -> io::Result<()> {
    serde_json::to_writer(out, text).map_err(io::Error::from)
}

impl<'a> Object<'_, 'a> {
    fn key(&mut self, key: &str) -> io::Result<()> {
        self.out.write_all(if self.first { b"" } else { b"," })?;
        self.first = false;
        string(self.out, key)?;
        self.out.write_all(b":")
    }

    pub(crate) fn text(&mut self, key: &str, value: &str) -> io::Result<()> {
        self.key(key)?;
        string(self.out, value)
    }

    /// An integer, exact whatever its size.
    pub(crate) fn int(&mut self, key: &str, value: impl Into<i128>) -> io::Result<()> {
        self.key(key)?;
        write!(self.out, "{}", value.into())
    }

    pub(crate) fn bool(&mut self, key: &str, value: bool) -> io::Result<()> {
        self.key(key)?;
        write!(self.out, "{value}")
    }

    /// A number that may be missing.
    pub(crate) fn float(&mut self, key: &str, value: Option<f64>) -> io::Result<()> {
        self.key(key)?;
        serde_json::to_writer(&mut *self.out, &value.filter(|value| value.is_finite()))
            .map_err(io::Error::from)
    }

    pub(crate) fn strings(&mut self, key: &str, values: impl Iterator<Item = String>) -> io::Result<()> {
        self.key(key)?;
        self.out.write_all(b"[")?;
        for (at, value) in values.enumerate() {
            self.out.write_all(if at == 0 { b"" } else { b"," })?;
            string(self.out, &value)?;
        }
        self.out.write_all(b"]")
    }

    pub(crate) fn ints(&mut self, key: &str, values: &[u64]) -> io::Result<()> {
        self.key(key)?;
        self.out.write_all(b"[")?;
        for (at, value) in values.iter().enumerate() {
            write!(self.out, "{}{value}", if at == 0 { "" } else { "," })?;
        }
        self.out.write_all(b"]")
    }

    pub(crate) fn null(&mut self, key: &str) -> io::Result<()> {
        self.key(key)?;
        self.out.write_all(b"null")
    }

    /// A list of objects.
    pub(crate) fn objects<T>(
        &mut self,
        key: &str,
        values: impl IntoIterator<Item = T>,
        fill: impl Fn(&mut Object<'_, 'a>, T) -> io::Result<()>,
    ) -> io::Result<()> {
        self.key(key)?;
        self.out.write_all(b"[")?;
        for (at, value) in values.into_iter().enumerate() {
            self.out.write_all(if at == 0 { b"" } else { b"," })?;
            object(self.out, |object| fill(object, value))?;
        }
        self.out.write_all(b"]")
    }

    pub(crate) fn object(
        &mut self,
        key: &str,
        fill: impl FnOnce(&mut Object<'_, 'a>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.key(key)?;
        object(self.out, fill)
    }

    /// A standard error, to a tenth; nothing for what is exact.
    fn error(&mut self, key: &str, error: Option<f64>) -> io::Result<()> {
        match error {
            Some(error) => self.float(key, Some((error * 10.0).round() / 10.0)),
            None => Ok(()),
        }
    }

    /// `class`, `method` and `descriptor`; empty for a thread's root.
    pub(crate) fn names(&mut self, profile: &Profile, method: MethodId) -> io::Result<()> {
        let found = (method != NO_METHOD).then(|| profile.method(method));
        let str = |id: Option<u32>| id.map_or("", |id| profile.str(id));
        self.text("class", str(found.map(|method| method.class)))?;
        self.text("method", str(found.map(|method| method.name)))?;
        self.text("descriptor", str(found.map(|method| method.descriptor)))
    }

    /// A method as a value: an object with its names, null for a thread's root.
    pub(crate) fn method(&mut self, key: &str, profile: &Profile, method: MethodId) -> io::Result<()> {
        if method == NO_METHOD {
            return self.null(key);
        }
        self.object(key, |object| object.names(profile, method))
    }

    /// The metrics of a row that has no callees: plain integers, with their standard errors.
    pub(crate) fn own_metrics(&mut self, columns: &Columns, row: usize) -> io::Result<()> {
        for column in &columns.columns {
            self.int(&column.spec.name, column.values.own[row])?;
            self.error(&format!("{}_error", column.spec.name), column.error(Of::Own, row))?;
        }
        Ok(())
    }

    /// The metrics of a row: counts as plain integers, others as self and total, a ratio as a number; sampled ones with
    /// their standard errors.
    pub(crate) fn metrics(&mut self, columns: &Columns, row: usize) -> io::Result<()> {
        for column in &columns.columns {
            let (own, total) = (column.values.own[row], column.values.total[row]);
            let name = &column.spec.name;
            if column.has_totals() {
                self.object(name, |object| {
                    object.int("self", own)?;
                    object.int("total", total)?;
                    object.error("self_error", column.error(Of::Own, row))?;
                    object.error("total_error", column.error(Of::Total, row))
                })?;
            } else {
                self.int(name, own)?;
                self.error(&format!("{name}_error"), column.error(Of::Own, row))?;
            }
        }
        if let Some((numerator, denominator)) = columns.ratio() {
            let name = format!("{}/{}", numerator.spec.name, denominator.spec.name);
            self.float(&name, number::quotient(numerator.values.own[row], denominator.values.own[row]))?;
        }
        Ok(())
    }
}
