//! Debug information of compiled code: which methods, inlined into each other, a place in it belongs to.

use quipu_unwind::Memory;

use crate::hotspot::compressed;

/// The places of a compiled method that are described, and their descriptions.
#[derive(Debug, Clone, Copy)]
pub struct Descriptions {
    /// First of the described places.
    pub places: usize,
    /// Behind the last.
    pub places_end: usize,
    /// What they are described with.
    pub descriptions: usize,
    /// The table of methods that descriptions refer to.
    pub methods: usize,
    /// What bytes of numbers begin at: newer versions write no zeros.
    pub lowest_byte: u32,
}

/// Size of a described place: where in the code, where its description begins, and two more numbers.
const PLACE: usize = 16;
/// Methods that one place can be inlined through.
const DEEPEST: usize = 256;

/// A method and the place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    /// The VM's method.
    pub method: usize,
    /// Bytecode index; negative at its entry.
    pub bci: i32,
}

impl Descriptions {
    /// Calls `each` with the methods at a place of the code, the innermost first, as long as it returns `true`; `None`
    /// if nothing is described there.
    pub fn at(&self, memory: Memory, place: usize, mut each: impl FnMut(Scope) -> bool) -> Option<()> {
        let mut description = self.description(memory, i32::try_from(place).ok()?)?;
        for _ in 0..DEEPEST {
            let mut at = self.descriptions.checked_add(description as usize)?;
            let outer = self.number(memory, &mut at)?;
            let method = self.number(memory, &mut at)?;
            let bci = (self.number(memory, &mut at)?).wrapping_sub(1).cast_signed();
            let index = (method as usize).checked_sub(1)?;
            let method = memory.word(self.methods.checked_add(index * size_of::<usize>())?)?;
            if !each(Scope { method, bci }) || outer == 0 {
                return Some(());
            }
            description = outer;
        }
        None
    }

    /// Where the description of the first described place begins that is here or later: what the compiler says holds
    /// for the instructions before it.
    fn description(&self, memory: Memory, place: i32) -> Option<u32> {
        let count = self.places_end.checked_sub(self.places)? / PLACE;
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if memory.i32(self.places + middle * PLACE)? < place {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        // The last is not a place, and neither is what has no description.
        let description = (low < count).then(|| memory.u32(self.places + low * PLACE + 4))??;
        (description != 0).then_some(description)
    }

    fn number(&self, memory: Memory, at: &mut usize) -> Option<u32> {
        compressed::number(memory, self.lowest_byte, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read here is all there.
    fn memory() -> Memory {
        // SAFETY: no read of these tests faults.
        unsafe { Memory::guarded() }
    }

    fn example(lowest_byte: u8, described: &[u8], check: impl Fn(&Descriptions)) {
        let bytes: Vec<u8> = described.iter().map(|&byte| byte + lowest_byte).collect();
        // Places 4 and 9 are described; so is none behind them, which ends the table.
        let places: [i32; 12] = [4, 1, 0, 0, 9, 4, 0, 0, i32::MAX, 0, 0, 0];
        let methods = [0x1000usize, 0x2000];
        check(&Descriptions {
            places: places.as_ptr() as usize,
            places_end: places.as_ptr() as usize + size_of_val(&places),
            descriptions: bytes.as_ptr() as usize,
            methods: methods.as_ptr() as usize,
            lowest_byte: lowest_byte.into(),
        });
    }

    #[test]
    fn inlined_methods_come_before_those_they_are_inlined_into() {
        for lowest in [0, 1] {
            // At 1: method 1 at bci 6; at 4: method 2 at bci 69, inlined into that.
            let described = [0, 0, 1, 7, 1, 2, 70];
            example(lowest, &described, |descriptions| {
                let at = |place| {
                    let mut found = Vec::new();
                    descriptions.at(memory(), place, |scope| {
                        found.push((scope.method, scope.bci));
                        true
                    })?;
                    Some(found)
                };
                assert_eq!(at(9), Some(vec![(0x2000, 69), (0x1000, 6)]));
                assert_eq!(at(3), Some(vec![(0x1000, 6)]), "what comes next");
                assert_eq!(at(10), None, "behind all");
            });
        }
    }

    #[test]
    fn numbers_have_up_to_five_bytes() {
        let numbers: [(&[u8], u32); 3] =
            [(&[191], 191), (&[192, 0], 192), (&[0xff, 0xff, 0], 255 + 255 * 64)];
        for (bytes, number) in numbers {
            example(0, &[0], |descriptions| {
                assert_eq!(descriptions.number(memory(), &mut (bytes.as_ptr() as usize)), Some(number));
            });
        }
        // Without zeros: each byte is one more.
        example(1, &[0], |descriptions| {
            let bytes = [192u8, 1];
            assert_eq!(descriptions.number(memory(), &mut (bytes.as_ptr() as usize)), Some(191));
        });
    }
}
