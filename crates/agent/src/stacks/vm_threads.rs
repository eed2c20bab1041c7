//! From a `java.lang.Thread` to the thread of the machine it runs on: through HotSpot's own structures, which is the only
//! way to learn it of a thread that was there before us.

use std::ffi::c_void;

use quipu_jvm::hotspot::Structs;
use quipu_jvm::sys::JNIEnv;
use quipu_jvm::{Env, Error, FieldId, Jvmti, Thread};

/// Where things are in HotSpot's threads.
pub struct VmThreads {
    /// `Thread.eetop`: the VM's thread.
    native_thread: FieldId,
    /// From the VM's thread to its `JNIEnv`.
    env: usize,
    /// From the VM's thread to the machine's, and to the id in there.
    os_thread: usize,
    thread_id: usize,
    allocation: Option<Allocation>,
}

/// Where the VM's thread has what it has allocated: bytes in buffers that are full, and the one that is in use.
#[derive(Clone, Copy)]
struct Allocation {
    before: usize,
    buffer_start: usize,
    buffer_top: usize,
}

impl Allocation {
    fn of(structs: &Structs) -> Option<Allocation> {
        let buffer = structs.offset(c"Thread", c"_tlab")?;
        Some(Allocation {
            before: structs.offset(c"Thread", c"_allocated_bytes")?,
            buffer_start: buffer + structs.offset(c"ThreadLocalAllocBuffer", c"_start")?,
            buffer_top: buffer + structs.offset(c"ThreadLocalAllocBuffer", c"_top")?,
        })
    }
}

/// A thread of the machine that runs Java.
pub struct Native {
    /// The kernel's id.
    pub tid: i32,
    /// Its environment.
    pub env: *mut JNIEnv,
}

impl VmThreads {
    /// Learns where things are; `None` if this VM does not say.
    pub fn new(structs: &Structs, env: &Env<'_>, jvmti: Jvmti) -> Result<Option<VmThreads>, Error> {
        let current = jvmti.current_thread(env)?;
        let mut class = env.class_of(current)?;
        // The class of the thread itself may be anything; the field is java.lang.Thread's.
        while let Some(above) = env.superclass(class)
            && env.superclass(above).is_some()
        {
            class = above;
        }
        let native_thread = env.field(class, c"eetop", c"J")?;
        // SAFETY: every thread has that field.
        let this = unsafe { env.long_field(current, native_thread) } as usize;
        // Which class of threads has the field is told differently by different versions.
        let os_thread = [c"Thread", c"JavaThread"].iter().find_map(|of| structs.offset(of, c"_osthread"));
        let thread_id = structs.offset(c"OSThread", c"_thread_id");
        let (Some(os_thread), Some(thread_id), Some(env)) =
            (os_thread, thread_id, (env.raw() as usize).checked_sub(this))
        else {
            return Ok(None);
        };
        Ok(Some(VmThreads { native_thread, env, os_thread, thread_id, allocation: Allocation::of(structs) }))
    }

    /// How far a thread's environment is from the VM's thread.
    pub fn env(&self) -> usize {
        self.env
    }

    /// Bytes that the thread with this environment has allocated in the heap so far, if the VM says.
    pub fn allocated(&self, env: *mut JNIEnv) -> Option<u64> {
        let thread = (env as usize).checked_sub(self.env)?;
        let allocation = self.allocation?;
        let word = |field: usize| copy(thread + field).map(u64::from_ne_bytes);
        // The buffer may be changed for another meanwhile, which makes nonsense of the difference.
        let in_buffer = word(allocation.buffer_top)?.checked_sub(word(allocation.buffer_start)?);
        let in_buffer = in_buffer.filter(|&bytes| bytes < 1 << 32).unwrap_or(0);
        Some(word(allocation.before)? + in_buffer)
    }

    /// The machine's thread of a Java thread; `None` if it has ended, or not begun.
    pub fn native(&self, env: &Env<'_>, thread: Thread<'_>) -> Option<Native> {
        // SAFETY: every thread has that field.
        let vm_thread = unsafe { env.long_field(thread, self.native_thread) } as usize;
        if vm_thread == 0 {
            return None;
        }
        // The thread may be ending, and what we look at be freed: the kernel copies, and refuses what is not there.
        let os_thread = usize::from_ne_bytes(copy(vm_thread + self.os_thread)?);
        let tid = i32::from_ne_bytes(copy(os_thread + self.thread_id)?);
        let env = std::ptr::with_exposed_provenance_mut(vm_thread + self.env);
        (tid > 0).then_some(Native { tid, env })
    }
}

/// Bytes of this process, if there is memory at this address.
fn copy<const N: usize>(address: usize) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast::<c_void>(), iov_len: N };
    let remote = libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(address), iov_len: N };
    // SAFETY: the kernel writes at most `N` bytes to `bytes`, and fails for an address that is not mapped.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    (usize::try_from(copied).ok() == Some(N)).then_some(bytes)
}
