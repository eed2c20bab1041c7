//! Moving stack map frames without changing them: only distances and the positions of `new` instructions differ.
//!
//! Used when an edit adds neither locals nor frames. Each frame keeps the form its compiler chose, so an edit that
//! moves nothing writes back the same bytes.

use super::layout::Layout;
use crate::error::{EditError, Error};
use crate::read::Reader;
use crate::scan::Scan;
use crate::types::{OBJECT, UNINITIALIZED, UNINITIALIZED_THIS};

/// Writes the body of a `StackMapTable` with new positions.
pub(crate) fn relocate(
    out: &mut Vec<u8>,
    table: &[u8],
    layout: &Layout,
    scan: &Scan,
) -> Result<(), EditError> {
    let mut r = Reader::new(table, 0);
    let count = r.u2()?;
    out.extend(count.to_be_bytes());
    let (mut old_base, mut new_base) = (0u32, 0u32);
    for _ in 0..count {
        let tag = r.u1()?;
        let old_delta = match tag {
            0..=127 => u32::from(tag & 63),
            247..=255 => u32::from(r.u2()?),
            _ => return Err(r.malformed("reserved frame type").into()),
        };
        let bci = old_base + old_delta;
        if !scan.is_start(bci) {
            return Err(Error::malformed(bci as usize, "frame not at an instruction").into());
        }
        old_base = bci + 1;
        let position = layout.label(bci);
        let delta = position.checked_sub(new_base).and_then(|d| u16::try_from(d).ok());
        let delta = delta.ok_or(EditError::OffsetOverflow)?;
        new_base = position + 1;
        let short = u8::try_from(delta).ok().filter(|d| *d < 64);
        match (tag, short) {
            (0..=63, Some(delta)) => out.push(delta),
            (64..=127, Some(delta)) => out.push(64 + delta),
            (0..=63, None) => long(out, 251, delta),
            (64..=127, None) => long(out, 247, delta),
            _ => long(out, tag, delta),
        }
        match tag {
            64..=127 | 247 => types(out, &mut r, 1, layout)?,
            252..=254 => types(out, &mut r, u16::from(tag) - 251, layout)?,
            255 => {
                for _ in 0..2 {
                    let count = r.u2()?;
                    out.extend(count.to_be_bytes());
                    types(out, &mut r, count, layout)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn long(out: &mut Vec<u8>, tag: u8, delta: u16) {
    let [hi, lo] = delta.to_be_bytes();
    out.extend_from_slice(&[tag, hi, lo]);
}

fn types(out: &mut Vec<u8>, r: &mut Reader<'_>, count: u16, layout: &Layout) -> Result<(), EditError> {
    for _ in 0..count {
        let tag = r.u1()?;
        match tag {
            0..=UNINITIALIZED_THIS => out.push(tag),
            OBJECT => long(out, tag, r.u2()?),
            UNINITIALIZED => {
                let at = u16::try_from(layout.instruction(r.u2()?.into()))
                    .map_err(|_| EditError::OffsetOverflow)?;
                long(out, tag, at);
            }
            _ => return Err(r.malformed("unknown verification type").into()),
        }
    }
    Ok(())
}
