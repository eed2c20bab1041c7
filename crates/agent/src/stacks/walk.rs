//! The stack of the interrupted thread, as frames in the tree of contexts.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use quipu_arena::append::Context;
use quipu_arena::layout::{self, frame, header, mark, place_word};
use quipu_arena::writer::ArenaWriter;
use quipu_jvm::Env;
use quipu_jvm::hotspot::{
    AsyncGetCallTrace, Broken, CallFrame, CallTrace, Frame, Kind, Reach, StackWalker, Structs, Unwalkable,
    WalkFailure, Walked,
};
use quipu_jvm::sys::{JNIEnv, jvmtiFrameInfo};
use quipu_unwind::{Memory, Modules, Registers};

use super::chain::{self, Extent};
use super::contexts::Contexts;
use super::fault::{self, Recovery};
use super::kernel;
use super::lost::{self, Cause};
use super::memory::{Zeroed, reserve};
use super::virtual_threads::{self, VirtualThreads};

/// Frames of one walk; older ones are cut off.
pub const DEEPEST: usize = 4096;
/// Frames that are looked at for the Java method that is running: so many of machine code may lie above it.
const YOUNGEST: usize = 24;
/// Walks that can be under way at the same time: with 200 busy threads on two processors, each with 2,000 frames, 64 were
/// not always enough.
const AT_ONCE: usize = 512;

/// Walks stacks, in memory that was laid out before.
pub struct Walker {
    how: How,
    memory: Memory,
    /// From a thread's environment back to the VM's thread.
    env: usize,
    modules: AtomicPtr<Modules>,
    /// There was code of a library that was not known yet.
    unknown_module: AtomicBool,
    virtual_threads: VirtualThreads,
    buffers: &'static [Buffer],
    recoveries: &'static [Recovery],
}

/// Who walks.
enum How {
    /// We do, unless that turns out to be wrong, and HotSpot does instead.
    Own(Box<StackWalker>, Trial, AsyncGetCallTrace),
    /// HotSpot does, because we cannot.
    HotSpot(AsyncGetCallTrace, Unwalkable),
}

/// Whether our walk is any good: a VM that nobody knows yet can have structures of the same names and mean something else by
/// them. Some of the first walks of a good one fail, too, but not most.
#[derive(Default)]
struct Trial {
    walks: AtomicU32,
    failed: AtomicU32,
    lost: AtomicBool,
    told: AtomicBool,
}

/// Walks that decide.
const TRIED: u32 = 200;

impl Trial {
    fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// A walk has ended. For signal handlers.
    fn ended(&self, failed: bool) {
        if self.walks.load(Ordering::Relaxed) >= TRIED {
            return;
        }
        let failed = self.failed.fetch_add(failed.into(), Ordering::Relaxed) + u32::from(failed);
        if self.walks.fetch_add(1, Ordering::Relaxed) + 1 == TRIED && failed > TRIED / 2 {
            self.lost.store(true, Ordering::Relaxed);
        }
    }
}

/// Room for one walk.
struct Buffer {
    taken: AtomicBool,
    frames: UnsafeCell<[Frame; DEEPEST]>,
}

// SAFETY: `frames` is used by whoever took the buffer, alone.
unsafe impl Sync for Buffer {}
// SAFETY: an atomic, and frames that are numbers, of kinds that begin at 0.
unsafe impl Zeroed for Buffer {}
const _: () = {
    assert!(Kind::Interpreted as u8 == 0);
    // HotSpot's frames find room where ours would.
    assert!(size_of::<CallFrame>() <= size_of::<Frame>() && align_of::<CallFrame>() <= align_of::<Frame>());
};

/// The thread that is walked, in its own signal handler.
#[derive(Clone, Copy)]
pub struct Interrupted {
    /// The kernel's id of it.
    pub tid: i32,
    /// Its environment; null if it is not Java's.
    pub env: *mut JNIEnv,
    /// What the kernel passed to the handler.
    pub ucontext: *mut c_void,
}

/// What a walk found.
pub struct Stack {
    /// Its context.
    pub context: u32,
    /// What its context is to be found from, beside that.
    pub chained: Option<u32>,
    /// The number of the virtual thread it is of.
    pub virtual_thread: Option<u32>,
}

impl Stack {
    /// What has this context, and nothing else that is known of it.
    pub fn of(context: u32) -> Stack {
        Stack { context, chained: None, virtual_thread: None }
    }
}

impl Walker {
    /// A walker for the VM with these tables; where they do not say enough, one that uses HotSpot's own walk. `env` is how
    /// far environments of threads are from the VM's threads. `None` without memory.
    pub fn new(structs: &Structs, jni: &Env<'_>, walk: AsyncGetCallTrace, env: usize) -> Option<Walker> {
        let recoveries: &'static [Recovery] = reserve(AT_ONCE)?;
        let memory = fault::install(recoveries);
        let how = match StackWalker::new(structs, jni, memory) {
            Ok(own) => How::Own(Box::new(own), Trial::default(), walk),
            Err(why) => How::HotSpot(walk, why),
        };
        let modules = AtomicPtr::new(Box::into_raw(Box::default()));
        let unknown_module = AtomicBool::new(false);
        let (virtual_threads, buffers) = (VirtualThreads::new()?, reserve(AT_ONCE)?);
        Some(Walker { how, memory, env, modules, unknown_module, virtual_threads, buffers, recoveries })
    }

    /// Whether the VM may have put code there.
    pub fn is_code(&self, address: usize) -> bool {
        matches!(&self.how, How::Own(own, ..) if own.may_be_code(address))
    }

    /// Whether a library is there.
    pub fn is_library(&self, address: usize) -> bool {
        self.modules().find(address).is_some()
    }

    /// Memory as walks read it.
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// Who walks, for people.
    pub fn name(&self) -> String {
        match &self.how {
            How::Own(_, trial, _) if trial.is_lost() => {
                format!(
                    "AsyncGetCallTrace, because more than half of the first {TRIED} walks of Quipu's own failed"
                )
            }
            How::Own(..) => "Quipu's own".to_owned(),
            How::HotSpot(_, why) => format!("AsyncGetCallTrace, because {why}"),
        }
    }

    /// Whether another one walks since this was asked last.
    pub fn has_changed(&self) -> bool {
        match &self.how {
            How::Own(_, trial, _) => trial.is_lost() && !trial.told.swap(true, Ordering::Relaxed),
            How::HotSpot(..) => false,
        }
    }

    /// These libraries are mapped now.
    pub fn set_modules(&self, modules: Modules) {
        // The old list stays: a handler may be looking into it. Libraries are seldom loaded.
        self.modules.store(Box::into_raw(Box::new(modules)), Ordering::Release);
    }

    /// Somebody is looking which libraries are mapped.
    pub fn modules_are_looked_for(&self) {
        self.unknown_module.store(false, Ordering::Relaxed);
    }

    /// Whether somebody should look which libraries are mapped.
    pub fn wants_modules(&self) -> bool {
        self.unknown_module.load(Ordering::Relaxed)
    }

    fn modules(&self) -> &Modules {
        // SAFETY: the pointer is always that of a list, and lists are never freed.
        unsafe { &*self.modules.load(Ordering::Acquire) }
    }

    /// A virtual thread was met that is on no stack.
    pub fn met_virtual_thread(&self, id: u64, name: &[u8]) {
        self.meet_virtual_thread(id, |room| {
            let length = name.len().min(room.len());
            room.get_mut(..length)?.copy_from_slice(name.get(..length)?);
            Some(length)
        });
    }

    /// The same; `name` is asked for its name, and how long it is, if that is not known.
    pub fn meet_virtual_thread(&self, id: u64, name: impl FnOnce(&mut [u8]) -> Option<usize>) {
        self.virtual_threads.met(id, name);
    }

    /// Tells names of virtual threads that were met.
    pub fn tell_virtual_threads(&self, arena: &ArenaWriter) {
        self.virtual_threads.tell(arena);
    }

    /// Walks the stack of this thread, as far as is wanted, and returns its context; a stack that cannot be walked to its end
    /// begins with a mark that says why. `None` if there is no room. For signal handlers.
    ///
    /// # Safety
    /// `thread` is the current one, as its signal handler knows it.
    pub unsafe fn walk(
        &self,
        arena: &ArenaWriter,
        contexts: &Contexts,
        thread: Interrupted,
        extent: Extent,
    ) -> Option<Stack> {
        let start = thread.tid as usize % AT_ONCE;
        let order = (start..AT_ONCE).chain(0..start);
        let free = |&at: &usize| {
            self.buffers.get(at).is_some_and(|buffer| {
                buffer.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
            })
        };
        let Some((buffer, recovery)) = order
            .into_iter()
            .find(free)
            .and_then(|at| Some((self.buffers.get(at)?, self.recoveries.get(at)?)))
        else {
            lost::count(arena, Cause::TooManyAtOnce);
            return None;
        };
        let insert = Insert { arena, contexts };
        let frames = buffer.frames.get().cast::<Frame>();
        if !thread.env.is_null() {
            arena.add(header::WALKS, 1);
        }
        // SAFETY: the caller's promises; the buffer is ours until it is given back.
        let found = unsafe {
            match &self.how {
                How::Own(own, trial, _) if !trial.is_lost() => {
                    let frames = std::slice::from_raw_parts_mut(frames, DEEPEST);
                    self.walk_own((own, trial), &insert, recovery, thread, frames, extent)
                }
                // HotSpot knows nothing of threads that are not Java's.
                _ if thread.env.is_null() => insert.find(marked(0, mark::NOT_JAVA)).map(Stack::of),
                How::Own(_, _, walk) | How::HotSpot(walk, _) => {
                    walk_by_hotspot(*walk, &insert, recovery, thread, frames.cast()).map(Stack::of)
                }
            }
        };
        buffer.taken.store(false, Ordering::Release);
        found
    }

    /// The context of this thread in the tree of exact counts, where it has published `slot`, and below it the Java method
    /// that is running: it may be one that calls nothing, and so publishes nothing. `None` if there is no room. For signal
    /// handlers.
    ///
    /// # Safety
    /// As [`Walker::walk`].
    pub unsafe fn walk_published(
        &self,
        arena: &ArenaWriter,
        contexts: &Contexts,
        thread: Interrupted,
        slot: u64,
    ) -> Option<u32> {
        let insert = Insert { arena, contexts };
        let context = insert.published(slot)?;
        let own = match &self.how {
            How::Own(own, trial, _) if !trial.is_lost() => own,
            _ => return Some(context),
        };
        const NONE: Frame = Frame { kind: Kind::Machine, code: 0, bci: 0 };
        let mut frames = [NONE; YOUNGEST];
        // SAFETY: the caller's promise.
        let registers = unsafe { Registers::of(thread.ucontext) };
        let vm_thread = (thread.env as usize).wrapping_sub(self.env);
        let Walked { count, .. } = own.walk(vm_thread, &registers, self.modules(), &mut frames, Reach::Whole);
        let frames = frames.get(..count)?;
        let native = frames.first().is_some_and(|frame| frame.kind == Kind::Machine);
        let Some(found) = frames.iter().find(|frame| frame.kind != Kind::Machine) else {
            return Some(context);
        };
        let kind = match found.kind {
            Kind::Interpreted if !native => frame::INTERPRETED,
            Kind::C1 if !native => frame::C1,
            Kind::C2 if !native => frame::C2,
            Kind::Nameless | Kind::Machine | Kind::Depth => return Some(context),
            _ => frame::NATIVE,
        };
        let place = place_word(kind, u32::try_from(found.bci).ok());
        insert.find(Context { code: found.code as u64, parent: context, place })
    }

    /// The context of what the thread was doing in the kernel, below its own, if what was read is its `own`; `None` if there
    /// is no room. For signal handlers.
    pub fn enter_kernel(
        &self,
        arena: &ArenaWriter,
        contexts: &Contexts,
        mut context: u32,
        kernel: &kernel::Reader,
        own: impl FnOnce() -> bool,
    ) -> Option<u32> {
        let mut frames = [0; kernel::MOST];
        let count = kernel.frames(self.memory, &mut frames);
        let count = if own() { count } else { 0 };
        let place = place_word(frame::FOREIGN, None);
        for &address in frames.get(..count)?.iter().rev() {
            context =
                Insert { arena, contexts }.find(Context { code: address as u64, parent: context, place })?;
        }
        Some(context)
    }

    /// # Safety
    /// As [`Walker::walk`].
    unsafe fn walk_own(
        &self,
        (own, trial): (&StackWalker, &Trial),
        insert: &Insert<'_>,
        recovery: &Recovery,
        thread: Interrupted,
        frames: &mut [Frame],
        mut extent: Extent,
    ) -> Option<Stack> {
        struct Task<'w> {
            own: &'w StackWalker,
            thread: usize,
            registers: Registers,
            modules: &'w Modules,
            frames: &'w mut [Frame],
            reach: Reach,
            walked: Walked,
        }
        unsafe extern "C" fn run(task: *mut c_void) {
            // SAFETY: passed below.
            let task = unsafe { &mut *task.cast::<Task<'_>>() };
            task.walked = task.own.walk(task.thread, &task.registers, task.modules, task.frames, task.reach);
        }
        let java = !thread.env.is_null();
        let mut task = Task {
            own,
            thread: if java { (thread.env as usize).wrapping_sub(self.env) } else { 0 },
            // SAFETY: the caller's promise.
            registers: unsafe { Registers::of(thread.ucontext) },
            modules: self.modules(),
            frames,
            reach: extent.reach(),
            walked: Walked { count: 0, ended: Ok(()), virtual_thread: None, cut: false },
        };
        // SAFETY: a walk that takes a task; frames of ours that it may be torn out of own nothing.
        let mut whole = unsafe { recovery.walk(thread.tid, run, (&raw mut task).cast()) };
        // What was never met at this depth must be seen with its callers once.
        if whole
            && extent.wants_news()
            && task.walked.ended.is_ok()
            && insert.is_news(extent.cut(task.frames.get(..task.walked.count)?, task.walked.cut))
        {
            extent = extent.made_whole();
            task.reach = extent.reach();
            // SAFETY: as above.
            whole = !task.walked.cut || unsafe { recovery.walk(thread.tid, run, (&raw mut task).cast()) };
        }
        let Walked { count, ended, virtual_thread, cut } = task.walked;
        if java {
            trial.ended(!whole || ended.is_err_and(|broken| broken != Broken::TooDeep));
        }
        if !whole {
            return insert.failed(Cause::Fault).map(Stack::of);
        }
        let virtual_thread = virtual_thread.map(|id| {
            self.virtual_threads.met(id, |name| own.virtual_name(task.thread, name));
            virtual_threads::number(id)
        });
        if let Some(Frame { kind: Kind::Machine, code, .. }) = task.frames.first()
            && task.modules.find(*code).is_none()
        {
            self.unknown_module.store(true, Ordering::Relaxed);
        }
        let frames = task.frames.get(..count)?;
        if ended.is_ok() && count == 0 {
            let none = insert.find(marked(0, if java { mark::NO_FRAMES } else { mark::NOT_JAVA }))?;
            return Some(Stack { virtual_thread, ..Stack::of(none) });
        }
        if extent.is_youngest() && count > 0 {
            return Some(Stack { virtual_thread, ..Stack::of(insert.walked(frames.get(..1)?, 0)?) });
        }
        let [only_chained, chained] = extent.chained().map(|wanted| wanted && ended.is_ok());
        let chained = match chained && chain::has_depths(frames) {
            true => Some(insert.chained(extent.cut(frames, cut))?),
            false => None,
        };
        if let Some(context) = chained.filter(|_| only_chained) {
            return Some(Stack { virtual_thread, ..Stack::of(context) });
        }
        let root = match ended {
            Ok(()) => 0,
            Err(broken) => insert.failed(cause_of_broken(broken))?,
        };
        let context = insert.walked(frames, root)?;
        Some(Stack { context, chained: chained.or(Some(context)), virtual_thread })
    }
}

/// # Safety
/// As [`Walker::walk`], and there is room for `DEEPEST` frames.
unsafe fn walk_by_hotspot(
    walk: AsyncGetCallTrace,
    insert: &Insert<'_>,
    recovery: &Recovery,
    thread: Interrupted,
    frames: *mut CallFrame,
) -> Option<u32> {
    struct Task {
        walk: AsyncGetCallTrace,
        trace: CallTrace,
        ucontext: *mut c_void,
    }
    unsafe extern "C" fn run(task: *mut c_void) {
        // SAFETY: passed below, with what HotSpot asks for.
        unsafe {
            let task = &mut *task.cast::<Task>();
            (task.walk)(&raw mut task.trace, DEEPEST as i32, task.ucontext);
        }
    }
    let trace = CallTrace { env: thread.env, frames_or_failure: 0, frames };
    let mut task = Task { walk, trace, ucontext: thread.ucontext };
    // SAFETY: the caller's promises.
    unsafe {
        if !recovery.walk(thread.tid, run, (&raw mut task).cast()) {
            return insert.failed(Cause::Fault);
        }
        match usize::try_from(task.trace.frames_or_failure) {
            Ok(0) => insert.find(marked(0, mark::NO_FRAMES)),
            Ok(count) => {
                let frames = std::slice::from_raw_parts(frames, count.min(DEEPEST)).iter();
                insert.java(frames.map(|frame| (frame.method as usize as u64, u32::try_from(frame.bci).ok())))
            }
            Err(_) => insert.failed(cause_of(task.trace.frames_or_failure)),
        }
    }
}

/// The context of a thread that waits, in the tree of exact counts, with the method that waits below it.
pub fn insert_published(
    arena: &ArenaWriter,
    contexts: &Contexts,
    slot: u64,
    youngest: Option<&jvmtiFrameInfo>,
) -> Option<u32> {
    let insert = Insert { arena, contexts };
    let context = insert.published(slot)?;
    let Some(frame) = youngest.filter(|frame| !frame.method.is_null()) else { return Some(context) };
    let place = match u32::try_from(frame.location) {
        Ok(bci) => place_word(frame::JAVA, Some(bci)),
        Err(_) => place_word(frame::NATIVE, None),
    };
    insert.find(Context { code: frame.method as usize as u64, parent: context, place })
}

/// The context of a stack that the VM walked. Not in signal handlers, though it could be.
pub fn insert_waiting(arena: &ArenaWriter, contexts: &Contexts, frames: &[jvmtiFrameInfo]) -> Option<u32> {
    let insert = Insert { arena, contexts };
    if frames.is_empty() {
        return insert.find(marked(0, mark::NO_FRAMES));
    }
    insert.java(frames.iter().map(|frame| (frame.method as usize as u64, u32::try_from(frame.location).ok())))
}

/// Where frames go.
struct Insert<'e> {
    arena: &'e ArenaWriter,
    contexts: &'e Contexts,
}

impl Insert<'_> {
    /// The context of a stack of Java methods, given with the youngest frame first.
    fn java(
        &self,
        frames: impl DoubleEndedIterator<Item = (u64, Option<u32>)> + ExactSizeIterator,
    ) -> Option<u32> {
        let mut context = 0;
        if frames.len() == DEEPEST {
            context = self.failed(Cause::Truncated)?;
        }
        for (code, bci) in frames.rev() {
            let next = match (code, bci) {
                (0, _) => marked(context, mark::UNKNOWN_METHOD),
                (code, Some(bci)) => {
                    Context { code, parent: context, place: place_word(frame::JAVA, Some(bci)) }
                }
                (code, None) => Context { code, parent: context, place: place_word(frame::NATIVE, None) },
            };
            context = self.find(next)?;
        }
        Some(context)
    }

    /// The context of frames of our own walk, given with the youngest first, below that of their caller.
    fn walked(&self, frames: &[Frame], root: u32) -> Option<u32> {
        frames.iter().rev().try_fold(root, |caller, found| self.frame(caller, found))
    }

    /// The same, with where frames begin, from where the stack begins if they are all.
    fn chained(&self, (frames, whole): (&[Frame], bool)) -> Option<u32> {
        let root = if whole { self.find(chain::beginning())? } else { 0 };
        frames.iter().rev().try_fold(root, |caller, found| match found.kind {
            Kind::Depth => self.find(chain::base(caller, found.code)),
            _ => self.frame(caller, found),
        })
    }

    /// Whether the oldest of these frames was never met at its depth, and others called it.
    fn is_news(&self, (frames, whole): (&[Frame], bool)) -> bool {
        let [.., oldest, base] = frames else { return false };
        if whole || base.kind != Kind::Depth {
            return false;
        }
        let known = |wanted| self.contexts.known(self.arena, wanted);
        let place = known(chain::base(0, base.code));
        place.and_then(|place| known(context_of(place, oldest)?)).is_none()
    }

    fn frame(&self, caller: u32, found: &Frame) -> Option<u32> {
        match found.kind {
            Kind::Nameless => self.find(marked(caller, mark::UNKNOWN_METHOD)),
            _ => context_of(caller, found).map_or(Some(caller), |context| self.find(context)),
        }
    }

    fn published(&self, slot: u64) -> Option<u32> {
        self.find(Context { code: slot, parent: 0, place: place_word(frame::PUBLISHED, None) })
    }

    fn failed(&self, cause: Cause) -> Option<u32> {
        lost::count(self.arena, cause);
        self.find(marked(0, mark::FAILED + cause as u64))
    }

    fn find(&self, wanted: Context) -> Option<u32> {
        let found = self.contexts.find(self.arena, wanted);
        if found.is_none() {
            lost::count(self.arena, Cause::NoRoom);
        }
        found
    }
}

/// The context of a frame that has a name.
fn context_of(parent: u32, found: &Frame) -> Option<Context> {
    let kind = match found.kind {
        Kind::Interpreted => frame::INTERPRETED,
        Kind::C1 => frame::C1,
        Kind::C2 => frame::C2,
        Kind::Native => frame::NATIVE,
        Kind::Machine => frame::FOREIGN,
        Kind::Nameless | Kind::Depth => return None,
    };
    let place = place_word(kind, u32::try_from(found.bci).ok());
    Some(Context { code: found.code as u64, parent, place })
}

fn marked(parent: u32, mark: u64) -> Context {
    Context { code: mark, parent, place: place_word(frame::MARK, None) }
}

fn cause_of_broken(broken: Broken) -> Cause {
    match broken {
        Broken::TooDeep => Cause::Truncated,
        Broken::Fault => Cause::Fault,
        Broken::UnknownCode => Cause::UnknownCode,
        Broken::Frame => Cause::BrokenFrame,
        Broken::Interpreter => Cause::Interpreter,
        Broken::Stub => Cause::Stub,
        Broken::Deoptimising => Cause::Deoptimising,
        Broken::Machine => Cause::MachineCode,
        Broken::Continuation => Cause::Continuation,
    }
}

fn cause_of(answer: i32) -> Cause {
    match WalkFailure::of(answer) {
        Some(WalkFailure::NoClassLoad) => Cause::NoClassLoad,
        Some(WalkFailure::Gc) => Cause::Gc,
        Some(WalkFailure::UnknownNotJava) => Cause::UnknownNotJava,
        Some(WalkFailure::NotWalkableNotJava) => Cause::NotWalkableNotJava,
        Some(WalkFailure::UnknownJava) => Cause::UnknownJava,
        Some(WalkFailure::NotWalkableJava) => Cause::NotWalkableJava,
        Some(WalkFailure::ThreadExit) => Cause::ThreadExit,
        Some(WalkFailure::Deoptimising) => Cause::Deoptimising,
        Some(WalkFailure::Safepoint) => Cause::Safepoint,
        Some(WalkFailure::UnknownState) | None => Cause::UnknownState,
    }
}

const _: () = assert!(mark::FAILED as usize > layout::CAUSES.len());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_that_mostly_fails_at_first_is_given_up() {
        let after = |failed: u32| {
            let trial = Trial::default();
            (0..TRIED).for_each(|walk| trial.ended(walk < failed));
            // What comes later decides nothing.
            (0..TRIED).for_each(|_| trial.ended(true));
            trial.is_lost()
        };
        assert!(!after(0) && !after(TRIED / 2));
        assert!(after(TRIED / 2 + 1) && after(TRIED));
    }
}
