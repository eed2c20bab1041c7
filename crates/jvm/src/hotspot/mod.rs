//! What HotSpot exports beyond JNI and JVMTI: the stack walk for signal handlers, the tables that describe its own
//! structures, and a walk of our own that goes by those. No other VM has these, and a HotSpot may lack one; each is looked up by name and may be absent.

mod arguments;
mod call_trace;
mod compressed;
mod counters;
mod flags;
mod heap_use;
mod identity_hash;
mod methods;
mod stack;
mod structs;
mod thread_object;

pub use arguments::vm_arguments;
pub use call_trace::{AsyncGetCallTrace, CallFrame, CallTrace, WalkFailure};
pub use counters::Counter;
pub use flags::{SwitchFlag, TextFlag};
pub use heap_use::HeapUse;
pub use identity_hash::IdentityHashes;
pub use methods::{MethodNames, Named};
pub use stack::{Broken, Frame, Kind, Reach, StackWalker, Unwalkable, Walked};
pub use structs::Structs;
pub use thread_object::ThreadObjects;

use crate::Jvm;
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

/// The VM's own library.
#[derive(Debug, Clone, Copy)]
pub struct Library(NonNull<c_void>);

// SAFETY: a handle of the dynamic linker, which may be used from every thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// The library that the VM's functions lie in. It may have been loaded for itself alone, so a search by name through
    /// everything that is loaded need not find it.
    pub fn of(vm: Jvm) -> Option<Library> {
        let mut info = libc::Dl_info {
            dli_fname: std::ptr::null(),
            dli_fbase: std::ptr::null_mut(),
            dli_sname: std::ptr::null(),
            dli_saddr: std::ptr::null_mut(),
        };
        // SAFETY: the VM's table is valid; the linker fills in `info`, whose name lives as long as the library, and
        // RTLD_NOLOAD only finds what is there.
        unsafe {
            let function = (**vm.raw()).v1_2.GetEnv as *const c_void;
            if libc::dladdr(function, &mut info) == 0 || info.dli_fname.is_null() {
                return None;
            }
            NonNull::new(libc::dlopen(info.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD)).map(Library)
        }
    }

    /// Address of a function or variable.
    pub fn symbol(self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: a valid handle and a C string.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }

    /// The walk of the current thread's stack that may be called in a signal handler.
    pub fn async_get_call_trace(self) -> Option<AsyncGetCallTrace> {
        let function = self.symbol(c"AsyncGetCallTrace")?;
        // SAFETY: this is the signature HotSpot has had for that name since JDK 1.5.
        Some(unsafe { std::mem::transmute::<*mut c_void, AsyncGetCallTrace>(function.as_ptr()) })
    }
}
