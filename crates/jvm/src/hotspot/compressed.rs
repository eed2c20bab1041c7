//! Numbers as HotSpot writes them in debug information: one to five bytes, the least significant first, six bits in each
//! but the last.

use quipu_unwind::Memory;

/// Reads a number and moves `at` behind it. Bytes begin at `lowest`: newer versions write no zeros.
pub fn number(memory: Memory, lowest: u32, at: &mut usize) -> Option<u32> {
    let mut number = 0u32;
    for i in 0..5 {
        let byte = u32::from(memory.u8(*at)?);
        *at += 1;
        number = number.wrapping_add(byte.wrapping_sub(lowest) << (6 * i));
        if byte < 192 {
            break;
        }
    }
    Some(number)
}

/// A number with its sign in the last bit.
pub fn signed(memory: Memory, lowest: u32, at: &mut usize) -> Option<i32> {
    let number = number(memory, lowest, at)?;
    Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}
