//! The map from old to new positions of a method.

use crate::code::Code;

/// Old positions to new ones, as the steps at which the distance between the two changes. Most methods have few: there
/// is one for each place where something was inserted. Which step a position is behind is counted in a bit for each
/// byte of old code.
#[derive(Debug, Default)]
pub(crate) struct Positions {
    groups: Vec<Group>,
    /// What to add (modulo 2^16, which all positions stay below) to an old position behind each step to get to the place
    /// where branches to it arrive; the first is that of positions before any step.
    shifts: Vec<u16>,
    /// Where the last step is.
    last: usize,
}

/// Where the last step is if there is none.
const NOWHERE: usize = usize::MAX;

/// Some bytes of old code.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// A bit for each byte at which there is a step.
    steps: u32,
    /// Number of steps before.
    before: u16,
}

impl Group {
    const BYTES: usize = 32;
}

impl Positions {
    /// Bytes kept for the next method.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Group>() * self.groups.capacity() + size_of::<u16>() * self.shifts.capacity()
    }

    /// Nothing is moved. Room is made for this many steps.
    pub(crate) fn begin(&mut self, code: &Code<'_>, steps: usize) {
        self.groups.clear();
        self.groups.reserve_exact(code.bytes.len() / Group::BYTES + 1);
        self.shifts.clear();
        self.shifts.reserve_exact(steps + 1);
        self.shifts.push(0);
        self.last = NOWHERE;
    }

    /// Positions from `at` on are moved by `shift`. Steps come in order; one at the place of the last replaces it.
    #[inline]
    pub(crate) fn step(&mut self, at: usize, shift: u16) {
        let Some(last) = self.shifts.last_mut() else { return };
        if self.last == at {
            *last = shift;
            return;
        }
        if *last == shift {
            return;
        }
        while self.groups.len() <= at / Group::BYTES {
            self.groups.push(Group { steps: 0, before: (self.shifts.len() - 1) as u16 });
        }
        if let Some(group) = self.groups.last_mut() {
            group.steps |= 1 << (at % Group::BYTES);
        }
        self.shifts.push(shift);
        self.last = at;
    }

    /// Where branches to the old position go.
    #[inline]
    pub(crate) fn label(&self, bci: u32) -> u32 {
        let shift = match self.groups.get(bci as usize / Group::BYTES) {
            Some(group) => {
                let behind = group.steps & (u32::MAX >> (31 - bci % 32));
                self.shifts.get(usize::from(group.before) + behind.count_ones() as usize)
            }
            // It is behind all steps.
            None => self.shifts.last(),
        };
        u32::from((bci as u16).wrapping_add(shift.copied().unwrap_or(0)))
    }

    /// What all positions but 0 are moved by, if it is the same for all.
    #[inline]
    pub(crate) fn only_shift(&self) -> Option<u16> {
        if matches!(self.last, 0 | 1 | NOWHERE) { self.shifts.last().copied() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_found_behind_the_right_step() {
        let bytes = [0; 300];
        let mut data = vec![0; 4];
        data.extend((bytes.len() as u32).to_be_bytes());
        data.extend(bytes);
        data.extend([0; 4]);
        let code = Code::parse(&data, 0).unwrap();
        let all: &[&[(usize, u16)]] = &[
            &[],
            &[(0, 2), (1, 5)],
            &[(1, 5)],
            &[(0, 1), (0, 2), (31, 3), (32, 4), (33, 5), (96, 6), (96, 9), (300, 12)],
            // A switch may need less padding than before.
            &[(7, 3), (64, 65_535), (65, 0), (299, 7)],
        ];
        let mut positions = Positions::default();
        for steps in all {
            positions.begin(&code, steps.len());
            steps.iter().for_each(|&(at, shift)| positions.step(at, shift));
            for bci in 0..=bytes.len() {
                let shift = steps.iter().rev().find(|(at, _)| *at <= bci).map_or(0, |(_, shift)| *shift);
                let wanted = (bci as u16).wrapping_add(shift);
                assert_eq!(positions.label(bci as u32), wanted.into(), "{bci} of {steps:?}");
                if let Some(only) = positions.only_shift().filter(|_| bci != 0) {
                    assert_eq!(only, shift, "{bci} of {steps:?}");
                }
            }
        }
    }
}
