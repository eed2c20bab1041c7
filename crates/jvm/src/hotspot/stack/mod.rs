//! A walk of our own over HotSpot's stacks, by the tables in which it describes its structures.
//!
//! `AsyncGetCallTrace` gives up where it is not sure. This walk knows how far a method has built its frame, where the VM
//! was entered from Java and how Java was entered from the VM, and what a deoptimised frame was; it tells the tier of
//! each frame, and the machine's frames above the Java ones. Every read may fail, every loop is bounded, and nothing is
//! believed: a pointer to a method must lead to an id, a frame must lie above the one it called. What cannot be walked
//! to its end is told as far as it goes, with the reason.
//!
//! Frames, from the interrupted one on:
//!
//! - *Machine code that is not the VM's* is left by its call frame information ([`quipu_unwind::caller`]). If the thread
//!   left Java through the VM's front door, it noted where (the anchor), and the walk goes on there.
//! - *Compiled methods* have frames of a fixed size, except in their first and last instructions ([`instructions`]).
//!   Which methods are inlined at a place is described beside the code ([`scopes`]).
//! - *The interpreter* has the frame pointer in a register, and method and bytecode pointer in fixed places from it.
//! - *Stubs* may have a frame or none; the return address is looked for where it can be, and must look like one.
//! - *Virtual threads* have their older frames in the heap ([`continuations`]); the carrier's are not theirs.
//! - *The call stub* is how the VM calls Java. It has the anchor of the Java frames below, if there are any.

mod code;
mod compiled;
mod continuations;
mod heap;
mod instructions;
mod interpreter;
mod layout;
mod machine;
mod oops;
mod scopes;
mod stubs;

use quipu_unwind::{Memory, Modules, Registers, dwarf};

use code::{BlobKind, CodeCache};
use continuations::Continuations;
use layout::Layout;
pub use layout::Unwalkable;
pub(super) use oops::Oops;

use super::Structs;
use crate::Env;

const WORD: usize = size_of::<usize>();
/// How far a frame can be from the next: more than the VM lets compiled code have.
const LARGEST_FRAME: usize = 1 << 20;
/// Words of arguments between two frames in the heap, at most.
const HEAP_WORDS: usize = 16;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A Java method in the interpreter.
    Interpreted,
    /// A Java method compiled by C1.
    C1,
    /// A Java method compiled by C2.
    C2,
    /// A native Java method.
    Native,
    /// Code of the machine; also of the VM's stubs.
    Machine,
    /// A Java method that has no id.
    Nameless,
    /// No frame, but the place where the Java frames before it begin: bytes from where the stack does. Only if asked for.
    Depth,
}

/// How far a walk goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// To the end.
    Whole,
    /// To the end, telling where frames begin.
    Deep,
    /// So many frames from the youngest of Java on, telling where they begin; above that a few of the machine. A virtual
    /// thread's stack is walked to its end, without: its frames do not stay where they are.
    Near(usize),
}

/// Frames of the machine above those of Java, where only a few of all frames are wanted.
const NEAR_MACHINE: usize = 16;

/// One frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// What it is.
    pub kind: Kind,
    /// A method's id, or an address.
    pub code: usize,
    /// Where it is in the method's bytecode; negative where that means nothing.
    pub bci: i32,
}

/// Why a walk ended before it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// There was no room for more frames.
    TooDeep,
    /// Memory that should be there is not.
    Fault,
    /// In the VM's code, where nothing is known of.
    UnknownCode,
    /// Stack pointer or frame pointer lead out of the stack, or nowhere.
    Frame,
    /// In the interpreter, without a method.
    Interpreter,
    /// In a stub without a return address.
    Stub,
    /// Frames were just being replaced.
    Deoptimising,
    /// In machine code that does not say who called it, and Java was not left through the front door.
    Machine,
    /// In a virtual thread, whose frames in the heap could not be found.
    Continuation,
}

/// What a walk found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Walked {
    /// Frames, the youngest first.
    pub count: usize,
    /// Whether that is all.
    pub ended: Result<(), Broken>,
    /// The virtual thread that they are of, by its id.
    pub virtual_thread: Option<u64>,
    /// Whether there are more frames than were wanted.
    pub cut: bool,
}

/// Walks stacks of HotSpot's threads.
#[derive(Debug)]
pub struct StackWalker {
    memory: Memory,
    layout: Layout,
    continuations: Option<Continuations>,
    /// The code that enters continuations, from its first byte to behind its last; empty if there are none.
    entry: (usize, usize),
}

impl StackWalker {
    /// A walker for the VM with these tables, which is up.
    pub fn new(structs: &Structs, env: &Env<'_>, memory: Memory) -> Result<StackWalker, Unwalkable> {
        if !cfg!(target_arch = "x86_64") {
            return Err(Unwalkable::Machine);
        }
        // A VM without virtual threads has none of this, and where it cannot be learnt, walks of them end early and say so.
        let continuations = Continuations::of(structs, env, memory).ok().flatten();
        let layout = Layout::of(structs)?;
        // The VM keeps the code that enters continuations for good.
        let entry = CodeCache { memory, layout: &layout }.extent(layout.continuation_return);
        Ok(StackWalker { memory, layout, continuations, entry: entry.unwrap_or_default() })
    }

    /// Whether the VM may have put code there.
    pub fn may_be_code(&self, address: usize) -> bool {
        CodeCache { memory: self.memory, layout: &self.layout }.contains(address)
    }

    /// The name of the virtual thread that the VM's thread runs, as far as there is room; its length. For signal
    /// handlers.
    pub fn virtual_name(&self, thread: usize, name: &mut [u8]) -> Option<usize> {
        self.continuations.as_ref()?.name(self.memory, thread, name)
    }

    /// Walks the stack of the current thread, interrupted with these registers; `thread` is the VM's, 0 if it is not one
    /// of Java's. For signal handlers.
    pub fn walk(
        &self,
        thread: usize,
        registers: &Registers,
        modules: &Modules,
        frames: &mut [Frame],
        reach: Reach,
    ) -> Walked {
        let code = CodeCache { memory: self.memory, layout: &self.layout };
        let continuations = self.continuations.as_ref();
        let found = Found { frames, count: 0 };
        let mut walk = Walk {
            code,
            continuations,
            entry: self.entry,
            thread,
            top: usize::MAX,
            in_heap: false,
            virtual_thread: None,
            reach,
            seen: 0,
            cut: false,
            found,
        };
        if continuations.is_some_and(|known| thread != 0 && known.may_carry(self.memory, thread)) {
            walk.reach = Reach::Whole;
        }
        let ended = walk.run(*registers, modules);
        Walked { count: walk.found.count, ended, virtual_thread: walk.virtual_thread, cut: walk.cut }
    }
}

/// Room for frames.
struct Found<'f> {
    frames: &'f mut [Frame],
    count: usize,
}

impl Found<'_> {
    fn push(&mut self, kind: Kind, code: usize, bci: i32) -> Result<(), Broken> {
        let slot = self.frames.get_mut(self.count).ok_or(Broken::TooDeep)?;
        *slot = Frame { kind, code, bci };
        self.count += 1;
        Ok(())
    }
}

struct Walk<'w> {
    code: CodeCache<'w>,
    continuations: Option<&'w Continuations>,
    entry: (usize, usize),
    thread: usize,
    /// The first address behind the stack.
    top: usize,
    /// Whether frames are in a chunk in the heap, where frame pointers are distances in words.
    in_heap: bool,
    virtual_thread: Option<u64>,
    reach: Reach,
    /// Frames of Java so far, those inlined into each other being one.
    seen: usize,
    cut: bool,
    found: Found<'w>,
}

impl Walk<'_> {
    fn run(&mut self, mut at: Registers, modules: &Modules) -> Result<(), Broken> {
        let anchor = match self.thread {
            0 => None,
            thread => {
                let layout = self.code.layout;
                self.top = self.word(thread + layout.thread_stack_base)?;
                self.anchor(thread + layout.thread_anchor)?
            }
        };
        if self.code.contains(at.pc) {
            match self.called_from_machine(&at, modules)? {
                Some(caller) => at = caller,
                None => {
                    return match (self.java(at), anchor) {
                        // The VM has noted a frame that it could be walked from.
                        (Err(broken), Some(anchor)) if broken != Broken::TooDeep => {
                            (self.found.count, self.seen) = (0, 0);
                            self.java(anchor)
                        }
                        (ended, _) => ended,
                    };
                }
            }
        }
        if let (Reach::Near(_), Some(anchor)) = (self.reach, anchor) {
            self.found.push(Kind::Machine, at.place(), -1)?;
            return self.java(anchor);
        }
        let returned = self.machine(&mut at, modules, anchor.map(|anchor| anchor.sp()))?;
        match anchor {
            Some(anchor) => self.java(anchor),
            None if returned => self.java(at),
            // It has not entered Java, or has left it for good; or it came from there by a back door.
            None if !self.in_java()? => Ok(()),
            None => Err(Broken::Machine),
        }
    }

    /// Whether the thread believes to be in Java; one that is not Java's never is.
    fn in_java(&self) -> Result<bool, Broken> {
        if self.thread == 0 {
            return Ok(false);
        }
        let layout = self.code.layout;
        let state = self.code.memory.i32(self.thread + layout.thread_state);
        Ok(state.ok_or(Broken::Fault)? == layout.thread_in_java)
    }

    /// Java frames, to the end.
    fn java(&mut self, mut at: Registers) -> Result<(), Broken> {
        loop {
            let sp = at.sp();
            if !sp.is_multiple_of(WORD) || sp >= self.top {
                return Err(Broken::Frame);
            }
            let layout = self.code.layout;
            let next = if at.pc == layout.call_stub_return {
                let wrapper = at.fp().wrapping_add_signed(layout.call_wrapper * WORD as isize);
                let wrapper = self.word(wrapper)?;
                self.anchor(wrapper + layout.call_wrapper_anchor)?
            } else if self.is_entry(&at) {
                // What follows are the frames of the thread that carries this one.
                self.virtual_thread = Some(self.virtual_id()?);
                None
            } else if self.is_barrier(&at) {
                return self.heap();
            } else {
                let before = self.found.count;
                let next = self.called_by(&at)?;
                if self.goes_no_further(before, next.sp())? {
                    self.cut = true;
                    return Ok(());
                }
                Some(next)
            };
            let Some(next) = next else { return Ok(()) };
            if next.sp() < sp || next.sp() - sp > LARGEST_FRAME {
                return Err(Broken::Frame);
            }
            at = next;
        }
    }

    /// Tells where the frames begin that were told since, and whether that is all that is wanted.
    fn goes_no_further(&mut self, since: usize, behind: usize) -> Result<bool, Broken> {
        let of_java = |frame: &Frame| frame.kind != Kind::Machine;
        let told = self.found.frames.get(since..self.found.count).unwrap_or_default();
        if self.reach == Reach::Whole || self.in_heap || !told.iter().any(of_java) {
            return Ok(false);
        }
        self.seen += 1;
        self.found.push(Kind::Depth, self.top.saturating_sub(behind), -1)?;
        Ok(matches!(self.reach, Reach::Near(most) if self.seen >= most))
    }

    /// Tells of a frame of Java, or of a stub, and returns its caller.
    fn called_by(&mut self, at: &Registers) -> Result<Registers, Broken> {
        if self.code.interpreted(at.pc) {
            return self.interpreted(at);
        }
        let blob = self.code.find(at.pc).ok_or(Broken::UnknownCode)?;
        match blob.kind {
            BlobKind::Compiled | BlobKind::NativeCall => self.compiled(at, blob),
            _ => self.stub(at, blob),
        }
    }

    /// The frame that was noted when Java was left; `None` if it was not.
    fn anchor(&self, anchor: usize) -> Result<Option<Registers>, Broken> {
        let layout = self.code.layout;
        let sp = self.word(anchor + layout.anchor_sp)?;
        if sp == 0 {
            return Ok(None);
        }
        let pc = match self.word(anchor + layout.anchor_pc)? {
            // The call that left Java has put it there.
            0 => self.word(sp.wrapping_sub(WORD))?,
            pc => pc,
        };
        let fp = self.word(anchor + layout.anchor_fp)?;
        Ok(Some(caller(pc, sp, fp)))
    }

    /// The frame at the first of these stack pointers that makes sense: that of a compiled method must have been called.
    fn first_frame<const N: usize>(&self, pc: usize, fp: usize, places: [usize; N]) -> Option<Registers> {
        let code = self.code;
        let size = match code.find(pc) {
            Some(blob) if !code.interpreted(pc) && pc != code.layout.call_stub_return => {
                blob.frame_size(&code)?
            }
            // Of the others the frame pointer tells.
            _ => return Some(caller(pc, places.first().copied()?, fp)),
        };
        let sp = places.into_iter().find(|&sp| {
            sp.is_multiple_of(WORD)
                && sp < self.top
                && size >= 2 * WORD
                && code.memory.word(sp + size - WORD).is_some_and(|pc| code.is_return_address(pc))
        })?;
        Some(caller(pc, sp, fp))
    }

    fn word(&self, address: usize) -> Result<usize, Broken> {
        self.code.memory.word(address).ok_or(Broken::Fault)
    }
}

/// A frame that has called another.
fn caller(pc: usize, sp: usize, fp: usize) -> Registers {
    let mut registers = Registers { pc, ..Registers::default() };
    for (number, value) in [(dwarf::RSP, sp), (dwarf::RBP, fp)] {
        if let Some(slot) = registers.general.get_mut(usize::from(number)) {
            *slot = value;
        }
    }
    registers
}
