//! References to objects, as they are written in other objects and in the VM's handles.
//!
//! ZGC writes the state of its work into them, their *colour*. A reference of today's colour leads to where its object is.
//! Any other may lead to where it was: what is read there is true as long as nobody has used the memory for something
//! else, which the class in the object's header tells.

use quipu_unwind::Memory;

use crate::hotspot::Structs;

/// How references are written.
#[derive(Debug, Clone, Copy)]
pub struct Oops {
    /// In objects, where they are four bytes wide: what is added to them, and how far they are shifted.
    narrow: Option<(usize, u32)>,
    colours: Option<Colours>,
}

/// Where ZGC says what colours mean today.
#[derive(Debug, Clone, Copy)]
struct Colours {
    good: usize,
    bad: usize,
    shift: usize,
}

/// A reference that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// Where the object is, or was.
    pub object: usize,
    /// Whether it is there.
    pub sure: bool,
}

impl Oops {
    /// How this VM writes them; `narrow` if references in objects are four bytes wide. `None` if it does not say.
    pub fn of(structs: &Structs, memory: Memory, narrow: bool) -> Option<Oops> {
        // As JDKs of different ages call it.
        let word = |names: [&std::ffi::CStr; 2]| {
            let names = names.iter().flat_map(|name| [(c"CompressedOops", name), (c"Universe", name)]);
            let address = names.into_iter().find_map(|(of, name)| structs.address(of, name))?;
            memory.word(address as usize)
        };
        let narrow = match narrow {
            true => {
                let (base, shift) =
                    (word([c"_base", c"_narrow_oop._base"])?, [c"_shift", c"_narrow_oop._shift"]);
                Some((base, word(shift)? as u32 & 31))
            }
            false => None,
        };
        Some(Oops { narrow, colours: Colours::of(structs, memory) })
    }

    /// Whether objects are moved while Java runs.
    pub fn coloured(&self) -> bool {
        self.colours.is_some()
    }

    /// Bytes of a reference in an object.
    pub fn width(&self) -> usize {
        if self.narrow.is_some() { size_of::<u32>() } else { size_of::<usize>() }
    }

    /// The reference in a field of an object.
    #[inline(never)]
    pub fn field(&self, memory: Memory, at: usize) -> Option<Reference> {
        let Some((base, shift)) = self.narrow else { return self.handle(memory, at) };
        let narrow = memory.u32(at)? as usize;
        (narrow != 0).then(|| Reference { object: base.wrapping_add(narrow << shift), sure: true })
    }

    /// The reference in a handle of the VM's.
    #[inline(never)]
    pub fn handle(&self, memory: Memory, at: usize) -> Option<Reference> {
        let written = memory.word(at)?;
        let reference = match &self.colours {
            Some(colours) => colours.decode(memory, written)?,
            None => Reference { object: written, sure: true },
        };
        (reference.object != 0).then_some(reference)
    }
}

impl Colours {
    fn of(structs: &Structs, memory: Memory) -> Option<Colours> {
        const GLOBALS: &std::ffi::CStr = c"ZGlobalsForVMStructs";
        let globals = memory.word(structs.address(GLOBALS, c"_instance_p")? as usize)?;
        let place = |name| memory.word(globals + structs.offset(GLOBALS, name)?);
        let colours = Colours {
            good: place(c"_ZPointerLoadGoodMask")?,
            bad: place(c"_ZPointerLoadBadMask")?,
            shift: place(c"_ZPointerLoadShift")?,
        };
        // Of another collector there is the description, and nothing in it.
        (memory.word(colours.good)? != 0).then_some(colours)
    }

    /// One bit of the colour says how it is written: the address lies so far above that bit, as today's does above its own.
    fn decode(&self, memory: Memory, written: usize) -> Option<Reference> {
        let (good, bad) = (memory.word(self.good)?, memory.word(self.bad)?);
        let colour = written & (good | bad);
        if !colour.is_power_of_two() {
            return (written == 0).then_some(Reference { object: 0, sure: true });
        }
        let shift = memory.word(self.shift)? + colour.trailing_zeros() as usize;
        let shift = shift.checked_sub(good.trailing_zeros() as usize)?;
        let object = written.checked_shr(u32::try_from(shift).ok()?)?;
        Some(Reference { object, sure: colour & bad == 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_of_another_colour_leads_to_where_the_object_was() {
        // SAFETY: no read of this test faults.
        let memory = unsafe { Memory::guarded() };
        // One of four bits, above eight that mean something else.
        let (good, bad, shift) = (0x2000usize, 0xd000usize, 14usize);
        let [good, bad, shift] = [&good, &bad, &shift].map(|word| std::ptr::from_ref(word) as usize);
        let oops = Oops { narrow: None, colours: Some(Colours { good, bad, shift }) };
        let object = 0x0400_0012_3458usize;
        let read = |written: usize| oops.field(memory, std::ptr::from_ref(&written) as usize);
        assert_eq!(read(object << 14 | 0x2a0), None, "without a colour");
        assert_eq!(read(object << 14 | 0x2000), Some(Reference { object, sure: true }));
        assert_eq!(read(object << 13 | 0x1000), Some(Reference { object, sure: false }));
        assert_eq!(read(object << 16 | 0x8000), Some(Reference { object, sure: false }));
        assert_eq!(read(0x2000), None, "nothing, in colour");
        assert_eq!(read(0), None);
    }
}
