//! Bad memory met during a walk ends the walk, not the target.
//!
//! A walk follows pointers of a thread that was stopped anywhere, and now and then one of them leads nowhere. Reads of
//! our own walk then find nothing ([`Memory`]); HotSpot's does not expect it. While walks may happen, SIGSEGV and SIGBUS come here first: if this thread is in a walk, it goes on behind the walk as
//! if that had returned with a failure; otherwise the signal is HotSpot's, which uses it for null checks and safepoints.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};

use quipu_unwind::Memory;

use super::memory::Zeroed;

/// A walk: what it needs and what it found are behind the pointer.
pub type Walk = unsafe extern "C" fn(*mut c_void);

/// Registers as they were before the walk.
#[repr(C)]
#[derive(Default)]
struct Saved {
    stack: u64,
    kept: [u64; 6],
    resume: u64,
}

/// A place to come back to; belongs to one thread at a time.
pub struct Recovery {
    tid: AtomicI32,
    saved: UnsafeCell<Saved>,
}

// SAFETY: `saved` is written by the thread that walks and read by its own signal handler only.
unsafe impl Sync for Recovery {}
// SAFETY: an atomic and numbers.
unsafe impl Zeroed for Recovery {}

/// How many walks are under way: while there are none, a fault need not ask who it belongs to.
static WALKS: AtomicU32 = AtomicU32::new(0);

impl Recovery {
    /// Calls the walk; `false` if it met bad memory.
    ///
    /// # Safety
    /// As the walk demands, and `self` belongs to this thread, whose id is `tid`.
    pub unsafe fn walk(&self, tid: i32, walk: Walk, argument: *mut c_void) -> bool {
        WALKS.fetch_add(1, Ordering::Relaxed);
        self.tid.store(tid, Ordering::Release);
        // SAFETY: the caller's promise; the saved registers are this thread's until it gives the buffer back.
        let status = unsafe { guarded_walk(self.saved.get(), walk, argument) };
        self.tid.store(0, Ordering::Release);
        WALKS.fetch_sub(1, Ordering::Relaxed);
        status == 0
    }

    /// If this thread is in this walk, makes it go on behind it. For the handler of faults.
    fn resume(&self, tid: i32, ucontext: *mut c_void) -> bool {
        if self.tid.load(Ordering::Acquire) != tid {
            return false;
        }
        // SAFETY: this thread is inside `guarded_walk`, so `saved` is filled in, and the kernel passed its context.
        unsafe { restore(&*self.saved.get(), ucontext.cast()) }
    }
}

/// Whether a fault of this thread was met in one of these walks, and is dealt with.
fn recovered<'r>(walks: impl Iterator<Item = &'r Recovery>, ucontext: *mut c_void) -> bool {
    if WALKS.load(Ordering::Relaxed) == 0 {
        return false;
    }
    // SAFETY: a plain query.
    let tid = unsafe { libc::gettid() };
    walks.into_iter().any(|walk| walk.resume(tid, ucontext))
}

#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn guarded_walk(saved: *mut Saved, walk: Walk, argument: *mut c_void) -> i32 {
    std::arch::naked_asm!(
        "mov [rdi], rsp",
        "mov [rdi + 8], rbx",
        "mov [rdi + 16], rbp",
        "mov [rdi + 24], r12",
        "mov [rdi + 32], r13",
        "mov [rdi + 40], r14",
        "mov [rdi + 48], r15",
        "lea rax, [rip + 2f]",
        "mov [rdi + 56], rax",
        "sub rsp, 8",
        "mov rax, rsi",
        "mov rdi, rdx",
        "call rax",
        "add rsp, 8",
        "xor eax, eax",
        "ret",
        "2:",
        "mov eax, 1",
        "ret",
    )
}

#[cfg(target_arch = "x86_64")]
unsafe fn restore(saved: &Saved, ucontext: *mut libc::ucontext_t) -> bool {
    let [rbx, rbp, r12, r13, r14, r15] = saved.kept;
    let values = [
        (libc::REG_RSP, saved.stack),
        (libc::REG_RBX, rbx),
        (libc::REG_RBP, rbp),
        (libc::REG_R12, r12),
        (libc::REG_R13, r13),
        (libc::REG_R14, r14),
        (libc::REG_R15, r15),
        (libc::REG_RIP, saved.resume),
    ];
    // SAFETY: the kernel's context of this thread, which it takes back when the handler returns.
    let registers = unsafe { &mut (*ucontext).uc_mcontext.gregs };
    for (register, value) in values {
        let Some(slot) = registers.get_mut(register as usize) else { return false };
        *slot = value.cast_signed();
    }
    true
}

/// Other machines walk without a net.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn guarded_walk(_: *mut Saved, walk: Walk, argument: *mut c_void) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { walk(argument) };
    0
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn restore(_: &Saved, _: *mut libc::ucontext_t) -> bool {
    false
}

/// What handled a signal before us.
struct Before {
    signal: i32,
    action: UnsafeCell<std::mem::MaybeUninit<libc::sigaction>>,
}

// SAFETY: written once, before our handler is in place, and only read from then on.
unsafe impl Sync for Before {}

impl Before {
    const fn of(signal: i32) -> Before {
        Before { signal, action: UnsafeCell::new(std::mem::MaybeUninit::zeroed()) }
    }

    fn action(&self) -> libc::sigaction {
        // SAFETY: plain data, zero or what the kernel wrote.
        unsafe { (*self.action.get()).assume_init() }
    }
}

static BEFORE: [Before; 2] = [Before::of(libc::SIGSEGV), Before::of(libc::SIGBUS)];

/// Where walks are, for the handler: those of every walker there was, since a start that came to nothing is followed by
/// another.
struct Walkers {
    walks: &'static [Recovery],
    next: *const Walkers,
}

static WALKERS: AtomicPtr<Walkers> = AtomicPtr::new(std::ptr::null_mut());
static INSTALLED: Once = Once::new();

/// All walks that may be under way.
fn walks() -> impl Iterator<Item = &'static Recovery> {
    let mut at: *const Walkers = WALKERS.load(Ordering::Acquire);
    // SAFETY: what was put into the list is never freed, and not changed after it was put there.
    let lists = std::iter::from_fn(move || unsafe { at.as_ref() }.inspect(|walkers| at = walkers.next));
    lists.flat_map(|walkers| walkers.walks)
}

/// Puts the handler in front of HotSpot's, and so makes memory safe to look at. It stays there: somebody else may have
/// come in front of ours meanwhile, and a handler between two others cannot be taken out.
pub fn install(walks: &'static [Recovery]) -> Memory {
    let new = Box::into_raw(Box::new(Walkers { walks, next: std::ptr::null() }));
    let push = |next: *mut Walkers| {
        // SAFETY: nobody else knows of it until it is in the list.
        unsafe { (*new).next = next };
        Some(new)
    };
    let _ = WALKERS.fetch_update(Ordering::AcqRel, Ordering::Acquire, push);
    INSTALLED.call_once(put_handler);
    // SAFETY: from now on the handler recovers.
    unsafe { Memory::guarded() }
}

fn put_handler() {
    for before in &BEFORE {
        // SAFETY: the first query fills in what was there, before our handler, which reads it, is put in place with the
        // same mask and flags.
        unsafe {
            libc::sigaction(before.signal, std::ptr::null(), before.action.get().cast());
            let mut action = before.action();
            action.sa_sigaction = handler as extern "C" fn(_, _, _) as usize;
            action.sa_flags |= libc::SA_SIGINFO;
            libc::sigaction(before.signal, &action, std::ptr::null_mut());
        }
    }
}

extern "C" fn handler(signal: i32, info: *mut libc::siginfo_t, ucontext: *mut c_void) {
    // SAFETY: the kernel passed it.
    if unsafe { Memory::recover(ucontext) } {
        return;
    }
    if recovered(walks(), ucontext) {
        return;
    }
    let Some(before) = BEFORE.iter().find(|before| before.signal == signal) else { return };
    let action = before.action();
    match action.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: the default action, which the kernel takes when the instruction faults again.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        function if action.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: it was installed as such a handler.
            let function: extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void) =
                unsafe { std::mem::transmute(function) };
            function(signal, info, ucontext);
        }
        function => {
            // SAFETY: it was installed as such a handler.
            let function: extern "C" fn(i32) = unsafe { std::mem::transmute(function) };
            function(signal);
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    extern "C" fn falls(address: *mut c_void) {
        // SAFETY: none; that is the point.
        unsafe { address.cast::<u8>().write_volatile(1) };
    }

    extern "C" fn stands(_: *mut c_void) {}

    #[test]
    fn a_walk_that_falls_comes_back_whoever_made_the_walker() {
        let walker = || -> &'static [Recovery] {
            Box::leak(Box::new([Recovery { tid: AtomicI32::new(0), saved: UnsafeCell::default() }]))
        };
        // The first is of a start that came to nothing.
        let walkers = [walker(), walker(), walker()];
        let nowhere: *mut c_void = std::ptr::without_provenance_mut(8);
        for walks in walkers {
            assert_eq!(install(walks).word(8), None);
        }
        for walk in walkers.into_iter().flatten().chain(walkers.into_iter().flatten()) {
            // SAFETY: these walks touch nothing but address 8, and the buffer is ours.
            unsafe {
                let tid = libc::gettid();
                assert!(!walk.walk(tid, falls, nowhere));
                assert!(walk.walk(tid, stands, nowhere));
            }
        }
        assert_eq!(WALKS.load(Ordering::Relaxed), 0);
    }
}
