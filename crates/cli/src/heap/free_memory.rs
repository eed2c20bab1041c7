//! How much memory there is for an analysis: what the machine has, and what the container may use.

use std::path::{Path, PathBuf};

/// Bytes that can be used; `None` if nobody says.
pub fn free_memory() -> Option<u64> {
    free_below(Path::new("/"))
}

/// The same of a system whose files are below a directory.
fn free_below(root: &Path) -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
    let machine =
        field(&read("proc/meminfo"), "MemAvailable:").map(|kilobytes| kilobytes.saturating_mul(1024));
    let groups = groups(&read("proc/self/cgroup"));
    let containers = groups.iter().filter_map(|group| left_in(&root.join(group)));
    machine.into_iter().chain(containers).min()
}

/// A number behind a word at the start of a line.
fn field(text: &str, word: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(word))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The directories of the control groups that the process is in: its own and all above, each of which can have a limit. In a
/// container its own one may be what it sees as the outermost.
fn groups(cgroup: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in cgroup.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let top = match controllers {
            "" => "sys/fs/cgroup",
            controllers if controllers.split(',').any(|name| name == "memory") => "sys/fs/cgroup/memory",
            _ => continue,
        };
        let below = Path::new(path.trim_start_matches('/'));
        found.extend(below.ancestors().map(|part| Path::new(top).join(part)));
    }
    found
}

/// What a group may still use, if it has a limit. What files have in memory can be taken back.
fn left_in(group: &Path) -> Option<u64> {
    let read = |name: &str| std::fs::read_to_string(group.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    let (limit, used) = match number("memory.max") {
        Some(limit) => (limit, number("memory.current")),
        None => (number("memory.limit_in_bytes")?, number("memory.usage_in_bytes")),
    };
    let stat = read("memory.stat").unwrap_or_default();
    let files = field(&stat, "total_inactive_file ").or_else(|| field(&stat, "inactive_file ")).unwrap_or(0);
    Some(limit.saturating_sub(used.unwrap_or(0).saturating_sub(files)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        free_below(root.path())
    }

    #[test]
    fn the_least_limit_counts() {
        let machine = ("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:    1000 kB\n");
        assert_eq!(system(&[machine]), Some(1_024_000));
        let new = [
            machine,
            ("proc/self/cgroup", "0::/kube/pod\n"),
            ("sys/fs/cgroup/kube/pod/memory.max", "max\n"),
            ("sys/fs/cgroup/kube/memory.max", "600000\n"),
            ("sys/fs/cgroup/kube/memory.current", "250000\n"),
            ("sys/fs/cgroup/kube/memory.stat", "anon 1\ninactive_file 50000\n"),
        ];
        assert_eq!(system(&new), Some(400_000));
        // A container sees its own group as the outermost one.
        let inside = [
            machine,
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/memory.max", "70000\n"),
            ("sys/fs/cgroup/memory.current", "90000\n"),
        ];
        assert_eq!(system(&inside), Some(0));
        let old = [
            machine,
            ("proc/self/cgroup", "5:cpu,memory:/docker/x\n4:pids:/\n"),
            ("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "500000\n"),
            ("sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes", "100000\n"),
        ];
        assert_eq!(system(&old), Some(400_000));
        assert_eq!(system(&[]), None);
    }
}
