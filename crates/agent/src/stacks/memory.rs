//! Memory that is laid out before a signal handler needs it.

/// Types for which zeros are a valid value.
///
/// # Safety
/// That is so, and values of it may be shared between threads.
pub unsafe trait Zeroed: Sync {}

/// Zeroed memory for the life of the process; pages appear when they are touched.
pub fn reserve<T: Zeroed>(count: usize) -> Option<&'static [T]> {
    const { assert!(align_of::<T>() <= 4096) };
    // SAFETY: a fresh private mapping at an address of the kernel's choice, which is a page's; zeros are values of `T`.
    unsafe {
        let memory = libc::mmap(
            std::ptr::null_mut(),
            count.checked_mul(size_of::<T>())?,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        );
        (memory != libc::MAP_FAILED).then(|| std::slice::from_raw_parts(memory.cast(), count))
    }
}
