//! Getting all steps.
//!
//! While the interpreter resolves the class, field or method that an instruction names, HotSpot hides single steps, so
//! that somebody who debugs a program does not step into the class loading, linking and class initialisation it leads
//! to. It decides so when resolution begins, and only if steps are reported at that moment.
//!
//! So steps are switched off while the VM is at work on an instruction that is executed for the first time, and on in
//! the methods it calls meanwhile: off just before the instruction, on when a method is entered, off when it returns to
//! the instruction, and on for good by a breakpoint on the next one, by a handler that catches what the instruction
//! throws, or by the end of the method. Native methods that may resolve something count as such an instruction.
//!
//! The VM does not report a step for the instruction at which steps are switched on, so that one is counted by hand.
//! What remains hidden is the loading, not the initialisation, of a few classes: those that handlers name, while an
//! exception looks for its handler, and those of casts that were applied to null before.

use quipu_classfile::opcode::{
    ANEWARRAY, CHECKCAST, GETFIELD, GETSTATIC, INSTANCEOF, INVOKEDYNAMIC, INVOKEINTERFACE, INVOKESPECIAL,
    INVOKESTATIC, INVOKEVIRTUAL, LDC, LDC_W, LDC2_W, MULTIANEWARRAY, NEW, PUTFIELD, PUTSTATIC,
};
use quipu_jvm::sys::{self, jmethodID};
use quipu_jvm::{Jvmti, Thread};

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

/// Length of an instruction that resolves what it names when it is executed for the first time.
pub fn resolving_length(opcode: u8) -> Option<usize> {
    match opcode {
        LDC => Some(2),
        GETSTATIC | PUTSTATIC | GETFIELD | PUTFIELD | NEW | ANEWARRAY | CHECKCAST | INSTANCEOF | LDC_W
        | LDC2_W | INVOKEVIRTUAL | INVOKESPECIAL | INVOKESTATIC => Some(3),
        MULTIANEWARRAY => Some(4),
        INVOKEINTERFACE | INVOKEDYNAMIC => Some(5),
        _ => None,
    }
}

/// Whether a native method may have the VM resolve something: those of reflection and method handles, and others that
/// do the work of a Java method of (nearly) the same name.
pub fn native_resolves(class: &str, name: &str) -> bool {
    const REFLECTION: [&str; 3] = ["java.lang.invoke.", "java.lang.reflect.", "jdk.internal.reflect."];
    REFLECTION.iter().any(|package| class.starts_with(package))
        || name.ends_with(['0', '1', '2'])
        || name == "allocateInstance"
}

impl Stepping {
    /// Switches steps off.
    pub fn pause(&mut self, jvmti: Jvmti, thread: Thread<'_>) {
        if !self.paused {
            self.paused = jvmti.set_event_mode(sys::JVMTI_EVENT_SINGLE_STEP, false, Some(thread)).is_ok();
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
