//! Call frame information: how the caller's registers are found at each place of a function.
//!
//! The linker leaves a sorted table (`.eh_frame_hdr`) that leads to the entry of a function (an FDE), which has a program
//! of small instructions that describe, from its first address on, where the frame is and what was saved where. They are
//! executed up to the place in question; nothing is kept. (DWARF 5, 6.4, as the LSB has it for `.eh_frame`.)

use crate::{Memory, Module, Registers, dwarf};

/// Instructions of one function that are executed at most: the longest of `libjvm.so` has fewer than 2,000.
const MOST_INSTRUCTIONS: usize = 16_384;
/// How deep rows may be remembered.
const REMEMBERED: usize = 4;

/// Registers of the caller of a frame in this module; `None` if nobody says how to find them. For signal handlers.
pub fn caller(memory: Memory, module: &Module, frame: &Registers) -> Option<Registers> {
    let place = frame.place();
    let entry = Entry::find(memory, module.frames, place)?;
    if entry.interrupted {
        return Registers::saved(memory, frame.sp());
    }
    let row = entry.row_at(memory, place)?;
    row.apply(memory, frame)
}

/// Bytes in memory, read one after the other.
#[derive(Clone, Copy)]
struct Cursor {
    memory: Memory,
    at: usize,
    end: usize,
}

impl Cursor {
    fn u8(&mut self) -> Option<u8> {
        let byte = (self.at < self.end).then(|| self.memory.u8(self.at))??;
        self.at += 1;
        Some(byte)
    }

    fn fixed(&mut self, size: usize) -> Option<u64> {
        let mut value = 0;
        for i in 0..size {
            value |= u64::from(self.u8()?) << (8 * i);
        }
        Some(value)
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            value |= i64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                let unused = 57 - shift.min(57);
                return Some(if shift < 57 { value << unused >> unused } else { value });
            }
        }
        None
    }

    fn skip(&mut self, count: u64) -> Option<()> {
        let at = self.at.checked_add(usize::try_from(count).ok()?)?;
        self.at = (at <= self.end).then_some(at)?;
        Some(())
    }

    /// A pointer in one of the encodings of exception tables; indirect ones are none that matter here.
    fn pointer(&mut self, encoding: u8) -> Option<usize> {
        let from = self.at;
        let value = match encoding & 0x0f {
            0x00 | 0x04 | 0x0c => self.fixed(8)? as i64,
            0x01 => self.unsigned()?.cast_signed(),
            0x09 => self.signed()?,
            0x02 => self.fixed(2)? as i64,
            0x0a => i64::from(self.fixed(2)? as i16),
            0x03 => self.fixed(4)? as i64,
            0x0b => i64::from(self.fixed(4)? as i32),
            _ => return None,
        };
        match encoding & 0x70 {
            0x00 => Some(value as usize),
            0x10 => Some(from.wrapping_add_signed(value as isize)),
            _ => None,
        }
    }
}

/// A function's entry and what it shares with others.
struct Entry {
    begins: usize,
    /// Not a function, but where handlers of signals return to: what is below was interrupted, and called nobody.
    interrupted: bool,
    code_unit: u64,
    data_unit: i64,
    /// What holds at the beginning of every function of this kind.
    common: (usize, usize),
    own: (usize, usize),
}

impl Entry {
    /// The entry of the function at an address.
    fn find(memory: Memory, table: usize, address: usize) -> Option<Entry> {
        if table == 0 {
            return None;
        }
        let [version, pointer, count, entries] = memory.bytes::<4>(table)?;
        // What all linkers write: 32-bit distances from the table.
        if version != 1 || count != 0x03 || entries != 0x3b {
            return None;
        }
        let mut cursor = Cursor { memory, at: table + 4, end: table + 24 };
        cursor.pointer(pointer)?;
        let count = cursor.fixed(4)? as usize;
        let first = cursor.at;
        let target = i64::try_from(address.wrapping_sub(table).cast_signed()).ok()?;
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if i64::from(memory.i32(first + 8 * middle)?) <= target {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let found = first + 8 * low.checked_sub(1)?;
        let entry = Entry::read(memory, table.wrapping_add_signed(memory.i32(found + 4)? as isize))?;
        entry.0.contains(&address).then_some(entry.1)
    }

    /// Reads an entry and the addresses it is for.
    fn read(memory: Memory, at: usize) -> Option<(std::ops::Range<usize>, Entry)> {
        let mut fde = body(memory, at)?;
        let back_from = fde.at;
        let back = fde.fixed(4)? as usize;
        let mut cie = body(memory, back_from.checked_sub(back)?)?;
        if cie.fixed(4)? != 0 || !matches!(cie.u8()?, 1 | 3) {
            return None;
        }
        let mut augmentation = [0u8; 8];
        for slot in &mut augmentation {
            *slot = cie.u8()?;
            if *slot == 0 {
                break;
            }
        }
        let code_unit = cie.unsigned()?;
        let data_unit = cie.signed()?;
        cie.unsigned()?; // The return address, which is 16 wherever this is compiled for.
        let (mut encoding, mut interrupted) = (0, false);
        let sized = augmentation.first() == Some(&b'z');
        if sized {
            let length = cie.unsigned()?;
            let mut data = cie;
            for letter in augmentation.iter().skip(1) {
                match letter {
                    b'R' => encoding = data.u8()?,
                    b'P' => {
                        let encoding = data.u8()?;
                        data.pointer(encoding & 0x0f)?;
                    }
                    b'L' => {
                        data.u8()?;
                    }
                    b'S' => interrupted = true,
                    _ => break,
                }
            }
            cie.skip(length)?;
        } else if augmentation.first() != Some(&0) {
            return None;
        }
        let begins = fde.pointer(encoding)?;
        let length = fde.pointer(encoding & 0x0f)?;
        if sized {
            let length = fde.unsigned()?;
            fde.skip(length)?;
        }
        let (common, own) = ((cie.at, cie.end), (fde.at, fde.end));
        let entry = Entry { begins, interrupted, code_unit, data_unit, common, own };
        Some((begins..begins.checked_add(length)?, entry))
    }

    /// What holds at an address.
    fn row_at(&self, memory: Memory, address: usize) -> Option<Row> {
        let mut machine =
            Machine { entry: self, row: Row::default(), first: Row::default(), location: self.begins };
        let program = |(at, end)| Cursor { memory, at, end };
        machine.run(program(self.common), usize::MAX)?;
        machine.first = machine.row;
        machine.run(program(self.own), address)?;
        Some(machine.row)
    }
}

/// What follows the length of an entry.
fn body(memory: Memory, at: usize) -> Option<Cursor> {
    let length = memory.u32(at)?;
    // 0 ends the section; all ones announce 64 bits, which nobody needs.
    (length != 0 && length != u32::MAX).then(|| Cursor { memory, at: at + 4, end: at + 4 + length as usize })
}

/// Where a register of the caller is.
#[derive(Clone, Copy, Default)]
enum Saved {
    /// Where it was.
    #[default]
    Same,
    /// In memory, so far from the frame.
    At(i32),
    /// Nobody knows.
    Unknown,
}

/// Where the frame itself is.
#[derive(Clone, Copy)]
enum Frame {
    From(u8, i64),
    Computed(usize, usize),
}

#[derive(Clone, Copy)]
struct Row {
    frame: Frame,
    saved: [Saved; dwarf::COUNT],
}

impl Default for Row {
    fn default() -> Row {
        Row { frame: Frame::From(dwarf::RSP, 8), saved: [Saved::Same; dwarf::COUNT] }
    }
}

impl Row {
    fn apply(&self, memory: Memory, frame: &Registers) -> Option<Registers> {
        let at = match self.frame {
            Frame::From(register, distance) => {
                frame.get(register)?.checked_add_signed(isize::try_from(distance).ok()?)?
            }
            Frame::Computed(at, end) => compute(Cursor { memory, at, end }, frame)?,
        };
        let mut caller = Registers { youngest: false, ..*frame };
        for (number, (value, saved)) in caller.general.iter_mut().zip(&self.saved).enumerate() {
            match *saved {
                _ if number == usize::from(dwarf::RSP) => *value = at,
                Saved::Same => {}
                Saved::At(distance) => *value = memory.word(at.checked_add_signed(distance as isize)?)?,
                Saved::Unknown => *value = 0,
            }
        }
        let Some(&Saved::At(distance)) = self.saved.get(usize::from(dwarf::RETURN)) else { return None };
        caller.pc = memory.word(at.checked_add_signed(distance as isize)?)?;
        Some(caller)
    }
}

struct Machine<'e> {
    entry: &'e Entry,
    row: Row,
    /// The row before the function's own program.
    first: Row,
    location: usize,
}

impl Machine<'_> {
    /// Executes a program up to what holds at an address.
    fn run(&mut self, mut program: Cursor, address: usize) -> Option<()> {
        let mut remembered = [self.row; REMEMBERED];
        let mut depth = 0;
        for _ in 0..MOST_INSTRUCTIONS {
            if program.at >= program.end {
                return Some(());
            }
            let opcode = program.u8()?;
            let low = opcode & 0x3f;
            let advance = match (opcode & 0xc0, opcode) {
                (0x40, _) => Some(u64::from(low)),
                (_, 0x01) => {
                    self.location = program.pointer(0)?;
                    None
                }
                (_, 0x02) => Some(program.fixed(1)?),
                (_, 0x03) => Some(program.fixed(2)?),
                (_, 0x04) => Some(program.fixed(4)?),
                (0x80, _) => {
                    let factored = program.unsigned()?.cast_signed();
                    self.save(low, factored)?;
                    None
                }
                (0xc0, _) => {
                    self.restore(low)?;
                    None
                }
                (_, 0x0a) => {
                    *remembered.get_mut(depth)? = self.row;
                    depth += 1;
                    None
                }
                (_, 0x0b) => {
                    depth = depth.checked_sub(1)?;
                    self.row = *remembered.get(depth)?;
                    None
                }
                _ => {
                    self.other(opcode, &mut program)?;
                    None
                }
            };
            if let Some(advance) = advance {
                let step = usize::try_from(advance.checked_mul(self.entry.code_unit)?).ok()?;
                self.location = self.location.checked_add(step)?;
                if self.location > address {
                    return Some(());
                }
            }
        }
        None
    }

    fn other(&mut self, opcode: u8, program: &mut Cursor) -> Option<()> {
        match opcode {
            0x00 => {}
            // Offsets, plain and signed, and how to find the same where it is.
            0x05 => {
                let register = program.unsigned()? as u8;
                let factored = program.unsigned()?.cast_signed();
                self.save(register, factored)?;
            }
            0x11 => {
                let register = program.unsigned()? as u8;
                let factored = program.signed()?;
                self.save(register, factored)?;
            }
            0x06 => {
                let register = program.unsigned()? as u8;
                self.restore(register)?;
            }
            0x07 => {
                let register = program.unsigned()? as u8;
                self.set(register, Saved::Unknown)?;
            }
            0x08 => {
                let register = program.unsigned()? as u8;
                self.set(register, Saved::Same)?;
            }
            // In another register; or computed, which only frames of signal handlers are.
            0x09 => {
                let register = program.unsigned()? as u8;
                program.unsigned()?;
                self.set(register, Saved::Unknown)?;
            }
            0x10 | 0x16 => {
                let register = program.unsigned()? as u8;
                let length = program.unsigned()?;
                program.skip(length)?;
                self.set(register, Saved::Unknown)?;
            }
            0x14 | 0x15 => return None,
            0x0c => {
                self.row.frame = Frame::From(program.unsigned()? as u8, program.unsigned()?.cast_signed())
            }
            0x12 => {
                let register = program.unsigned()? as u8;
                self.row.frame = Frame::From(register, program.signed()?.checked_mul(self.entry.data_unit)?);
            }
            0x0d => {
                let register = program.unsigned()? as u8;
                let Frame::From(_, distance) = self.row.frame else { return None };
                self.row.frame = Frame::From(register, distance);
            }
            0x0e | 0x13 => {
                let Frame::From(register, _) = self.row.frame else { return None };
                let distance = match opcode {
                    0x0e => program.unsigned()?.cast_signed(),
                    _ => program.signed()?.checked_mul(self.entry.data_unit)?,
                };
                self.row.frame = Frame::From(register, distance);
            }
            0x0f => {
                let length = program.unsigned()?;
                let at = program.at;
                program.skip(length)?;
                self.row.frame = Frame::Computed(at, program.at);
            }
            // How many bytes of arguments are on the stack.
            0x2e => {
                program.unsigned()?;
            }
            _ => return None,
        }
        Some(())
    }

    fn save(&mut self, register: u8, factored: i64) -> Option<()> {
        let distance = i32::try_from(factored.checked_mul(self.entry.data_unit)?).ok()?;
        self.set(register, Saved::At(distance))
    }

    fn restore(&mut self, register: u8) -> Option<()> {
        let first = self.first.saved.get(usize::from(register)).copied().unwrap_or_default();
        self.set(register, first)
    }

    fn set(&mut self, register: u8, saved: Saved) -> Option<()> {
        // Registers beyond these (vectors) are of no interest.
        if let Some(slot) = self.row.saved.get_mut(usize::from(register)) {
            *slot = saved;
        }
        Some(())
    }
}

/// The value of an expression: of those there are, the ones that linkers and compilers write for procedure linkage
/// tables and realigned stacks.
fn compute(mut program: Cursor, frame: &Registers) -> Option<usize> {
    let mut stack = [0usize; 8];
    let mut depth = 0usize;
    while program.at < program.end {
        let opcode = program.u8()?;
        let top = |stack: &[usize; 8], below: usize| stack.get(depth.checked_sub(below)?).copied();
        let (drop, value) = match opcode {
            0x06 => (1, program.memory.word(top(&stack, 1)?)?),
            0x08 => (0, program.fixed(1)? as usize),
            0x09 => (0, program.fixed(1)? as u8 as i8 as usize),
            0x10 => (0, program.unsigned()? as usize),
            0x11 => (0, program.signed()? as usize),
            0x1a => (2, top(&stack, 2)? & top(&stack, 1)?),
            0x1c => (2, top(&stack, 2)?.wrapping_sub(top(&stack, 1)?)),
            0x22 => (2, top(&stack, 2)?.wrapping_add(top(&stack, 1)?)),
            0x23 => (1, top(&stack, 1)?.wrapping_add(program.unsigned()? as usize)),
            0x24 => (2, top(&stack, 2)?.checked_shl(top(&stack, 1)? as u32).unwrap_or(0)),
            0x2a => (2, usize::from(top(&stack, 2)?.cast_signed() >= top(&stack, 1)?.cast_signed())),
            0x30..=0x4f => (0, usize::from(opcode - 0x30)),
            0x70..=0x80 => {
                let register = opcode - 0x70;
                let value = if register == dwarf::RETURN { frame.pc } else { frame.get(register)? };
                (0, value.wrapping_add_signed(program.signed()? as isize))
            }
            _ => return None,
        };
        depth -= drop;
        *stack.get_mut(depth)? = value;
        depth += 1;
    }
    stack.get(depth.checked_sub(1)?).copied()
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::Modules;
    use crate::memory::tests::memory;

    /// Registers here; the place is in the caller of this.
    #[inline(always)]
    fn here() -> Registers {
        // SAFETY: zeros are a valid context, and the library fills it in.
        unsafe {
            let mut context: libc::ucontext_t = std::mem::zeroed();
            assert_eq!(libc::getcontext(&mut context), 0);
            let mut registers = Registers::of((&raw const context).cast());
            registers.youngest = false;
            registers
        }
    }

    #[inline(never)]
    fn depth_of(registers: Registers) -> (usize, Vec<usize>) {
        let (memory, modules) = (memory(), Modules::now());
        let (mut frame, mut places) = (registers, Vec::new());
        while let Some(module) = modules.find(frame.pc) {
            places.push(frame.pc);
            match caller(memory, module, &frame) {
                Some(next) if next.sp() > frame.sp() => frame = next,
                _ => break,
            }
        }
        (frame.sp(), places)
    }

    #[inline(never)]
    fn recurse(levels: u32) -> (usize, Vec<usize>) {
        let found = if levels == 0 { depth_of(here()) } else { recurse(std::hint::black_box(levels - 1)) };
        std::hint::black_box(found)
    }

    #[test]
    fn a_thread_is_walked_to_its_beginning() {
        std::thread::spawn(|| {
            let few = recurse(1).1;
            let many = recurse(41).1;
            assert_eq!(many.len(), few.len() + 40, "each call is a frame");
            // What is below the recursion is the same: it ends where threads begin.
            assert!(few.len() > 6, "{few:x?}");
            assert_eq!(few[few.len() - 4..], many[many.len() - 4..]);
        })
        .join()
        .expect("a thread");
    }

    static IN_HANDLER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

    extern "C" fn handler(_: i32) {
        IN_HANDLER.store(depth_of(here()).1.len(), std::sync::atomic::Ordering::Relaxed);
    }

    #[test]
    fn what_a_signal_interrupted_is_below_its_handler() {
        std::thread::spawn(|| {
            let without = recurse(0).1.len();
            // SAFETY: a handler of this signature, and a signal to this thread.
            unsafe {
                libc::signal(libc::SIGUSR1, handler as extern "C" fn(_) as usize);
                libc::raise(libc::SIGUSR1);
            }
            let within = IN_HANDLER.load(std::sync::atomic::Ordering::Relaxed);
            // The handler, where it returns to, and `raise` come on top; the recursion is not there.
            assert!(within > without, "{within} {without}");
        })
        .join()
        .expect("a thread");
    }

    #[test]
    fn signed_numbers_are_those_of_the_standard() {
        let examples: [(&[u8], i64); 6] = [
            (&[2], 2),
            (&[0x7e], -2),
            (&[0xff, 0], 127),
            (&[0x81, 0x7f], -127),
            (&[0x80, 1], 128),
            (&[0xff, 0x7e], -129),
        ];
        for (bytes, value) in examples {
            let at = bytes.as_ptr() as usize;
            let mut cursor = Cursor { memory: memory(), at, end: at + bytes.len() };
            assert_eq!(cursor.signed(), Some(value));
        }
    }
}
