//! Field and method descriptors: sizes in slots and parameter positions.

/// Length in bytes of the field descriptor at the start of `d`, and its slots.
pub(crate) fn field_at(d: &[u8]) -> Option<(usize, u32)> {
    match d.first()? {
        b'J' | b'D' => Some((1, 2)),
        b'B' | b'C' | b'F' | b'I' | b'S' | b'Z' => Some((1, 1)),
        b'L' => Some((d.iter().position(|&b| b == b';')? + 1, 1)),
        b'[' => {
            let dimensions = d.iter().position(|&b| b != b'[')?;
            let (len, _) = field_at(d.get(dimensions..)?)?;
            Some((dimensions + len, 1))
        }
        _ => None,
    }
}

/// Slots of a value of this type; `None` if the descriptor is malformed.
pub(crate) fn field_slots(d: &[u8]) -> Option<u32> {
    field_at(d).filter(|(len, _)| *len == d.len()).map(|(_, slots)| slots)
}

/// Argument slots (without receiver) and result slots of a method descriptor.
pub(crate) fn method_slots(d: &[u8]) -> Option<(u32, u32)> {
    let mut arguments = 0;
    let mut at = 1;
    if d.first() != Some(&b'(') {
        return None;
    }
    while d.get(at)? != &b')' {
        let (len, slots) = field_at(d.get(at..)?)?;
        at += len;
        arguments += slots;
    }
    let result = d.get(at + 1..)?;
    Some((arguments, if result == b"V" { 0 } else { field_slots(result)? }))
}

/// Offset in `d` of the return type.
pub(crate) fn return_offset(d: &[u8]) -> Option<usize> {
    d.iter().rposition(|&b| b == b')').map(|at| at + 1)
}

/// Calls `f` with the offset of each parameter in the descriptor; `None` if malformed.
pub(crate) fn parameters(d: &[u8], mut f: impl FnMut(usize)) -> Option<()> {
    let mut at = 1;
    if d.first() != Some(&b'(') {
        return None;
    }
    while d.get(at)? != &b')' {
        f(at);
        at += field_at(d.get(at..)?)?.0;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(method_slots(b"(IJ[[DLjava/lang/String;)J"), Some((5, 2)));
        assert_eq!(method_slots(b"()V"), Some((0, 0)));
        assert_eq!(method_slots(b"(L)V"), None);
        assert_eq!(method_slots(b"([)V"), None);
        assert_eq!(field_slots(b"[[J"), Some(1));
        assert_eq!(field_slots(b"V"), None);
    }
}
