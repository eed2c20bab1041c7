//! Archives of classes that a VM is told to use. They have `java.lang.Thread` in them as it is: a VM that must use one does
//! not start if an agent wants to see classes early enough to give it fields.

use std::ffi::CStr;

use quipu_jvm::Jvm;
use quipu_jvm::hotspot::{Library, Structs, vm_arguments};

/// What the VM was told that does not go with fields in `Thread`, as a person would write it.
pub fn required(vm: Jvm) -> Option<&'static str> {
    let structs = Structs::of(Library::of(vm)?)?;
    in_arguments(&vm_arguments(&structs))
}

fn in_arguments(arguments: &[&CStr]) -> Option<&'static str> {
    let starting = |with: &[u8]| {
        let arguments = arguments.iter().map(|argument| argument.to_bytes());
        arguments.filter_map(|argument| argument.strip_prefix(with)).next_back().map(<[u8]>::to_vec)
    };
    // Of several, the last is the one that counts.
    if starting(b"-XX:AOTCache=").is_some() && starting(b"-XX:AOTMode=").is_none_or(|mode| mode != b"off") {
        return Some("-XX:AOTCache");
    }
    (starting(b"-Xshare:")? == b"on").then_some("-Xshare:on")
}

#[cfg(test)]
mod tests {
    use super::in_arguments;

    #[test]
    fn the_last_word_counts() {
        assert_eq!(in_arguments(&[c"-Xmx1g", c"-Xshare:on"]), Some("-Xshare:on"));
        assert_eq!(in_arguments(&[c"-Xshare:on", c"-Xshare:off"]), None);
        assert_eq!(in_arguments(&[c"-Xshare:auto", c"-XX:AOTCache=x.aot"]), Some("-XX:AOTCache"));
        assert_eq!(in_arguments(&[c"-XX:AOTCache=x.aot", c"-XX:AOTMode=off"]), None);
        assert_eq!(in_arguments(&[c"-XX:AOTCacheOutput=x.aot"]), None);
        assert_eq!(in_arguments(&[]), None);
    }
}
