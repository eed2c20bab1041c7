//! Stack map frames: reading them into absolute form and writing them in the smallest form there is.

use crate::descriptor;
use crate::edit::PoolEditor;
use crate::error::{EditError, Error};
use crate::read::Reader;

/// A verification type as the verifier's tables hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VType {
    pub(crate) tag: u8,
    pub(crate) data: u32,
}

pub(crate) const TOP: u8 = 0;
pub(crate) const INTEGER: u8 = 1;
pub(crate) const FLOAT: u8 = 2;
pub(crate) const DOUBLE: u8 = 3;
pub(crate) const LONG: u8 = 4;
pub(crate) const NULL: u8 = 5;
pub(crate) const UNINITIALIZED_THIS: u8 = 6;
pub(crate) const OBJECT: u8 = 7;
/// `data` is the old position of the `new` instruction.
pub(crate) const UNINITIALIZED: u8 = 8;
/// Not in files: an object type named by the descriptor at (pool index, offset), given a class entry when written.
pub(crate) const DESCRIBED: u8 = 9;
/// Not in files: the second slot of a long or double, where values are kept by slot.
pub(crate) const SECOND: u8 = 10;

impl VType {
    pub(crate) const fn new(tag: u8, data: u32) -> Self {
        VType { tag, data }
    }

    pub(crate) const fn plain(tag: u8) -> Self {
        VType { tag, data: 0 }
    }

    #[inline]
    pub(crate) fn slots(self) -> usize {
        if matches!(self.tag, LONG | DOUBLE) { 2 } else { 1 }
    }

    /// The type described at `offset` of the descriptor with pool index `utf8`.
    pub(crate) fn described(descriptor: &[u8], utf8: u16, offset: usize) -> Option<Self> {
        Some(match descriptor.get(offset)? {
            b'B' | b'C' | b'S' | b'Z' | b'I' => VType::plain(INTEGER),
            b'F' => VType::plain(FLOAT),
            b'J' => VType::plain(LONG),
            b'D' => VType::plain(DOUBLE),
            b'L' | b'[' => VType::new(DESCRIBED, (u32::from(utf8) << 16) | u32::try_from(offset).ok()?),
            _ => return None,
        })
    }

    /// A type that can be written: described types get a class entry.
    pub(crate) fn resolved(self, pool: &mut PoolEditor<'_, '_>) -> Result<Self, EditError> {
        if self.tag != DESCRIBED {
            return Ok(self);
        }
        let text = pool.original().utf8((self.data >> 16) as u16)?;
        let bad = || EditError::Malformed(Error::malformed(0, "bad descriptor"));
        let rest = text.get((self.data & 0xffff) as usize..).ok_or_else(bad)?;
        let (len, _) = descriptor::field_at(rest).ok_or_else(bad)?;
        let name = if rest.first() == Some(&b'L') { rest.get(1..len - 1) } else { rest.get(..len) };
        Ok(VType::new(OBJECT, u32::from(pool.class(name.ok_or_else(bad)?)?)))
    }
}

/// Reads a `StackMapTable` frame by frame, keeping the current frame in absolute form.
#[derive(Debug)]
pub(crate) struct FrameReader<'a> {
    r: Reader<'a>,
    left: u16,
    next_base: u32,
    max_locals: usize,
    slots: usize,
    /// Types of the current frame's locals, one entry per value.
    pub(crate) locals: Vec<VType>,
    /// Types of its stack, bottom first.
    pub(crate) stack: Vec<VType>,
}

impl<'a> FrameReader<'a> {
    /// `table` is the attribute's body; `locals` the types at method entry.
    pub(crate) fn new(
        table: Option<&'a [u8]>,
        locals: Vec<VType>,
        stack: Vec<VType>,
        max_locals: u16,
    ) -> Result<Self, Error> {
        let mut r = Reader::new(table.unwrap_or(&[0, 0]), 0);
        let left = r.u2()?;
        let slots = locals.iter().map(|t| t.slots()).sum();
        let reader =
            FrameReader { r, left, next_base: 0, max_locals: max_locals.into(), slots, locals, stack };
        reader.check()
    }

    fn check(self) -> Result<Self, Error> {
        if self.slots > self.max_locals {
            Err(self.r.malformed("parameters exceed max_locals"))
        } else {
            Ok(self)
        }
    }

    /// Hands back the buffers for reuse.
    pub(crate) fn into_buffers(self) -> (Vec<VType>, Vec<VType>) {
        (self.locals, self.stack)
    }

    /// Where the next frame is.
    pub(crate) fn peek(&self) -> Result<Option<u32>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        let mut r = self.r;
        let delta = match r.u1()? {
            tag @ 0..=63 => u32::from(tag),
            tag @ 64..=127 => u32::from(tag) - 64,
            _ => u32::from(r.u2()?),
        };
        Ok(Some(self.next_base + delta))
    }

    /// Moves to the next frame. Returns its position and whether its locals differ from the frame before.
    pub(crate) fn advance(&mut self) -> Result<Option<(u32, bool)>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.stack.clear();
        let tag = self.r.u1()?;
        let mut changed = false;
        let delta = match tag {
            0..=63 => u16::from(tag),
            64..=127 => {
                let t = self.vtype()?;
                self.stack.push(t);
                u16::from(tag) - 64
            }
            247 => {
                let delta = self.r.u2()?;
                let t = self.vtype()?;
                self.stack.push(t);
                delta
            }
            248..=250 => {
                changed = true;
                for _ in 0..251 - tag {
                    let gone = self.locals.pop().ok_or_else(|| self.r.malformed("chop of no local"))?;
                    self.slots = self.slots.saturating_sub(gone.slots());
                }
                self.r.u2()?
            }
            251 => self.r.u2()?,
            252..=254 => {
                changed = true;
                let delta = self.r.u2()?;
                self.read_locals(u16::from(tag) - 251)?;
                delta
            }
            255 => {
                changed = true;
                let delta = self.r.u2()?;
                self.locals.clear();
                self.slots = 0;
                let count = self.r.u2()?;
                self.read_locals(count)?;
                for _ in 0..self.r.u2()? {
                    let t = self.vtype()?;
                    self.stack.push(t);
                }
                delta
            }
            _ => return Err(self.r.malformed("reserved frame type")),
        };
        let at = self.next_base + u32::from(delta);
        if at > 65_535 {
            return Err(self.r.malformed("frame beyond the code"));
        }
        self.next_base = at + 1;
        Ok(Some((at, changed)))
    }

    fn read_locals(&mut self, count: u16) -> Result<(), Error> {
        for _ in 0..count {
            let t = self.vtype()?;
            self.slots += t.slots();
            if self.slots > self.max_locals {
                return Err(self.r.malformed("frame exceeds max_locals"));
            }
            self.locals.push(t);
        }
        Ok(())
    }

    fn vtype(&mut self) -> Result<VType, Error> {
        let tag = self.r.u1()?;
        Ok(match tag {
            TOP..=UNINITIALIZED_THIS => VType::plain(tag),
            OBJECT | UNINITIALIZED => VType::new(tag, self.r.u2()?.into()),
            _ => return Err(self.r.malformed("unknown verification type")),
        })
    }
}

/// A limit on what a table may grow to: far above any real one, far below what repeated full frames could make.
const MAX_TABLE: usize = 16 << 20;

/// Writes frames, each relative to the one before.
#[derive(Debug)]
pub(crate) struct FrameWriter {
    /// Locals of the last frame written.
    pub(crate) previous: Vec<VType>,
    next_base: u32,
    /// Frames written.
    pub(crate) count: u16,
}

impl FrameWriter {
    /// `entry` is the implicit frame at the method's start.
    pub(crate) fn new(entry: Vec<VType>) -> Self {
        FrameWriter { previous: entry, next_base: 0, count: 0 }
    }

    fn delta(&mut self, at: u32) -> Result<u16, EditError> {
        let delta = at.checked_sub(self.next_base).and_then(|d| u16::try_from(d).ok());
        self.next_base = at.saturating_add(1);
        self.count = self.count.checked_add(1).ok_or(EditError::FramesTooLarge)?;
        delta.ok_or(EditError::MissingFrame { bci: at })
    }

    /// A frame with the same locals as the one before.
    pub(crate) fn same(
        &mut self,
        out: &mut Vec<u8>,
        at: u32,
        stack: &[VType],
        mut context: Context<'_, '_, '_>,
    ) -> Result<(), EditError> {
        let delta = self.delta(at)?;
        match *stack {
            [] if delta < 64 => out.push(delta as u8),
            [] => put(out, 251, delta),
            [only] => {
                if delta < 64 {
                    out.push(64 + delta as u8);
                } else {
                    put(out, 247, delta);
                }
                context.write(out, only)?;
            }
            _ => self.full(out, delta, stack, &mut context)?,
        }
        Ok(())
    }

    /// A frame with these locals; the smallest form is chosen.
    pub(crate) fn write(
        &mut self,
        out: &mut Vec<u8>,
        at: u32,
        locals: &[VType],
        stack: &[VType],
        mut context: Context<'_, '_, '_>,
    ) -> Result<(), EditError> {
        let common = self.previous.iter().zip(locals).take_while(|(a, b)| a == b).count();
        let (old, new) = (self.previous.len(), locals.len());
        if common == old && common == new {
            return self.same(out, at, stack, context);
        }
        let delta = self.delta(at)?;
        if stack.is_empty() && common == new && old - new <= 3 {
            put(out, 251 - (old - new) as u8, delta);
            self.previous.truncate(new);
        } else if stack.is_empty() && common == old && new - old <= 3 {
            put(out, 251 + (new - old) as u8, delta);
            for t in locals.iter().skip(common) {
                let t = t.resolved(context.pool)?;
                context.write(out, t)?;
                self.previous.push(t);
            }
        } else {
            self.previous.truncate(common);
            self.previous.extend(locals.iter().skip(common));
            self.full(out, delta, stack, &mut context)?;
        }
        Ok(())
    }

    fn full(
        &mut self,
        out: &mut Vec<u8>,
        delta: u16,
        stack: &[VType],
        context: &mut Context<'_, '_, '_>,
    ) -> Result<(), EditError> {
        if out.len() > context.start + MAX_TABLE {
            return Err(EditError::FramesTooLarge);
        }
        put(out, 255, delta);
        out.extend((self.previous.len() as u16).to_be_bytes());
        for t in &mut self.previous {
            *t = t.resolved(context.pool)?;
            context.write(out, *t)?;
        }
        out.extend((stack.len() as u16).to_be_bytes());
        for t in stack {
            context.write(out, *t)?;
        }
        Ok(())
    }
}

fn put(out: &mut Vec<u8>, tag: u8, delta: u16) {
    let [hi, lo] = delta.to_be_bytes();
    out.extend_from_slice(&[tag, hi, lo]);
}

/// What writing a type needs: the pool for described types, new positions for uninitialised ones.
pub(crate) struct Context<'x, 'c, 'a> {
    pub(crate) pool: &'x mut PoolEditor<'c, 'a>,
    pub(crate) layout: &'x crate::edit::Layout,
    /// Length of `out` when the table began.
    pub(crate) start: usize,
}

impl Context<'_, '_, '_> {
    fn write(&mut self, out: &mut Vec<u8>, t: VType) -> Result<(), EditError> {
        let t = t.resolved(self.pool)?;
        match t.tag {
            OBJECT => put(out, OBJECT, t.data as u16),
            UNINITIALIZED => {
                let at =
                    u16::try_from(self.layout.instruction(t.data)).map_err(|_| EditError::OffsetOverflow)?;
                put(out, UNINITIALIZED, at);
            }
            tag => out.push(tag),
        }
        Ok(())
    }
}
