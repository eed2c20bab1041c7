//! What a few machine instructions do to the stack: those at the beginning and the end of compiled methods, where the
//! frame is not, or no longer, what the method's size says. (x86-64.)

/// How far the stack pointer is below the return address, in bytes, after the instructions from a method's entry up to
/// a place in it. `frame` is the size of the whole frame without the return address. `None` if the frame is complete.
///
/// The compilers emit a touch of the stack's end (optional), `push rbp`, perhaps `mov rbp, rsp`, and `sub rsp, n`; or
/// `sub rsp, n` alone, followed by a store of rbp.
pub fn below_return(code: &[u8]) -> Prologue {
    let mut pushed = false;
    let mut rest = code;
    loop {
        let length = match rest {
            // mov [rsp - n], eax: touches the end of the stack.
            [0x89, 0x84, 0x24, _, _, _, _, ..] => 7,
            [0x55, ..] => {
                pushed = true;
                1
            }
            // mov rbp, rsp, in both its forms.
            [0x48, 0x8b, 0xec, ..] | [0x48, 0x89, 0xe5, ..] => 3,
            // sub rsp, n
            [0x48, 0x81, 0xec, _, _, _, _, ..] | [0x48, 0x83, 0xec, _, ..] => return Prologue::Complete,
            // nop, of any length up to nine.
            [0x90, ..] => 1,
            [0x66, 0x90, ..] => 2,
            [0x0f, 0x1f, 0x00, ..] => 3,
            [0x0f, 0x1f, 0x40, _, ..] => 4,
            [0x0f, 0x1f, 0x44, _, _, ..] => 5,
            [0x66, 0x0f, 0x1f, 0x44, _, _, ..] => 6,
            [0x0f, 0x1f, 0x80, _, _, _, _, ..] => 7,
            [0x0f, 0x1f, 0x84, _, _, _, _, _, ..] => 8,
            [0x66, 0x0f, 0x1f, 0x84, _, _, _, _, _, ..] => 9,
            _ => break,
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    if pushed { Prologue::Pushed } else { Prologue::Nothing }
}

/// How much of a frame is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prologue {
    /// The return address is on top.
    Nothing,
    /// The caller's frame pointer, then the return address.
    Pushed,
    /// All of it.
    Complete,
}

/// How much of a frame is left before these instructions, if they are the last of a method: after `add rsp, n`, there
/// is `pop rbp`, a look whether the VM wants the thread to stop, and `ret`.
pub fn epilogue(code: &[u8]) -> Option<Prologue> {
    match code {
        [0x5d, rest @ ..] => returns(rest).then_some(Prologue::Pushed),
        _ => returns(code).then_some(Prologue::Nothing),
    }
}

/// Whether these return, after at most a look at the thread's state.
fn returns(code: &[u8]) -> bool {
    match code {
        // ret; also with a number of bytes.
        [0xc3 | 0xc2, ..] => true,
        // vzeroupper
        [0xc5, 0xf8, 0x77, rest @ ..] => returns(rest),
        // cmp rsp, [r15 + n]; ja …
        [0x49, 0x3b, 0x67, _, rest @ ..] | [0x49, 0x3b, 0xa7, _, _, _, _, rest @ ..] => returns(rest),
        // ja …, to code that asks the VM and comes back.
        [0x0f, 0x87, _, _, _, _, rest @ ..] => returns(rest),
        // test [rip + n], eax: JDK 8 has one page for all threads; or mov r10, n, and as below.
        [0x85, 0x05, _, _, _, _, rest @ ..] => returns(rest),
        [0x49, 0xba, _, _, _, _, _, _, _, _, rest @ ..] => returns(rest),
        // mov r10, [r15 + n]; test [r10], eax
        [0x4d, 0x8b, 0x57, _, rest @ ..] | [0x4d, 0x8b, 0x97, _, _, _, _, rest @ ..] => returns(rest),
        [0x41, 0x85, 0x02, rest @ ..] => returns(rest),
        _ => false,
    }
}

/// Whether a call ends where these bytes end.
pub fn ends_with_call(before: &[u8]) -> bool {
    match before {
        // call [reg + reg*n + disp32], [reg + disp32], [rip + disp32]; call rel32; call [reg + disp8]; call reg or [reg].
        [.., 0xe8, _, _, _, _] => true,
        [.., 0xff, 0xd0..=0xd7] | [.., 0xff, 0x10..=0x17] => true,
        [.., 0xff, 0x50..=0x57, _] | [.., 0xff, 0x14, _] => true,
        [.., 0xff, 0x90..=0x97, _, _, _, _] | [.., 0xff, 0x54, _, _] => true,
        [.., 0xff, 0x94, _, _, _, _, _] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_grows_instruction_by_instruction() {
        // mov [rsp - 0x14000], eax; push rbp; sub rsp, 0x20
        let code = [0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x20];
        assert_eq!(below_return(&code[..0]), Prologue::Nothing);
        assert_eq!(below_return(&code[..7]), Prologue::Nothing);
        assert_eq!(below_return(&code[..8]), Prologue::Pushed);
        assert_eq!(below_return(&code), Prologue::Complete);
        // sub rsp, 0x118; mov [rsp + 0x110], rbp
        let code = [0x48, 0x81, 0xec, 0x18, 1, 0, 0, 0x48, 0x89, 0xac, 0x24, 0x10, 1, 0, 0];
        assert_eq!(below_return(&code[..0]), Prologue::Nothing);
        assert_eq!(below_return(&code), Prologue::Complete);
    }

    #[test]
    fn a_frame_is_taken_down_before_the_return() {
        let pop = [0x5d, 0x49, 0x3b, 0xa7, 0x50, 4, 0, 0, 0x0f, 0x87, 1, 2, 3, 4, 0xc3];
        assert_eq!(epilogue(&pop), Some(Prologue::Pushed));
        assert_eq!(epilogue(&pop[1..]), Some(Prologue::Nothing));
        assert_eq!(epilogue(&pop[8..]), Some(Prologue::Nothing));
        assert_eq!(epilogue(&pop[14..]), Some(Prologue::Nothing));
        assert_eq!(epilogue(&[0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3]), None, "the frame is still whole");
        assert_eq!(epilogue(&[0x5d, 0x48, 0x89]), None);
    }

    #[test]
    fn return_addresses_follow_calls() {
        assert!(ends_with_call(&[0, 0, 0xe8, 1, 2, 3, 4]));
        assert!(ends_with_call(&[0, 0, 0, 0, 0x41, 0xff, 0xd2]));
        assert!(!ends_with_call(&[0x90; 7]));
    }
}
