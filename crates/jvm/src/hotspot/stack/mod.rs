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
mod continuations;
mod instructions;
mod layout;
mod methods;
mod oops;
mod scopes;

use quipu_unwind::{Memory, Modules, Registers, dwarf};

use code::{Blob, BlobKind, CodeCache};
use continuations::Continuations;
use instructions::Prologue;
use layout::Layout;
pub use layout::Unwalkable;

use super::Structs;
use crate::Env;

const WORD: usize = size_of::<usize>();
/// Places in an interpreted frame, in words from the frame pointer: the same since JDK 9.
mod interpreted {
    pub const CALLER_SP: usize = 1;
    pub const METHOD: usize = 3;
    pub const BYTECODE: usize = 8;
    /// Words below the frame pointer that are not operands, and some more that a call may have put there.
    pub const MORE: usize = 48;
    /// Words below the frame pointer that every frame has.
    pub const LEAST: usize = 9;
}
/// Machine frames above Java ones; deeper ones are left out.
const MOST_MACHINE: usize = 128;
/// How far a frame can be from the next: more than the VM lets compiled code have.
const LARGEST_FRAME: usize = 1 << 20;
/// Words that compiled code may have pushed beyond its frame.
const MOST_PUSHED: usize = 4;
/// Chunks that the frames of one virtual thread are in, at most.
const MOST_CHUNKS: usize = 64;
/// Words of arguments between two frames in the heap, at most.
const HEAP_WORDS: usize = 16;
/// Words of a stub's frame that are searched for a return address.
const STUB_WORDS: usize = 16;

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
}

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
}

/// Walks stacks of HotSpot's threads.
#[derive(Debug)]
pub struct StackWalker {
    memory: Memory,
    layout: Layout,
    continuations: Option<Continuations>,
}

impl StackWalker {
    /// A walker for the VM with these tables, which is up.
    pub fn new(structs: &Structs, env: &Env<'_>, memory: Memory) -> Result<StackWalker, Unwalkable> {
        if !cfg!(target_arch = "x86_64") {
            return Err(Unwalkable::Machine);
        }
        // A VM without virtual threads has none of this, and where it cannot be learnt, walks of them end early and say so.
        let continuations = Continuations::of(structs, env, memory).ok().flatten();
        Ok(StackWalker { memory, layout: Layout::of(structs)?, continuations })
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
    ) -> Walked {
        let code = CodeCache { memory: self.memory, layout: &self.layout };
        let continuations = self.continuations.as_ref();
        let found = Found { frames, count: 0 };
        let mut walk = Walk {
            code,
            continuations,
            thread,
            top: usize::MAX,
            in_heap: false,
            virtual_thread: None,
            found,
        };
        let ended = walk.run(*registers, modules);
        Walked { count: walk.found.count, ended, virtual_thread: walk.virtual_thread }
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
    thread: usize,
    /// The first address behind the stack.
    top: usize,
    /// Whether frames are in a chunk in the heap, where frame pointers are distances in words.
    in_heap: bool,
    virtual_thread: Option<u64>,
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
                            self.found.count = 0;
                            self.java(anchor)
                        }
                        (ended, _) => ended,
                    };
                }
            }
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

    /// The caller of a stub, if that is machine code: outside Java, the VM calls some as if they were functions.
    fn called_from_machine(&self, at: &Registers, modules: &Modules) -> Result<Option<Registers>, Broken> {
        let stub = self.code.find(at.pc).is_some_and(|blob| blob.kind == BlobKind::Stub);
        if !stub || self.code.interpreted(at.pc) || self.in_java()? {
            return Ok(None);
        }
        Ok(self.machine_caller(at, modules))
    }

    fn machine_caller(&self, at: &Registers, modules: &Modules) -> Option<Registers> {
        let memory = self.code.memory;
        let places = [(at.sp(), at.fp()), (at.sp() + WORD, memory.word(at.sp())?)];
        let framed =
            (at.fp() >= at.sp() && at.fp() < self.top).then(|| (at.fp() + WORD, memory.word(at.fp())));
        let framed = framed.and_then(|(place, fp)| Some((place, fp?)));
        places.into_iter().chain(framed).find_map(|(place, fp)| {
            let pc = memory.word(place)?;
            let before = memory.bytes::<7>(pc.checked_sub(7)?)?;
            (modules.find(pc).is_some() && instructions::ends_with_call(&before))
                .then(|| caller(pc, place + WORD, fp))
        })
    }

    /// Machine frames, up to a frame of the VM's code (`true`), or to `limit`, or as far as it goes.
    fn machine(
        &mut self,
        at: &mut Registers,
        modules: &Modules,
        limit: Option<usize>,
    ) -> Result<bool, Broken> {
        for _ in 0..MOST_MACHINE {
            self.found.push(Kind::Machine, at.place(), -1)?;
            let Some(module) = modules.find(at.place()) else { return Ok(false) };
            let Some(caller) = quipu_unwind::caller(self.code.memory, module, at) else { return Ok(false) };
            if caller.pc == 0 || caller.sp() <= at.sp() || limit.is_some_and(|limit| caller.sp() > limit) {
                return Ok(false);
            }
            *at = caller;
            if self.code.contains(at.pc) {
                return Ok(true);
            }
        }
        Ok(false)
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
            } else if at.pc == layout.continuation_return {
                // What follows are the frames of the thread that carries this one.
                self.virtual_thread = Some(self.virtual_id()?);
                None
            } else if self.is_barrier(&at) {
                return self.heap();
            } else {
                Some(self.called_by(&at)?)
            };
            let Some(next) = next else { return Ok(()) };
            if next.sp() < sp || next.sp() - sp > LARGEST_FRAME {
                return Err(Broken::Frame);
            }
            at = next;
        }
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

    /// Whether a frame would return to where the next ones of a virtual thread are put on the stack.
    fn is_barrier(&self, at: &Registers) -> bool {
        !at.youngest
            && !self.code.interpreted(at.pc)
            && self.code.find(at.pc).is_some_and(|blob| blob.kind == BlobKind::Continuation)
    }

    fn virtual_id(&self) -> Result<u64, Broken> {
        let id = self.continuations.and_then(|known| known.id(self.code.memory, self.thread));
        id.ok_or(Broken::Continuation)
    }

    /// The frames of a virtual thread that are in the heap.
    fn heap(&mut self) -> Result<(), Broken> {
        let memory = self.code.memory;
        self.virtual_thread = Some(self.virtual_id()?);
        let continuations = self.continuations.ok_or(Broken::Continuation)?;
        // Something must be there: that is what the barrier is for.
        let mut next = Some(continuations.tail(memory, self.thread).ok_or(Broken::Continuation)?);
        (self.in_heap, self.top) = (true, usize::MAX);
        for _ in 0..MOST_CHUNKS {
            let Some(chunk) = next else {
                let oldest = self.found.count.checked_sub(1).and_then(|last| self.found.frames.get(last));
                let whole = oldest.is_some_and(|frame| frame.code == continuations.enter());
                return if whole { Ok(()) } else { Err(Broken::Continuation) };
            };
            if chunk.sp < chunk.end {
                let link = chunk.sp - 2 * WORD;
                let mut at = caller(self.word(chunk.sp - WORD)?, chunk.sp, self.linked(link)?);
                // Who called the oldest is not noted in a chunk.
                while at.sp() < chunk.end
                    && (self.code.contains(at.pc) || chunk.end - at.sp() > HEAP_WORDS * WORD)
                {
                    let next = self.called_by(&at)?;
                    if next.sp() <= at.sp() || next.sp() - at.sp() > LARGEST_FRAME {
                        return Err(Broken::Continuation);
                    }
                    at = next;
                }
            }
            next = continuations.parent(memory, chunk);
        }
        Err(Broken::Continuation)
    }

    /// The frame pointer that was saved at an address.
    fn linked(&self, address: usize) -> Result<usize, Broken> {
        let saved = self.word(address)?;
        Ok(if self.in_heap { address.wrapping_add(saved.wrapping_mul(WORD)) } else { saved })
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

    fn interpreted(&mut self, at: &Registers) -> Result<Registers, Broken> {
        let (memory, layout) = (self.code.memory, self.code.layout);
        let (fp, sp) = (at.fp(), at.sp());
        let slot = |words: usize| memory.word(fp.wrapping_sub(words * WORD));
        if fp.is_multiple_of(WORD)
            && fp > sp
            && fp < self.top
            && let Some(method) = slot(interpreted::METHOD)
            && let Some(id) = self.method_of_frame(at, method)
        {
            let (begin, length) = methods::bytecode(memory, layout, method).ok_or(Broken::Fault)?;
            let place = |pointer: usize| pointer.checked_sub(begin).filter(|&bci| bci < length);
            // The youngest has its place in a register, and writes it down when it calls.
            let register = at.get(dwarf::R13).filter(|_| at.youngest).and_then(place);
            let bci = register.or_else(|| place(slot(interpreted::BYTECODE)?)).map_or(0, |bci| bci as i32);
            match length {
                0 => self.found.push(Kind::Native, id, -1)?,
                _ => self.found.push(Kind::Interpreted, id, bci)?,
            }
            let (pc, outer) = (self.word(fp + WORD)?, self.linked(fp)?);
            let behind = fp + 2 * WORD;
            if self.in_heap {
                // Arguments of a compiled caller may lie between the frames.
                let places: [usize; HEAP_WORDS] = std::array::from_fn(|words| behind + words * WORD);
                return Ok(self.first_frame(pc, outer, places).unwrap_or(caller(pc, behind, outer)));
            }
            let caller_sp = slot(interpreted::CALLER_SP).ok_or(Broken::Fault)?;
            return Ok(caller(pc, if caller_sp > fp { caller_sp } else { behind }, outer));
        }
        if self.thread != 0 && self.word(self.thread + layout.thread_deoptimising)? != 0 {
            return Err(Broken::Deoptimising);
        }
        if at.youngest { self.entering_interpreter(at) } else { Err(Broken::Interpreter) }
    }

    /// The id of the method of an interpreted frame, if it is one.
    fn method_of_frame(&self, at: &Registers, method: usize) -> Option<usize> {
        let (memory, layout) = (self.code.memory, self.code.layout);
        if !at.youngest {
            return methods::id(memory, layout, method);
        }
        // The frame pointer may still be, or be again, that of a caller further up.
        let operands = methods::max_stack(memory, layout, method)?;
        let near = at.fp() - at.sp() <= (operands + interpreted::MORE) * WORD;
        near.then(|| methods::id_of_suspect(memory, layout, method))?
    }

    /// A method that has not built its frame yet: the method is in a register, and so may be the return address.
    fn entering_interpreter(&mut self, at: &Registers) -> Result<Registers, Broken> {
        let (memory, layout) = (self.code.memory, self.code.layout);
        let method = at.get(dwarf::RBX).ok_or(Broken::Interpreter)?;
        let id = methods::id_of_suspect(memory, layout, method).ok_or(Broken::Interpreter)?;
        let next = self.entering(at).ok_or(Broken::Interpreter)?;
        self.found.push(Kind::Interpreted, id, 0)?;
        Ok(next)
    }

    /// The caller of what is on its way into the interpreter.
    fn entering(&self, at: &Registers) -> Option<Registers> {
        let (memory, sp, fp) = (self.code.memory, at.sp(), at.fp());
        // Compiled callers have room for arguments added to their frame, and leave word of where it ended.
        let noted = at.get(dwarf::R13)?;
        if fp >= sp && fp - sp < interpreted::LEAST * WORD {
            // The frame is being built: what is above the frame pointer is there already.
            let pc = memory.word(fp + WORD).filter(|&pc| self.code.is_return_address(pc))?;
            let pushed = if fp > sp { memory.word(fp - WORD)? } else { noted };
            let outer = memory.word(fp)?;
            return self.first_frame(pc, outer, [pushed, fp + 2 * WORD]);
        }
        let on_stack = memory.word(sp)?;
        let pc = [on_stack, at.get(dwarf::RAX)?].into_iter().find(|&pc| self.code.is_return_address(pc))?;
        let behind = if pc == on_stack { sp + WORD } else { sp };
        self.first_frame(pc, fp, [behind, noted])
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

    fn compiled(&mut self, at: &Registers, blob: Blob) -> Result<Registers, Broken> {
        let code = self.code;
        let sp = at.sp();
        let there =
            if at.youngest { self.how_much(at, blob).ok_or(Broken::Fault)? } else { Prologue::Complete };
        let pc = match there {
            Prologue::Complete => blob.original_pc(&code, at.pc, sp).ok_or(Broken::Fault)?,
            _ => at.pc,
        };
        self.scopes(pc, at.youngest, blob)?;
        let size = match there {
            Prologue::Nothing => WORD,
            Prologue::Pushed => 2 * WORD,
            Prologue::Complete => {
                blob.frame_size(&code).filter(|&size| size >= 2 * WORD).ok_or(Broken::Frame)?
            }
        };
        let behind = sp.checked_add(size).ok_or(Broken::Frame)?;
        let mut next = self.called(behind, there, at.fp())?;
        if !code.contains(next.pc) {
            // Around some calls of stubs, C1 has a few words more on the stack.
            let more = (1..=MOST_PUSHED).map(|words| self.called(behind + words * WORD, there, at.fp()));
            next = more.flatten().find(|next| code.is_return_address(next.pc)).unwrap_or(next);
        }
        Ok(next)
    }

    /// The caller of a compiled frame that ends here.
    fn called(&self, behind: usize, there: Prologue, fp: usize) -> Result<Registers, Broken> {
        let fp = match there {
            Prologue::Nothing => fp,
            _ => self.linked(behind - 2 * WORD)?,
        };
        Ok(caller(self.word(behind - WORD)?, behind, fp))
    }

    /// How much of the youngest frame is there.
    fn how_much(&self, at: &Registers, blob: Blob) -> Option<Prologue> {
        /// Longer than all instructions of an entry, or of an exit.
        const BYTES: usize = 32;
        let code = self.code;
        let entry = blob.entry(&code)?;
        let complete = blob.is_complete_at(&code, at.pc)?;
        if at.pc < entry && !complete {
            // The check of the receiver's class comes before the entry.
            return Some(Prologue::Nothing);
        }
        if (entry..entry + BYTES).contains(&at.pc) || !complete {
            let mut bytes = [0u8; BYTES];
            let executed = bytes.get_mut(..(at.pc - entry).min(BYTES))?;
            for (i, byte) in executed.iter_mut().enumerate() {
                *byte = code.memory.u8(entry + i)?;
            }
            let built = instructions::below_return(executed);
            if built != Prologue::Complete {
                return Some(built);
            }
        }
        let coming = code.memory.bytes::<BYTES>(at.pc)?;
        Some(instructions::epilogue(&coming).unwrap_or(Prologue::Complete))
    }

    /// The methods at a place of a compiled one.
    fn scopes(&mut self, pc: usize, youngest: bool, blob: Blob) -> Result<(), Broken> {
        let code = self.code;
        let (memory, layout) = (code.memory, code.layout);
        if blob.kind == BlobKind::NativeCall {
            let method = blob.method(&code).ok_or(Broken::Fault)?;
            return self.push_method(Kind::Native, method, -1);
        }
        let kind = match blob.level(&code).ok_or(Broken::Fault)? {
            1..=3 => Kind::C1,
            _ => Kind::C2,
        };
        // What is described for an address holds for the instructions before it: for a caller that is where it goes on.
        let place = pc + usize::from(youngest);
        let place = place.checked_sub(blob.begin(&code).ok_or(Broken::Fault)?).ok_or(Broken::Frame)?;
        let mut pushed = Ok(());
        let described = blob.descriptions(&code).and_then(|descriptions| {
            descriptions.at(memory, place, |scope| {
                let (kind, id) = match methods::id(memory, layout, scope.method) {
                    Some(id) => (kind, id),
                    None => (Kind::Nameless, 0),
                };
                pushed = self.found.push(kind, id, scope.bci.max(0));
                pushed.is_ok()
            })
        });
        match described {
            Some(()) => pushed,
            None => {
                let method = blob.method(&code).ok_or(Broken::Fault)?;
                self.push_method(kind, method, 0)
            }
        }
    }

    fn push_method(&mut self, kind: Kind, method: usize, bci: i32) -> Result<(), Broken> {
        match methods::id(self.code.memory, self.code.layout, method) {
            Some(id) => self.found.push(kind, id, bci),
            None => self.found.push(Kind::Nameless, 0, bci),
        }
    }

    /// The caller of a stub.
    fn stub(&mut self, at: &Registers, blob: Blob) -> Result<Registers, Broken> {
        let code = self.code;
        let (sp, fp) = (at.sp(), at.fp());
        if blob.kind == BlobKind::Adapter {
            return self.entering(at).ok_or(Broken::Stub);
        }
        let size = blob.frame_size(&code).ok_or(Broken::Fault)?;
        let complete = !at.youngest || blob.is_complete_at(&code, at.pc).ok_or(Broken::Fault)?;
        if size >= 2 * WORD && complete {
            let behind = sp.checked_add(size).ok_or(Broken::Frame)?;
            let pc = self.word(behind - WORD)?;
            // A frame that is to be replaced has no return address, but where that is arranged.
            let replaced = blob.kind == BlobKind::Deoptimisation && code.contains(pc);
            if replaced || code.is_return_address(pc) {
                return Ok(caller(pc, behind, self.word(behind - 2 * WORD)?));
            }
        }
        let on_stack = |words: usize| code.memory.word(sp + words * WORD);
        if let Some(pc) = on_stack(0).filter(|&pc| code.is_return_address(pc)) {
            return Ok(caller(pc, sp + WORD, fp));
        }
        if fp >= sp && fp - sp < LARGEST_FRAME && fp.is_multiple_of(WORD) {
            // Above the caller's frame pointer; or one further, if room was left for another stack pointer.
            for words in [1, 2] {
                if let Some(pc) = code.memory.word(fp + words * WORD).filter(|&pc| code.is_return_address(pc))
                {
                    return Ok(caller(pc, fp + (words + 1) * WORD, self.word(fp)?));
                }
            }
        }
        for words in 1..STUB_WORDS {
            if let Some(pc) = on_stack(words).filter(|&pc| code.is_return_address(pc)) {
                return Ok(caller(pc, sp + (words + 1) * WORD, on_stack(words - 1).unwrap_or(0)));
            }
        }
        Err(if blob.kind == BlobKind::Deoptimisation { Broken::Deoptimising } else { Broken::Stub })
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
