//! Walking annotations without recursion: nesting depth is chosen by whoever wrote the class.

use crate::error::Error;
use crate::pool::ConstantPool;
use crate::read::Reader;

/// Does a `Runtime(In)VisibleAnnotations` body hold an annotation of this type?
pub(crate) fn contains(data: &[u8], pool: &ConstantPool<'_>, descriptor: &[u8]) -> Result<bool, Error> {
    let mut r = Reader::new(data, 0);
    for _ in 0..r.u2()? {
        if pool.utf8(r.u2()?)? == descriptor {
            return Ok(true);
        }
        skip_pairs(&mut r)?;
    }
    Ok(false)
}

/// A container of values being skipped: how many are left, and whether each has a name in front.
struct Open {
    left: u16,
    named: bool,
}

/// Skips an annotation's `num_element_value_pairs` and the pairs.
pub(crate) fn skip_pairs(r: &mut Reader<'_>) -> Result<(), Error> {
    // Grows by one entry per nesting level, each of which takes three bytes of input.
    let mut open = vec![Open { left: r.u2()?, named: true }];
    while let Some(top) = open.last_mut() {
        if top.left == 0 {
            open.pop();
            continue;
        }
        top.left -= 1;
        if top.named {
            r.u2()?;
        }
        match r.u1()? {
            b'e' => {
                r.u4()?;
            }
            b'@' => {
                r.u2()?;
                open.push(Open { left: r.u2()?, named: true });
            }
            b'[' => open.push(Open { left: r.u2()?, named: false }),
            b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' | b's' | b'c' => {
                r.u2()?;
            }
            _ => return Err(r.malformed("unknown annotation value")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_300_000_deep_is_skipped() {
        let depth = 300_000;
        // One pair whose value is an array of one array of one array …
        let mut data = vec![0, 1, 0, 1];
        for _ in 0..depth {
            data.extend([b'[', 0, 1]);
        }
        data.extend([b'I', 0, 7]);
        let mut r = Reader::new(&data, 0);
        assert_eq!(skip_pairs(&mut r), Ok(()));
        assert!(r.is_empty());
        let mut cut = Reader::new(data.get(..data.len() - 1).unwrap(), 0);
        assert!(skip_pairs(&mut cut).is_err());
    }
}
