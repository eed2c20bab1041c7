//! Names of the kernel's functions, from its own list.
//!
//! `/proc/kallsyms` is made while it is read, which takes longer than everything else that is done for a profile. What it
//! says of the kernel itself holds until the machine is started again, so it is kept beside the arenas, in a directory that
//! is the user's own; what it says of modules does not, and is read anew if need be.

use std::fs;
use std::path::{Path, PathBuf};

use quipu_arena::place;

/// Addresses from here on are the kernel's.
pub const FIRST: u64 = 0xffff_8000_0000_0000;

/// Names of what is kept begin with this and end with the id of the machine's start.
const KEPT: &str = "kernel-functions-";

/// The functions of the kernel that runs.
#[derive(Default)]
pub struct Kernel {
    /// Whether it is the one that is asked for.
    runs: bool,
    /// The functions of the kernel itself.
    own: Option<Lines>,
    /// Those and the ones of modules.
    all: Option<Lines>,
}

impl Kernel {
    /// The kernel that ran at a moment, in nanoseconds since 1970, if it is the same still: its functions are elsewhere
    /// each time it is started.
    pub fn at(moment: u64) -> Kernel {
        Kernel { runs: started().is_some_and(|then| then <= moment), ..Kernel::default() }
    }

    /// The function at an address; `None` if the kernel does not tell.
    pub fn find(&mut self, address: u64) -> Option<String> {
        if !self.runs {
            return None;
        }
        let own = self.own.get_or_insert_with(|| match kept() {
            Some(path) => Lines::kept(&path, &mut self.all),
            None => read_list(&mut self.all),
        });
        if own.last().is_some_and(|last| address <= last) {
            return own.find(address);
        }
        if self.all.is_none() {
            read_list(&mut self.all);
        }
        self.all.as_ref()?.find(address)
    }
}

/// Where functions of this kernel are kept.
fn kept() -> Option<PathBuf> {
    let start = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(place::directory().ok()?.join(format!("{KEPT}{}", start.trim())))
}

/// Lines of an address, a space and a name, by address.
#[derive(Default)]
struct Lines(Vec<u8>);

impl Lines {
    /// Those in a file; or the kernel's own, and then they are in the file, too.
    fn kept(path: &Path, all: &mut Option<Lines>) -> Lines {
        if let Ok(bytes) = fs::read(path) {
            return Lines(bytes);
        }
        let own = read_list(all);
        if !own.0.is_empty() {
            // If it cannot be kept, it is read again another time.
            let _ = own.keep(path);
        }
        own
    }

    /// Puts them into a file, in place of those of kernels that run no more.
    fn keep(&self, path: &Path) -> std::io::Result<()> {
        let directory = path.parent().unwrap_or(Path::new("."));
        for entry in fs::read_dir(directory)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(KEPT) {
                fs::remove_file(entry.path())?;
            }
        }
        let new = directory.join(format!(".{KEPT}{}", std::process::id()));
        fs::write(&new, &self.0)?;
        fs::rename(new, path)
    }

    fn of<'l>(functions: impl Iterator<Item = (u64, &'l str)>) -> Lines {
        let mut functions: Vec<(u64, &str)> = functions.collect();
        functions.sort_by_key(|(start, _)| *start);
        functions.dedup_by_key(|(start, _)| *start);
        let lines =
            functions.into_iter().flat_map(|(start, name)| format!("{start:016x} {name}\n").into_bytes());
        Lines(lines.collect())
    }

    /// The line that a byte is in: its end, and what it says.
    fn line(&self, byte: usize) -> Option<(std::ops::Range<usize>, u64, &str)> {
        let newline = |&byte: &u8| byte == b'\n';
        let begin = self.0.get(..byte)?.iter().rposition(newline).map_or(0, |before| before + 1);
        let end = byte + self.0.get(byte..)?.iter().position(newline)?;
        let (start, name) = std::str::from_utf8(self.0.get(begin..end)?).ok()?.split_once(' ')?;
        Some((begin..end + 1, u64::from_str_radix(start, 16).ok()?, name))
    }

    /// Where the last function begins.
    fn last(&self) -> Option<u64> {
        self.line(self.0.len().checked_sub(1)?).map(|(_, start, _)| start)
    }

    fn find(&self, address: u64) -> Option<String> {
        let (mut low, mut high) = (0, self.0.len());
        let mut found = None;
        while low < high {
            let (line, start, name) = self.line(low + (high - low) / 2)?;
            if start <= address {
                (low, found) = (line.end, Some(name));
            } else {
                high = line.start;
            }
        }
        found.map(str::to_owned)
    }
}

/// What the kernel tells of itself, and of all.
fn read_list(all: &mut Option<Lines>) -> Lines {
    let list = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    *all = Some(Lines::of(functions(&list).map(|(start, name, _)| (start, name))));
    Lines::of(functions(&list).filter(|(.., module)| !module).map(|(start, name, _)| (start, name)))
}

/// Functions of a list, and whether they are a module's. Without permission all addresses are 0.
fn functions(list: &str) -> impl Iterator<Item = (u64, &str, bool)> {
    list.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let start = u64::from_str_radix(words.next()?, 16).ok().filter(|&start| start >= FIRST)?;
        let is_function = matches!(words.next()?, "t" | "T" | "w" | "W");
        let name = words.next()?;
        is_function.then(|| (start, name, words.next().is_some()))
    })
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

    const LIST: &str = "0000000000000000 A per_cpu\nffffffff81000000 T first\nffffffff81000000 T alias\n\
        ffffffff81000010 t second\nffffffff81000018 d data\nffffffff82000000 T last\nffffffffc0000000 t loaded\t[module]\n";

    fn lines(list: &str, modules: bool) -> Lines {
        let wanted = functions(list).filter(|(.., module)| modules || !module);
        Lines::of(wanted.map(|(start, name, _)| (start, name)))
    }

    #[test]
    fn functions_are_found_and_what_is_none_is_not() {
        let lines = lines(LIST, true);
        let name = |address| lines.find(address);
        assert_eq!(name(0xffff_ffff_8100_001f).as_deref(), Some("second"));
        assert_eq!(name(0xffff_ffff_8100_0010).as_deref(), Some("second"));
        assert_eq!(name(0xffff_ffff_8100_0008).as_deref(), Some("first"));
        assert_eq!(name(0xffff_ffff_8200_0000).as_deref(), Some("last"));
        assert_eq!(name(0xffff_ffff_c000_0004).as_deref(), Some("loaded"));
        assert_eq!(name(0xffff_ffff_8000_0000), None);
    }

    #[test]
    fn modules_are_not_the_kernels_own() {
        assert_eq!(lines(LIST, false).last(), Some(0xffff_ffff_8200_0000));
        assert_eq!(lines(LIST, true).last(), Some(0xffff_ffff_c000_0000));
    }

    #[test]
    fn what_was_kept_is_found_again_and_takes_the_place_of_what_is_old() {
        let directory = tempfile::tempdir().expect("a directory");
        let old = directory.path().join(format!("{KEPT}old"));
        fs::write(&old, "nonsense").expect("written");
        let path = directory.path().join(format!("{KEPT}new"));
        lines(LIST, false).keep(&path).expect("kept");
        let again = Lines::kept(&path, &mut None);
        assert_eq!(again.find(0xffff_ffff_8100_0011).as_deref(), Some("second"));
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 1);
        // Whatever is in the file, nothing but names comes out of it.
        for damaged in
            [&b""[..], b"\n", b"\n\n\n", b"zz first\n", b"ffffffff81000000 first", b"\xff\xff \xff\n"]
        {
            assert_eq!(Lines(damaged.to_vec()).find(u64::MAX), None);
            assert_eq!(Lines(damaged.to_vec()).last(), None);
        }
    }

    #[test]
    fn what_nobody_may_know_and_another_kernel_have_no_names() {
        let hidden = lines("0000000000000000 T first\n0000000000000000 T second\n", true);
        assert_eq!((hidden.find(u64::MAX), hidden.last()), (None, None));
        assert_eq!(Kernel::at(started().expect("a time") - 1).find(u64::MAX), None, "before it was started");
    }
}
