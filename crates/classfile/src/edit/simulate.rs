//! Types on stack and in locals between two stack map frames.
//!
//! Between frames the verifier's own algorithm is a straight line without merges, so the frame at any instruction
//! follows from the last one before it. Needed in two rare places: where a conditional branch had to be replaced by a
//! trampoline (the fall-through is then a branch target), and to find the `super()` call of a constructor.

use super::pool::PoolEditor;
use crate::code::Code;
use crate::descriptor;
use crate::error::{EditError, Error};
use crate::instruction::Instruction;
use crate::opcode as op;
use crate::pool::tag;
use crate::types::{
    DESCRIBED, DOUBLE, FLOAT, INTEGER, LONG, NULL, OBJECT, SECOND, TOP, TypeList, Types, UNINITIALIZED,
    UNINITIALIZED_THIS, VType,
};

/// Values by slot.
#[derive(Debug, Default)]
pub(crate) struct Simulator {
    pub(crate) locals: Vec<VType>,
    pub(crate) stack: Vec<VType>,
    /// Give array and constant types their class entries; off when only initialisation is of interest.
    pub(crate) precise: bool,
}

const TOP_TYPE: VType = VType::plain(TOP);

fn spread(to: &mut Vec<VType>, from: impl Iterator<Item = VType>) {
    to.clear();
    for t in from {
        to.push(t);
        if t.slots() == 2 {
            to.push(VType::plain(SECOND));
        }
    }
}

impl Simulator {
    /// Starts at a frame.
    pub(crate) fn load(&mut self, locals: &Types, stack: TypeList<'_>, max_locals: u16) {
        spread(&mut self.locals, locals.iter());
        self.locals.resize(max_locals.into(), TOP_TYPE);
        spread(&mut self.stack, stack.iter());
    }

    /// Values by slot as a list for a frame.
    pub(crate) fn list(
        slots: &[VType],
        pool: &mut PoolEditor<'_, '_>,
        to: &mut Types,
    ) -> Result<(), EditError> {
        to.clear();
        for t in slots.iter().filter(|t| t.tag != SECOND) {
            to.push(t.resolved(pool)?);
        }
        Ok(())
    }

    /// Is any local the object under construction?
    pub(crate) fn holds_uninitialized_this(&self) -> bool {
        self.locals.iter().any(|t| t.tag == UNINITIALIZED_THIS)
    }

    fn underflow(bci: u32) -> EditError {
        EditError::Malformed(Error::malformed(bci as usize, "operand stack or local out of range"))
    }

    fn push(&mut self, t: VType) {
        self.stack.push(t);
        if t.slots() == 2 {
            self.stack.push(VType::plain(SECOND));
        }
    }

    fn pop(&mut self, slots: u32, bci: u32) -> Result<(), EditError> {
        let left = self.stack.len().checked_sub(slots as usize).ok_or_else(|| Self::underflow(bci))?;
        self.stack.truncate(left);
        Ok(())
    }

    fn store(&mut self, index: u16, t: VType, bci: u32) -> Result<(), EditError> {
        let index = usize::from(index);
        let set = |locals: &mut Vec<VType>, at: usize, t: VType| match locals.get_mut(at) {
            Some(slot) => Ok(std::mem::replace(slot, t)),
            None => Err(Self::underflow(bci)),
        };
        for (at, t) in [t, VType::plain(SECOND)].into_iter().take(t.slots()).enumerate() {
            let old = set(&mut self.locals, index + at, t)?;
            if old.tag == SECOND && at == 0 && index > 0 {
                set(&mut self.locals, index - 1, TOP_TYPE)?;
            }
            if old.slots() == 2 {
                set(&mut self.locals, index + at + 1, TOP_TYPE)?;
            }
        }
        Ok(())
    }

    /// Moves the top `take` slots also below the `over` slots under them (the `dup` family).
    fn dup(&mut self, take: usize, over: usize, bci: u32) -> Result<(), EditError> {
        let len = self.stack.len();
        let from = len.checked_sub(take).ok_or_else(|| Self::underflow(bci))?;
        let to = from.checked_sub(over).ok_or_else(|| Self::underflow(bci))?;
        let copy: Vec<VType> = self.stack.iter().skip(from).copied().collect();
        self.stack.splice(to..to, copy);
        Ok(())
    }

    /// Executes one instruction. True if it made `this` an initialised object.
    pub(crate) fn step(
        &mut self,
        code: &Code<'_>,
        bci: u32,
        pool: &mut PoolEditor<'_, '_>,
        this_class: u16,
    ) -> Result<bool, EditError> {
        let i = Instruction::at(code.bytes, bci)?;
        let effective = i.effective();
        let info = i.info();
        let local = i.local();
        match effective {
            op::ALOAD | op::ALOAD_0..=op::ALOAD_3 => {
                let value = self.locals.get(usize::from(local.unwrap_or(0))).copied();
                self.push(value.ok_or_else(|| Self::underflow(bci))?);
            }
            op::ISTORE..=op::ASTORE_3 => {
                let size = info.slots.map_or(1, |(popped, _)| popped);
                let from = self.stack.len().checked_sub(size.into()).ok_or_else(|| Self::underflow(bci))?;
                let value = self.stack.get(from).copied().unwrap_or(TOP_TYPE);
                self.stack.truncate(from);
                self.store(local.unwrap_or(0), value, bci)?;
            }
            op::DUP => self.dup(1, 0, bci)?,
            op::DUP_X1 => self.dup(1, 1, bci)?,
            op::DUP_X2 => self.dup(1, 2, bci)?,
            op::DUP2 => self.dup(2, 0, bci)?,
            op::DUP2_X1 => self.dup(2, 1, bci)?,
            op::DUP2_X2 => self.dup(2, 2, bci)?,
            op::SWAP => {
                self.dup(1, 1, bci)?;
                self.pop(1, bci)?;
            }
            op::AALOAD => {
                self.pop(1, bci)?;
                let array = self.stack.pop().ok_or_else(|| Self::underflow(bci))?;
                let t = if self.precise { component(array, pool)? } else { VType::plain(NULL) };
                self.push(t);
            }
            op::LDC | op::LDC_W | op::LDC2_W => {
                let t = self.constant(i.pool_index().unwrap_or(0), pool)?;
                self.push(t);
            }
            op::GETSTATIC | op::PUTSTATIC | op::GETFIELD | op::PUTFIELD => {
                let utf8 = pool.original().member_descriptor_index(i.pool_index().unwrap_or(0))?;
                let text = pool.original().utf8(utf8)?;
                let t = VType::described(text, utf8, 0).ok_or_else(|| Self::underflow(bci))?;
                let object = u32::from(matches!(effective, op::GETFIELD | op::PUTFIELD));
                if matches!(effective, op::GETSTATIC | op::GETFIELD) {
                    self.pop(object, bci)?;
                    self.push(t);
                } else {
                    self.pop(object + t.slots() as u32, bci)?;
                }
            }
            op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC => return self.invoke(&i, pool, this_class),
            op::NEW => self.push(VType::new(UNINITIALIZED, bci)),
            op::NEWARRAY => {
                self.pop(1, bci)?;
                let kind = i.array_operand().unwrap_or(0);
                let letter = b"ZCFDBSIJ".get(usize::from(kind).wrapping_sub(4)).copied();
                let letter = letter.ok_or_else(|| Self::underflow(bci))?;
                let t = self.class(&[b'[', letter], pool)?;
                self.push(t);
            }
            op::ANEWARRAY => {
                self.pop(1, bci)?;
                let t = if self.precise {
                    array_of(i.pool_index().unwrap_or(0), pool)?
                } else {
                    VType::plain(NULL)
                };
                self.push(t);
            }
            op::MULTIANEWARRAY => {
                self.pop(i.array_operand().unwrap_or(0).into(), bci)?;
                self.push(VType::new(OBJECT, i.pool_index().unwrap_or(0).into()));
            }
            op::CHECKCAST => {
                self.pop(1, bci)?;
                self.push(VType::new(OBJECT, i.pool_index().unwrap_or(0).into()));
            }
            _ => {
                self.pop(info.slots.map_or(0, |(popped, _)| popped).into(), bci)?;
                let pushed = info.effect.bytes().skip_while(|&b| b != b'>').skip(1);
                for kind in pushed {
                    self.push(VType::plain(match kind {
                        b'I' => INTEGER,
                        b'J' => LONG,
                        b'F' => FLOAT,
                        b'D' => DOUBLE,
                        b'N' => NULL,
                        _ => TOP,
                    }));
                }
            }
        }
        Ok(false)
    }

    fn invoke(
        &mut self,
        i: &Instruction<'_>,
        pool: &mut PoolEditor<'_, '_>,
        this_class: u16,
    ) -> Result<bool, EditError> {
        let index = i.pool_index().unwrap_or(0);
        let member = pool.original().member(index)?;
        let utf8 = pool.original().member_descriptor_index(index)?;
        let bad = || Self::underflow(i.bci);
        let (arguments, result) = descriptor::method_slots(member.descriptor).ok_or_else(bad)?;
        self.pop(arguments, i.bci)?;
        let mut initialised = false;
        if !matches!(i.opcode, op::INVOKESTATIC | op::INVOKEDYNAMIC) {
            let receiver = self.stack.pop().ok_or_else(bad)?;
            if i.opcode == op::INVOKESPECIAL && member.name == b"<init>" {
                let made = match receiver.tag {
                    UNINITIALIZED_THIS => VType::new(OBJECT, this_class.into()),
                    UNINITIALIZED => VType::new(OBJECT, new_class(i, pool)),
                    _ => return Err(bad()),
                };
                initialised = receiver.tag == UNINITIALIZED_THIS;
                for slot in self.locals.iter_mut().chain(&mut self.stack).filter(|t| **t == receiver) {
                    *slot = made;
                }
            }
        }
        if result > 0 {
            let at = descriptor::return_offset(member.descriptor).ok_or_else(bad)?;
            self.push(VType::described(member.descriptor, utf8, at).ok_or_else(bad)?);
        }
        Ok(initialised)
    }

    fn class(&self, name: &[u8], pool: &mut PoolEditor<'_, '_>) -> Result<VType, EditError> {
        if !self.precise {
            return Ok(VType::plain(NULL));
        }
        Ok(VType::new(OBJECT, pool.class(name)?.into()))
    }

    fn constant(&self, index: u16, pool: &mut PoolEditor<'_, '_>) -> Result<VType, EditError> {
        let name: &[u8] = match pool.original().tag(index) {
            Some(tag::INTEGER) => return Ok(VType::plain(INTEGER)),
            Some(tag::FLOAT) => return Ok(VType::plain(FLOAT)),
            Some(tag::LONG) => return Ok(VType::plain(LONG)),
            Some(tag::DOUBLE) => return Ok(VType::plain(DOUBLE)),
            Some(tag::DYNAMIC) => {
                let utf8 = pool.original().member_descriptor_index(index)?;
                let text = pool.original().utf8(utf8)?;
                return VType::described(text, utf8, 0).ok_or_else(|| Self::underflow(0));
            }
            Some(tag::STRING) => b"java/lang/String",
            Some(tag::CLASS) => b"java/lang/Class",
            Some(tag::METHOD_TYPE) => b"java/lang/invoke/MethodType",
            Some(tag::METHOD_HANDLE) => b"java/lang/invoke/MethodHandle",
            _ => return Err(Self::underflow(0)),
        };
        self.class(name, pool)
    }
}

/// The class a constructor call initialises: the verifier wants it to be the operand of the `new`.
fn new_class(call: &Instruction<'_>, pool: &PoolEditor<'_, '_>) -> u32 {
    let owner = pool.original().get(call.pool_index().unwrap_or(0));
    match owner {
        Ok(crate::pool::Constant::MethodRef { class, .. }) => class.into(),
        _ => 0,
    }
}

/// What `aaload` gets out of an array.
fn component(array: VType, pool: &mut PoolEditor<'_, '_>) -> Result<VType, EditError> {
    let bad = || EditError::Malformed(Error::malformed(0, "not an array"));
    match array.tag {
        DESCRIBED => {
            let utf8 = (array.data >> 16) as u16;
            let text = pool.original().utf8(utf8)?;
            VType::described(text, utf8, (array.data & 0xffff) as usize + 1).ok_or_else(bad)
        }
        OBJECT => {
            let name = pool.class_name(array.data as u16).ok_or_else(bad)?.to_vec();
            let name = match *name.as_slice() {
                [b'[', b'L', ref inner @ .., b';'] => inner,
                [b'[', ref inner @ ..] => inner,
                _ => return Err(bad()),
            };
            Ok(VType::new(OBJECT, pool.class(name)?.into()))
        }
        _ => Ok(VType::plain(NULL)),
    }
}

fn array_of(class: u16, pool: &mut PoolEditor<'_, '_>) -> Result<VType, EditError> {
    let name = pool.original().class_name(class)?;
    let mut array = Vec::with_capacity(name.len() + 3);
    array.push(b'[');
    if name.first() == Some(&b'[') {
        array.extend_from_slice(name);
    } else {
        array.push(b'L');
        array.extend_from_slice(name);
        array.push(b';');
    }
    Ok(VType::new(OBJECT, pool.class(&array)?.into()))
}
