//! Machine code that is not the VM's: frames by their call frame information.

use quipu_unwind::{Modules, Registers};

use super::code::BlobKind;
use super::{Broken, Kind, NEAR_MACHINE, Reach, WORD, Walk, caller, instructions};

/// Machine frames above Java ones; deeper ones are left out.
const MOST_MACHINE: usize = 128;

impl Walk<'_> {
    /// The caller of a stub, if that is machine code: outside Java, the VM calls some as if they were functions.
    pub(super) fn called_from_machine(
        &self,
        at: &Registers,
        modules: &Modules,
    ) -> Result<Option<Registers>, Broken> {
        let stub = self.code.find(at.pc).is_some_and(|blob| blob.kind == BlobKind::Stub);
        if !stub || self.code.interpreted(at.pc) || self.in_java()? {
            return Ok(None);
        }
        Ok(self.machine_caller(at, modules))
    }

    fn machine_caller(&self, at: &Registers, modules: &Modules) -> Option<Registers> {
        let memory = self.code.memory;
        let places = [(at.sp(), at.fp()), (at.sp() + WORD, memory.word(at.sp())?)];
        let framed =
            (at.fp() >= at.sp() && at.fp() < self.top).then(|| (at.fp() + WORD, memory.word(at.fp())));
        let framed = framed.and_then(|(place, fp)| Some((place, fp?)));
        places.into_iter().chain(framed).find_map(|(place, fp)| {
            let pc = memory.word(place)?;
            let before = memory.bytes::<7>(pc.checked_sub(7)?)?;
            (modules.find(pc).is_some() && instructions::ends_with_call(&before))
                .then(|| caller(pc, place + WORD, fp))
        })
    }

    /// Machine frames, up to a frame of the VM's code (`true`), or to `limit`, or as far as it goes.
    pub(super) fn machine(
        &mut self,
        at: &mut Registers,
        modules: &Modules,
        limit: Option<usize>,
    ) -> Result<bool, Broken> {
        let most = if matches!(self.reach, Reach::Near(_)) { NEAR_MACHINE } else { MOST_MACHINE };
        for _ in 0..most {
            self.found.push(Kind::Machine, at.place(), -1)?;
            let Some(module) = modules.find(at.place()) else { return Ok(false) };
            let Some(caller) = quipu_unwind::caller(self.code.memory, module, at) else { return Ok(false) };
            if caller.pc == 0 || caller.sp() <= at.sp() || limit.is_some_and(|limit| caller.sp() > limit) {
                return Ok(false);
            }
            *at = caller;
            if self.code.contains(at.pc) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
