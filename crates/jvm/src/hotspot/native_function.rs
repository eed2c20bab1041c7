//! The function behind a native method.

use std::ffi::CStr;

use super::Structs;
use crate::MethodId;

/// The address of the function that a native method of the VM's own is bound to; `None` where it cannot be found: ids of
/// methods are no addresses from JDK 26 on.
///
/// The id must be of a method whose class is loaded, and stays so.
pub fn native_function(structs: &Structs, method: MethodId) -> Option<usize> {
    if structs.feature()? >= 26 {
        return None;
    }
    // It lies behind the method, in all versions since JDK 7.
    let size = structs.size(c"Method")?;
    let place = method.raw() as *const usize;
    if place.is_null() || !place.is_aligned() {
        return None;
    }
    // SAFETY: the id of a method is the address of a place that holds the method's, and its class is loaded; behind a native
    // method there is the address of its function.
    let function = unsafe {
        let method = place.read();
        let function = (method.checked_add(size)?) as *const usize;
        if method == 0 || !function.is_aligned() {
            return None;
        }
        function.read()
    };
    is_vms(function).then_some(function)
}

/// Whether an address is in the VM's library.
fn is_vms(address: usize) -> bool {
    // SAFETY: plain data; zeros are valid.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the address is only compared with what is mapped; the answer is one structure of ours.
    let known = unsafe { libc::dladdr(address as *const libc::c_void, &mut info) } != 0;
    if !known || info.dli_fname.is_null() {
        return false;
    }
    // SAFETY: the linker's own text.
    let file = unsafe { CStr::from_ptr(info.dli_fname) };
    file.to_bytes().ends_with(b"libjvm.so")
}
