//! Getting all steps.
//!
//! While the interpreter resolves the field or method that an instruction names, HotSpot hides single steps, so that
//! somebody who debugs a program does not step into the class loading, linking and class initialisation it leads to.
//! It decides so when resolution begins, and only if steps are reported at that moment. An instruction resolves when it
//! is executed for the first time: just before, steps are switched off; they are switched on again by the next event
//! that must come, which is, whichever is first,
//!
//! - a method that is entered, by the instruction itself or by its resolution;
//! - for field instructions, a breakpoint on the next instruction;
//! - a handler that catches what the instruction throws, or the end of the method.
//!
//! The VM does not report a step for the instruction at which steps are switched on, so that one is counted by hand.

use quipu_classfile::opcode::{
    GETFIELD, GETSTATIC, INVOKEDYNAMIC, INVOKEINTERFACE, INVOKESPECIAL, INVOKESTATIC, INVOKEVIRTUAL, PUTFIELD,
    PUTSTATIC,
};
use quipu_jvm::sys::{self, jmethodID};
use quipu_jvm::{Jvmti, Thread};

/// Length of an instruction that reads or writes a field.
const FIELD_LENGTH: usize = 3;

/// Who said that an instruction is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// A step.
    Step,
    /// The entry of its method, a breakpoint or a handler. A breakpoint may also follow the step.
    Other,
}

/// Whether steps are reported.
#[derive(Debug, Default)]
pub struct Stepping {
    paused: bool,
    /// Depth of the stack and index of the instruction counted last, if it may be spoken of twice.
    last: Option<(usize, usize, Said)>,
}

/// Whether an instruction resolves a member in a way that hides steps.
fn resolves(opcode: u8) -> bool {
    matches!(
        opcode,
        GETSTATIC
            | PUTSTATIC
            | GETFIELD
            | PUTFIELD
            | INVOKEVIRTUAL
            | INVOKESPECIAL
            | INVOKESTATIC
            | INVOKEINTERFACE
            | INVOKEDYNAMIC
    )
}

impl Stepping {
    /// Switches steps off if the instruction at `bci`, executed for the first time, is one that would hide them.
    pub fn pause_for(&mut self, jvmti: Jvmti, thread: Thread<'_>, method: jmethodID, opcode: u8, bci: usize) {
        if !resolves(opcode) {
            return;
        }
        if matches!(opcode, GETSTATIC | PUTSTATIC | GETFIELD | PUTFIELD) {
            change_breakpoint(jvmti, method, bci + FIELD_LENGTH, true);
        }
        if jvmti.set_event_mode(sys::JVMTI_EVENT_SINGLE_STEP, false, Some(thread)).is_ok() {
            self.paused = true;
        }
    }

    /// Switches steps on again, if they are off.
    pub fn resume(&mut self, jvmti: Jvmti, thread: Thread<'_>) {
        if std::mem::take(&mut self.paused) {
            let on = jvmti.set_event_mode(sys::JVMTI_EVENT_SINGLE_STEP, true, Some(thread));
            // Nothing would be counted from here on, which the frames without steps will tell.
            let _ = on;
        }
    }

    /// A method was entered or left: what comes next is another instruction.
    pub fn forget(&mut self) {
        self.last = None;
    }

    /// Whether an instruction is news, and has to be counted.
    pub fn is_news(&mut self, depth: usize, bci: usize, said: Said) -> bool {
        let again = self.last.is_some_and(|(d, b, by)| (d, b) == (depth, bci) && by != said);
        // Steps that are on will be reported, or have been.
        if again || (said == Said::Other && !self.paused) {
            return false;
        }
        self.last = Some((depth, bci, said));
        true
    }
}

/// Sets or clears a breakpoint.
pub fn change_breakpoint(jvmti: Jvmti, method: jmethodID, bci: usize, set: bool) {
    // SAFETY: the VM checks both arguments; setting one twice is an error it reports, which changes nothing.
    unsafe {
        let table = &**jvmti.raw();
        let change = if set { table.SetBreakpoint } else { table.ClearBreakpoint };
        if let Some(change) = change {
            let _ = change(jvmti.raw(), method, bci as i64);
        }
    }
}
