//! The loops of a method, and which of them call something: those take samples that are due.

use quipu_classfile::Code;
use quipu_classfile::opcode::InstructionClass;

/// What a method's loops are made of.
#[derive(Default)]
pub(super) struct Loops {
    /// Where a jump goes back to, and where it is.
    jumps_back: Vec<(u32, u32)>,
    /// Where something is called.
    calls: Vec<u32>,
}

impl Loops {
    pub(super) fn of(code: &Code<'_>) -> Loops {
        let mut loops = Loops::default();
        for i in code.instructions().map_while(Result::ok) {
            let mut target = |target: u32| {
                if target <= i.bci {
                    loops.jumps_back.push((target, i.bci));
                }
            };
            match i.info().class {
                InstructionClass::Invoke => loops.calls.push(i.bci),
                InstructionClass::Switch => {
                    if let Some(switch) = i.switch() {
                        switch.cases().for_each(|(_, to)| target(to));
                        target(switch.default);
                    }
                }
                _ => i.branch_target().into_iter().for_each(target),
            }
        }
        loops
    }

    /// Whether something is called between the start of a loop and the last jump back to it.
    pub(super) fn calls(&self, header: u32) -> bool {
        let end = self.jumps_back.iter().filter(|(to, _)| *to == header).map(|(_, from)| *from).max();
        self.calls.iter().any(|bci| (header..end.unwrap_or(header)).contains(bci))
    }
}
