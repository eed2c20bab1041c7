//! Stack map frames: reading them into absolute form and writing them in the smallest form there is.

use crate::edit::{Layout, PoolEditor, make_room};
use crate::error::{EditError, Error};
use crate::read::Reader;
use crate::types::{TypeList, Types, UNINITIALIZED, for_each_encoded};

/// Reads a `StackMapTable` frame by frame, keeping the current frame in absolute form.
#[derive(Debug)]
pub(crate) struct FrameReader<'a, 'l> {
    r: Reader<'a>,
    left: u16,
    next_base: u32,
    max_locals: usize,
    /// Types of the current frame's locals, one entry per value.
    pub(crate) locals: &'l mut Types,
    /// Types of its stack, bottom first.
    pub(crate) stack: TypeList<'a>,
}

impl<'a, 'l> FrameReader<'a, 'l> {
    /// `table` is the attribute's body; `locals` the types at method entry.
    #[inline(always)]
    pub(crate) fn new(
        table: Option<&'a [u8]>,
        locals: &'l mut Types,
        max_locals: u16,
    ) -> Result<Self, Error> {
        let mut r = Reader::new(table.unwrap_or(&[0, 0]), 0);
        let left = r.u2()?;
        let max_locals = max_locals.into();
        if locals.slots() > max_locals {
            return Err(r.malformed("parameters exceed max_locals"));
        }
        Ok(FrameReader { r, left, next_base: 0, max_locals, locals, stack: TypeList::default() })
    }

    /// Where the next frame is.
    pub(crate) fn peek(&self) -> Result<Option<u32>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        let mut r = self.r;
        let delta = match r.u1()? {
            tag @ 0..=127 => u32::from(tag & 63),
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
        let tag = self.r.u1()?;
        let delta = match tag {
            0..=127 => u32::from(tag & 63),
            247..=255 => u32::from(self.r.u2()?),
            _ => return Err(self.r.malformed("reserved frame type")),
        };
        self.stack = TypeList::default();
        match tag {
            64..=127 | 247 => self.stack = TypeList::read(&mut self.r, 1)?,
            248..=250 => {
                let chopped = self.locals.chop(usize::from(251 - tag));
                chopped.ok_or_else(|| self.r.malformed("chop of no local"))?;
            }
            252..=254 => self.append(u16::from(tag) - 251)?,
            255 => {
                self.locals.clear();
                let count = self.r.u2()?;
                self.append(count)?;
                let count = self.r.u2()?;
                self.stack = TypeList::read(&mut self.r, count)?;
            }
            _ => {}
        }
        let at = self.next_base + delta;
        if at > 65_535 {
            return Err(self.r.malformed("frame beyond the code"));
        }
        self.next_base = at + 1;
        Ok(Some((at, tag >= 248 && tag != 251)))
    }

    fn append(&mut self, count: u16) -> Result<(), Error> {
        self.locals.extend(TypeList::read(&mut self.r, count)?);
        if self.locals.slots() > self.max_locals {
            return Err(self.r.malformed("frame exceeds max_locals"));
        }
        Ok(())
    }
}

/// A limit on what a table may grow to: far above any real one, far below what repeated full frames could make.
const MAX_TABLE: usize = 16 << 20;

/// Writes frames, each relative to the one before.
#[derive(Debug)]
pub(crate) struct FrameWriter<'l> {
    /// Locals of the last frame written.
    pub(crate) previous: &'l mut Types,
    next_base: u32,
    /// Frames written.
    pub(crate) count: u16,
}

impl<'l> FrameWriter<'l> {
    /// `entry` is the implicit frame at the method's start.
    pub(crate) fn new(entry: &'l mut Types) -> Self {
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
        stack: &TypeList<'_>,
        mut context: Context<'_, '_, '_>,
    ) -> Result<(), EditError> {
        let delta = self.delta(at)?;
        if stack.count > 1 {
            return self.full(out, delta, stack, &mut context);
        }
        let (short, long) = if stack.count == 0 { (0, 251) } else { (64, 247) };
        if delta < 64 {
            make_room(out, 1);
            out.push(short + delta as u8);
        } else {
            put(out, long, delta);
        }
        context.write(out, stack)
    }

    /// A frame with these locals; the smallest form is chosen. Afterwards `locals` has other contents.
    pub(crate) fn write(
        &mut self,
        out: &mut Vec<u8>,
        at: u32,
        locals: &mut Types,
        stack: &TypeList<'_>,
        mut context: Context<'_, '_, '_>,
    ) -> Result<(), EditError> {
        // The encoding of a type is never the beginning of another's: bytes can be compared instead of types.
        let (old, new) = (self.previous.as_list(), locals.as_list());
        let (chops, appends) = (old.bytes.starts_with(new.bytes), new.bytes.starts_with(old.bytes));
        let (kept, difference) = (old.bytes.len(), old.count.abs_diff(new.count));
        if chops && appends {
            return self.same(out, at, stack, context);
        }
        let delta = self.delta(at)?;
        std::mem::swap(self.previous, locals);
        let is_short = stack.count == 0 && difference <= 3;
        if is_short && chops {
            put(out, 251 - difference as u8, delta);
            Ok(())
        } else if is_short && appends {
            put(out, 251 + difference as u8, delta);
            self.previous.resolve_from(kept, context.pool)?;
            context.write(out, &self.previous.as_list().skip_bytes(kept))
        } else {
            self.full(out, delta, stack, &mut context)
        }
    }

    fn full(
        &mut self,
        out: &mut Vec<u8>,
        delta: u16,
        stack: &TypeList<'_>,
        context: &mut Context<'_, '_, '_>,
    ) -> Result<(), EditError> {
        if out.len() > context.start + MAX_TABLE {
            return Err(EditError::FramesTooLarge);
        }
        self.previous.resolve_from(0, context.pool)?;
        make_room(out, 7 + self.previous.as_list().bytes.len() + stack.bytes.len());
        put(out, 255, delta);
        for list in [&self.previous.as_list(), stack] {
            out.extend((list.count as u16).to_be_bytes());
            context.write(out, list)?;
        }
        Ok(())
    }
}

fn put(out: &mut Vec<u8>, tag: u8, delta: u16) {
    make_room(out, 3);
    let [hi, lo] = delta.to_be_bytes();
    out.extend_from_slice(&[tag, hi, lo]);
}

/// What writing a type needs: the pool for described types, new positions for uninitialised ones.
pub(crate) struct Context<'x, 'c, 'a> {
    pub(crate) pool: &'x mut PoolEditor<'c, 'a>,
    pub(crate) layout: &'x Layout,
    /// Length of `out` when the table began.
    pub(crate) start: usize,
}

impl Context<'_, '_, '_> {
    fn write(&mut self, out: &mut Vec<u8>, list: &TypeList<'_>) -> Result<(), EditError> {
        let start = out.len();
        make_room(out, list.bytes.len());
        out.extend_from_slice(list.bytes);
        if !list.has_uninitialized {
            return Ok(());
        }
        for_each_encoded(out.get_mut(start..).unwrap_or_default(), |tag, data| {
            if *tag == UNINITIALIZED {
                let position = self.layout.instruction((*data).into());
                *data = u16::try_from(position).map_err(|_| EditError::OffsetOverflow)?;
            }
            Ok(())
        })
    }
}
