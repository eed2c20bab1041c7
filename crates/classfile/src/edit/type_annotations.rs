//! Type annotations on code: the only annotations that name code positions.

use super::emit::range;
use super::layout::Layout;
use crate::annotation::skip_pairs;
use crate::class::Attribute;
use crate::error::Error;
use crate::read::Reader;

/// Writes the attribute with its positions relocated.
pub(crate) fn relocate(out: &mut Vec<u8>, attribute: &Attribute<'_>, layout: &Layout) -> Result<(), Error> {
    let data = attribute.data;
    let mut r = Reader::new(data, attribute.offset);
    out.extend(attribute.name_index.to_be_bytes());
    out.extend((data.len() as u32).to_be_bytes());
    let count = r.u2()?;
    out.extend(count.to_be_bytes());
    for _ in 0..count {
        let target = r.u1()?;
        out.push(target);
        match target {
            0x40 | 0x41 => {
                let rows = r.u2()?;
                out.extend(rows.to_be_bytes());
                for _ in 0..rows {
                    let (start, length) = (r.u2()?, r.u2()?);
                    let moved = range(layout, 65_535, start, length).unwrap_or((start, length));
                    out.extend(moved.0.to_be_bytes());
                    out.extend(moved.1.to_be_bytes());
                    out.extend(r.u2()?.to_be_bytes());
                }
            }
            0x43..=0x4b => {
                let at = layout.instruction(r.u2()?.into());
                out.extend(u16::try_from(at).map_err(|_| r.malformed("position too large"))?.to_be_bytes());
                if target >= 0x47 {
                    out.push(r.u1()?);
                }
            }
            0x10 | 0x11 | 0x12 | 0x17 | 0x42 => out.extend(r.u2()?.to_be_bytes()),
            0x00 | 0x01 | 0x16 => out.push(r.u1()?),
            0x13..=0x15 => {}
            _ => return Err(r.malformed("unknown type annotation target")),
        }
        let from = r.pos();
        let path = usize::from(r.u1()?);
        r.take(path * 2)?;
        r.u2()?;
        skip_pairs(&mut r)?;
        out.extend_from_slice(data.get(from..r.pos()).unwrap_or_default());
    }
    if r.is_empty() { Ok(()) } else { Err(r.malformed("bytes after the type annotations")) }
}
