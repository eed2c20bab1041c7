//! What the system says about a process: CPU time, peak memory, threads. Read while the target waits.

use std::fs;

use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

/// A process's counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// CPU time of all its threads, those that ended included, in nanoseconds.
    pub cpu: u64,
    /// CPU time of the JIT compiler's threads, in nanoseconds.
    pub jit: u64,
    /// CPU time of the collector's threads, in nanoseconds.
    pub gc: u64,
    /// Peak resident memory so far, in bytes; shared memory counts.
    pub peak: u64,
}

impl Counters {
    /// Of a running process; zeros once it is gone.
    pub fn of(pid: i32) -> Counters {
        let (jit, gc) = threads(pid);
        Counters { cpu: cpu(pid).unwrap_or(0), jit, gc, peak: peak(pid).unwrap_or(0) }
    }
}

/// Resident bytes of the profile's own mappings: those of files whose name ends in `.arena`.
pub fn arena(pid: i32) -> u64 {
    arena_in(&fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap_or_default())
}

fn arena_in(smaps: &str) -> u64 {
    let (mut inside, mut kilobytes) = (false, 0);
    for line in smaps.lines() {
        match line.split_once(':') {
            Some(("Rss", size)) if inside => {
                kilobytes +=
                    size.trim().strip_suffix("kB").and_then(|n| n.trim().parse().ok()).unwrap_or(0u64);
            }
            // The first line of a mapping begins with its addresses; those that follow with a word.
            Some((word, _))
                if word.chars().all(char::is_alphanumeric) && word.starts_with(char::is_uppercase) => {}
            _ => inside = line.trim_end_matches(" (deleted)").ends_with(".arena"),
        }
    }
    kilobytes * 1024
}

fn cpu(pid: i32) -> Option<u64> {
    // The clock of a process that has no number is one's own.
    let pid = Some(pid).filter(|pid| *pid > 0)?;
    let time = clock_gettime(clock_getcpuclockid(Pid::from_raw(pid)).ok()?).ok()?;
    Some(u64::try_from(time.tv_sec()).ok()? * 1_000_000_000 + u64::try_from(time.tv_nsec()).ok()?)
}

fn peak(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// CPU time of compiler and collector threads, by the names HotSpot gives them.
fn threads(pid: i32) -> (u64, u64) {
    let (mut jit, mut gc) = (0, 0);
    for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let read = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
        let name = read("comm");
        let sum = if name.starts_with("C1 Comp") || name.starts_with("C2 Comp") {
            &mut jit
        } else if name.starts_with("GC Thread") || name.starts_with("G1 ") {
            &mut gc
        } else {
            continue;
        };
        let time = read("schedstat");
        *sum += time.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(0u64);
    }
    (jit, gc)
}

#[cfg(test)]
mod tests {
    use super::{Counters, arena_in};

    #[test]
    fn resident_memory_of_the_arena_is_found_among_the_mappings() {
        let smaps = "7f00-7f10 rw-s 00000000 fe:00 12 /tmp/quipu-0/run-1/7-00ff.arena\nSize: 64 kB\nRss: 40 kB\n\
                     7f10-7f20 rw-p 00000000 00:00 0 \nSize: 64 kB\nRss: 64 kB\n\
                     7f20-7f30 rw-s 00000000 fe:00 12 /tmp/quipu-0/run-1/7-00ff.arena (deleted)\nRss: 2 kB\n";
        assert_eq!(arena_in(smaps), 42 * 1024);
    }

    #[test]
    fn own_counters_grow() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let before = Counters::of(pid);
        let mut x = 1u64;
        while Counters::of(pid).cpu < before.cpu + 20_000_000 {
            x = std::hint::black_box(x.wrapping_mul(31));
        }
        assert!(before.cpu > 0 && before.peak > 0);
        assert_eq!(Counters::of(-1), Counters::default());
    }
}
