//! What the VM was started with, wherever it was said: on the command line, in a file, or in a variable of the environment.

use super::Structs;
use std::ffi::{CStr, c_char};

/// The VM's arguments, without those of the program. Empty if this VM does not tell.
pub fn vm_arguments(structs: &Structs) -> Vec<&'static CStr> {
    let array = structs.address(c"Arguments", c"_jvm_args_array");
    let (Some(array), Some(count)) = (array, structs.address(c"Arguments", c"_num_jvm_args")) else {
        return Vec::new();
    };
    // SAFETY: static variables of the types that HotSpot says: an array of strings, and how many there are. They are set
    // before agents are loaded, and never freed.
    unsafe {
        let array = array.cast::<*const *const c_char>().read();
        let count = usize::try_from(count.cast::<i32>().read()).unwrap_or(0);
        if array.is_null() {
            return Vec::new();
        }
        let texts = (0..count).map(|i| array.add(i).read());
        texts.filter(|text| !text.is_null()).map(|text| CStr::from_ptr(text)).collect()
    }
}
