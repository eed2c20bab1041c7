//! From a `java.lang.Thread` to the thread of the machine it runs on: through HotSpot's own structures. Where they are not
//! described, the environment is all that is known of a thread, and somebody else has to know which thread has it.

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
    /// Where the VM has the kernel's ids, if it says.
    ids: Option<Ids>,
    allocation: Option<Allocation>,
}

/// From the VM's thread to the machine's, and to the id in there.
#[derive(Clone, Copy)]
struct Ids {
    os_thread: usize,
    thread_id: usize,
}

impl Ids {
    fn of(structs: &Structs) -> Option<Ids> {
        // Which class of threads has the field is told differently by different versions.
        let os_thread = [c"Thread", c"JavaThread"].iter().find_map(|of| structs.offset(of, c"_osthread"))?;
        Some(Ids { os_thread, thread_id: structs.offset(c"OSThread", c"_thread_id")? })
    }
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
    /// Learns where things are; `None` if this VM's threads are not as HotSpot's.
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
        // The environment is a part of the VM's thread.
        const LONGEST: usize = 1 << 16;
        let inside = (env.raw() as usize).checked_sub(this).filter(|&env| this != 0 && env < LONGEST);
        let (ids, allocation) = (Ids::of(structs), Allocation::of(structs));
        Ok(inside.map(|env| VmThreads { native_thread, env, ids, allocation }))
    }

    /// Whether the VM says which threads of the machine its threads are.
    pub fn has_ids(&self) -> bool {
        self.ids.is_some()
    }

    /// How far a thread's environment is from the VM's thread.
    pub fn env(&self) -> usize {
        self.env
    }

    /// Bytes that the thread with this environment has allocated in the heap so far, if the VM says.
    pub fn allocated(&self, env: *mut JNIEnv) -> Option<u64> {
        let thread = (env as usize).checked_sub(self.env)?;
        let allocation = self.allocation?;
        let fields = [allocation.before, allocation.buffer_start, allocation.buffer_top];
        let [before, start, top] = copy_words(fields.map(|field| thread + field))?;
        // The buffer may be changed for another meanwhile, which makes nonsense of the difference.
        let in_buffer = top.checked_sub(start).filter(|&bytes| bytes < 1 << 32).unwrap_or(0);
        Some(before + in_buffer)
    }

    /// The machine's thread of a Java thread; `None` if it has ended, or not begun. Where the VM does not say, `known` tells the
    /// id of the thread that has an environment.
    pub fn native(
        &self,
        env: &Env<'_>,
        thread: Thread<'_>,
        known: impl FnOnce(*mut JNIEnv) -> Option<i32>,
    ) -> Option<Native> {
        // SAFETY: every thread has that field.
        let vm_thread = unsafe { env.long_field(thread, self.native_thread) } as usize;
        if vm_thread == 0 {
            return None;
        }
        let env = std::ptr::with_exposed_provenance_mut(vm_thread + self.env);
        let tid = match self.ids {
            // The thread may be ending, and what we look at be freed: the kernel copies, and refuses what is not there.
            Some(ids) => {
                let os_thread = usize::from_ne_bytes(copy(vm_thread + ids.os_thread)?);
                i32::from_ne_bytes(copy(os_thread + ids.thread_id)?)
            }
            None => known(env)?,
        };
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

/// Words of this process, if there is memory at all of these addresses. One call of the kernel's for all.
fn copy_words<const N: usize>(addresses: [usize; N]) -> Option<[u64; N]> {
    let mut words = [0_u64; N];
    let local = libc::iovec { iov_base: words.as_mut_ptr().cast::<c_void>(), iov_len: size_of_val(&words) };
    let remote = addresses.map(|address| libc::iovec {
        iov_base: std::ptr::with_exposed_provenance_mut(address),
        iov_len: size_of::<u64>(),
    });
    // SAFETY: the kernel writes at most `N` words to `words`, and fails for an address that is not mapped.
    let copied =
        unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, remote.as_ptr(), N as libc::c_ulong, 0) };
    (usize::try_from(copied).ok() == Some(size_of_val(&words))).then_some(words)
}
