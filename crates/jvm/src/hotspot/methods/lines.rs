//! Line numbers of a method: behind its bytecode, each as the distance to the one before.

use quipu_unwind::Memory;

use super::MethodLayout;
use crate::hotspot::compressed;

/// More than a method can have: each begins at another place of at most 65,535.
const MOST: usize = 1 << 16;

impl MethodLayout {
    /// Bytecode index and line of each entry; `None` if there are none.
    pub(super) fn lines(&self, memory: Memory, constant: usize) -> Option<Vec<(u16, u16)>> {
        if u32::from(memory.u16(constant + self.flags)?) & self.has_lines == 0 {
            return None;
        }
        let mut at = constant + self.constant_size + usize::from(memory.u16(constant + self.code_size)?);
        let (mut bci, mut line) = (0i32, 0i32);
        let mut lines = Vec::new();
        while lines.len() < MOST {
            /// What follows is two numbers; everything else is five bits of the one and three of the other.
            const LONG: u8 = 0xff;
            let byte = memory.u8(at)?;
            at += 1;
            match byte {
                0 => return Some(lines),
                LONG => {
                    bci = bci.wrapping_add(compressed::signed(memory, self.lowest_byte, &mut at)?);
                    line = line.wrapping_add(compressed::signed(memory, self.lowest_byte, &mut at)?);
                }
                short => {
                    bci = bci.wrapping_add(i32::from(short >> 3));
                    line = line.wrapping_add(i32::from(short & 7));
                }
            }
            if let (Ok(bci), Ok(line)) = (u16::try_from(bci), u16::try_from(line)) {
                lines.push((bci, line));
            }
        }
        None
    }
}
