//! Names of the kernel's functions, from its own list.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};

/// Addresses from here on are the kernel's.
pub const FIRST: u64 = 0xffff_8000_0000_0000;

/// The functions of the kernel that runs. The list is long and is made while it is read, which takes longer than all else;
/// so it is read as far as need be. The kernel's own functions come first, by address; those of modules follow.
#[derive(Default)]
pub struct Kernel {
    rest: Option<Box<dyn BufRead>>,
    functions: Vec<(u64, String)>,
}

impl Kernel {
    /// The kernel that ran at a moment, in nanoseconds since 1970, if it is the same still: its functions are elsewhere
    /// each time it is started.
    pub fn at(moment: u64) -> Kernel {
        let list = File::open("/proc/kallsyms").ok().filter(|_| started().is_some_and(|then| then <= moment));
        Kernel { rest: list.map(|list| Box::new(BufReader::new(list)) as _), functions: Vec::new() }
    }

    /// The function at an address; `None` if nobody may know.
    pub fn find(&mut self, address: u64) -> Option<String> {
        self.read_beyond(address);
        let behind = self.functions.partition_point(|(start, _)| *start <= address);
        let start = self.functions.get(behind.checked_sub(1)?)?.0;
        let first = self.functions.partition_point(|(other, _)| *other < start);
        self.functions.get(first).map(|(_, name)| name.clone())
    }

    fn read_beyond(&mut self, address: u64) {
        let mut line = String::new();
        while let Some(rest) = &mut self.rest
            && self.functions.last().is_none_or(|(last, _)| *last <= address)
        {
            line.clear();
            if !matches!(rest.read_line(&mut line), Ok(1..)) {
                self.rest = None;
                self.functions.sort_by_key(|(start, _)| *start);
                return;
            }
            let mut words = line.split_ascii_whitespace();
            let (Some(start), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            // Without permission all addresses are 0.
            if let Ok(start @ FIRST..) = u64::from_str_radix(start, 16)
                && matches!(kind, "t" | "T" | "w" | "W")
            {
                self.functions.push((start, name.to_owned()));
            }
        }
    }
}

/// When the kernel was started, in nanoseconds since 1970.
fn started() -> Option<u64> {
    let facts = fs::read_to_string("/proc/stat").ok()?;
    let seconds: u64 = facts.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    seconds.checked_mul(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &[u8] = b"0000000000000000 A per_cpu\nffffffff81000000 T first\nffffffff81000000 T alias\n\
        ffffffff81000010 t second\nffffffff81000018 d data\nffffffff82000000 T last\nffffffffc0000000 t loaded\t[module]\n";

    fn kernel(list: &'static [u8]) -> Kernel {
        Kernel { rest: Some(Box::new(list)), functions: Vec::new() }
    }

    #[test]
    fn functions_are_found_in_any_order() {
        let mut kernel = kernel(LIST);
        let mut name = |address| kernel.find(address);
        assert_eq!(name(0xffff_ffff_8100_001f).as_deref(), Some("second"));
        assert_eq!(name(0xffff_ffff_c000_0004).as_deref(), Some("loaded"));
        assert_eq!(name(0xffff_ffff_8100_0008).as_deref(), Some("first"));
        assert_eq!(name(0xffff_ffff_8000_0000), None);
    }

    #[test]
    fn no_more_is_read_than_it_takes() {
        let mut kernel = kernel(LIST);
        assert_eq!(kernel.find(0xffff_ffff_8100_0001).as_deref(), Some("first"));
        assert!(kernel.functions.iter().all(|(_, name)| name != "last"));
    }

    #[test]
    fn what_nobody_may_know_and_another_kernel_have_no_names() {
        let hidden = b"0000000000000000 T first\n0000000000000000 T second\n";
        assert_eq!(kernel(hidden).find(FIRST), None);
        assert_eq!(Kernel::at(started().expect("a time") - 1).find(u64::MAX), None, "before it was started");
    }
}
