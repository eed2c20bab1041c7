//! `AsyncGetCallTrace`: a stack as HotSpot sees it from inside a signal handler.

use crate::sys::{JNIEnv, jint, jmethodID};
use std::ffi::c_void;

/// One frame.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CallFrame {
    /// Where in the method; negative in native ones.
    pub bci: jint,
    /// The method; null if it has no id yet, because none was asked for.
    pub method: jmethodID,
}

/// What is asked, and the answer.
#[repr(C)]
#[derive(Debug)]
pub struct CallTrace {
    /// Environment of the current thread.
    pub env: *mut JNIEnv,
    /// How many frames there are, or a [`WalkFailure`]'s code.
    pub frames_or_failure: jint,
    /// The frames, the youngest first.
    pub frames: *mut CallFrame,
}

/// Fills in a trace of at most so many frames of the current thread, interrupted in the `ucontext_t`.
pub type AsyncGetCallTrace = unsafe extern "C" fn(trace: *mut CallTrace, depth: jint, ucontext: *mut c_void);

/// Why a stack could not be walked: HotSpot's codes, by what they mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum WalkFailure {
    /// Nobody listens to class loads, so methods have no ids.
    NoClassLoad = -1,
    /// A collection is moving things.
    Gc = -2,
    /// Outside Java, and it is not known where.
    UnknownNotJava = -3,
    /// Outside Java, with a last Java frame that cannot be walked.
    NotWalkableNotJava = -4,
    /// In Java, and it is not known where.
    UnknownJava = -5,
    /// In Java, in a frame that cannot be walked.
    NotWalkableJava = -6,
    /// The thread is in a state that is none.
    UnknownState = -7,
    /// The thread is coming up or ending.
    ThreadExit = -8,
    /// A frame is being deoptimised.
    Deoptimising = -9,
    /// The thread is at a safepoint.
    Safepoint = -10,
}

impl WalkFailure {
    /// The failure behind a negative answer. Codes that we do not know count as an unknown state.
    pub fn of(answer: jint) -> Option<WalkFailure> {
        Some(match answer {
            0.. => return None,
            -1 => WalkFailure::NoClassLoad,
            -2 => WalkFailure::Gc,
            -3 => WalkFailure::UnknownNotJava,
            -4 => WalkFailure::NotWalkableNotJava,
            -5 => WalkFailure::UnknownJava,
            -6 => WalkFailure::NotWalkableJava,
            -8 => WalkFailure::ThreadExit,
            -9 => WalkFailure::Deoptimising,
            -10 => WalkFailure::Safepoint,
            _ => WalkFailure::UnknownState,
        })
    }
}
