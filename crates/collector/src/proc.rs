//! What `/proc` says about a process. Parsing is apart from reading, since both formats and processes surprise.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;
use std::time::Duration;

/// A file of a process in `/proc`.
pub(crate) fn path(pid: u32, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/{name}"))
}

/// The part of `/proc/PID/status` we use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    pub name: String,
    /// R, S, T (stopped), t (traced), Z (ended, not yet waited for), …
    pub state: char,
    /// The effective user and group, which is what HotSpot compares.
    pub uid: u32,
    pub gid: u32,
    /// The process's id in its own, innermost, namespace.
    pub namespace_pid: u32,
    /// One bit per signal that has a handler.
    pub caught: u64,
}

impl Status {
    pub fn read(pid: u32) -> io::Result<Self> {
        let text = std::fs::read(path(pid, "status"))?;
        Self::parse(&String::from_utf8_lossy(&text), pid)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a process status"))
    }

    pub fn parse(text: &str, pid: u32) -> Option<Self> {
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            value.map(str::trim)
        };
        let effective = |name: &str| field(name)?.split_whitespace().nth(1)?.parse().ok();
        // Kernels before 4.1 do not say; there the process is taken to be in our namespace.
        let namespace_pid = field("NSpid").and_then(|ids| ids.split_whitespace().last()?.parse().ok());
        Some(Self {
            name: field("Name")?.to_owned(),
            state: field("State")?.chars().next()?,
            uid: effective("Uid")?,
            gid: effective("Gid")?,
            namespace_pid: namespace_pid.unwrap_or(pid),
            caught: u64::from_str_radix(field("SigCgt")?, 16).ok()?,
        })
    }

    pub fn is_stopped(&self) -> bool {
        matches!(self.state, 'T' | 't')
    }

    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    pub fn catches(&self, signal: i32) -> bool {
        u32::try_from(signal - 1).is_ok_and(|bit| self.caught.checked_shr(bit).unwrap_or(0) & 1 == 1)
    }
}

/// Which virtual machine a process has mapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Vm {
    HotSpot { libjvm: PathBuf },
    OpenJ9,
    None,
}

/// Looks for a VM's library among what a process has mapped; `Err` if we may not look.
pub(crate) fn vm(pid: u32) -> io::Result<Vm> {
    vm_in_maps(BufReader::new(File::open(path(pid, "maps"))?))
}

fn vm_in_maps(maps: impl BufRead) -> io::Result<Vm> {
    let mut found = Vm::None;
    for line in maps.split(b'\n') {
        let line = line?;
        let text = String::from_utf8_lossy(&line);
        // address, permissions, offset, device, inode, then the path, which may have spaces.
        let Some(start) = text.find('/') else { continue };
        let path = text[start..].trim_end_matches(" (deleted)");
        match path.rsplit('/').next() {
            // OpenJ9 has a libjvm.so too, which only leads to this.
            Some(name) if name.starts_with("libj9vm") => return Ok(Vm::OpenJ9),
            Some("libjvm.so") if found == Vm::None => found = Vm::HotSpot { libjvm: path.into() },
            _ => {}
        }
    }
    Ok(found)
}

/// The arguments a process was started with.
pub(crate) fn command_line(pid: u32) -> io::Result<Vec<String>> {
    // The kernel caps an argument list at a few MB; so do we.
    let mut bytes = Vec::new();
    File::open(path(pid, "cmdline"))?.take(8 << 20).read_to_end(&mut bytes)?;
    let arguments = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
    if arguments.is_empty() {
        return Ok(Vec::new());
    }
    Ok(arguments.split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned()).collect())
}

/// How long a process has been running.
pub(crate) fn age(pid: u32) -> Option<Duration> {
    let stat = std::fs::read(path(pid, "stat")).ok()?;
    let started = start_ticks(&String::from_utf8_lossy(&stat))?;
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    let uptime: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    let per_second = rustix::param::clock_ticks_per_second() as f64;
    Duration::try_from_secs_f64(uptime - started as f64 / per_second).ok()
}

/// Field 22 of `/proc/PID/stat`. The name before it is in parentheses and may hold anything, parentheses too.
fn start_ticks(stat: &str) -> Option<u64> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    after_name.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tjava\nUmask:\t0022\nState:\tS (sleeping)\nPid:\t123\n\
        Uid:\t1000\t1001\t1000\t1000\nGid:\t50\t51\t50\t50\nNSpid:\t123\t7\nSigCgt:\t2000000181005ccf\n";

    #[test]
    fn status() {
        let status = Status::parse(STATUS, 123).unwrap();
        assert_eq!((status.uid, status.gid, status.namespace_pid), (1001, 51, 7));
        assert!(status.catches(3) && !status.catches(6) && !status.is_stopped());
        assert!(!status.catches(0) && !status.catches(-5) && !status.catches(200));
        let old_kernel = STATUS.replace("NSpid:\t123\t7\n", "");
        assert_eq!(Status::parse(&old_kernel, 123).unwrap().namespace_pid, 123);
        assert_eq!(Status::parse("Name:\tjava\n", 1), None);
    }

    #[test]
    fn maps() {
        let maps = "7f00-7f01 r-xp 00000000 08:01 42   /opt/my jdk/lib/server/libjvm.so\n\
                    7f02-7f03 rw-p 00000000 00:00 0\n7ffe-7fff r-xp 00000000 00:00 0 [vdso]\n";
        let libjvm = "/opt/my jdk/lib/server/libjvm.so".into();
        assert_eq!(vm_in_maps(maps.as_bytes()).unwrap(), Vm::HotSpot { libjvm });
        let not_java = maps.replace("libjvm.so", "libjvm.so.txt");
        assert_eq!(vm_in_maps(not_java.as_bytes()).unwrap(), Vm::None);
        let j9 = format!("{maps}7f04-7f05 r-xp 0 08:01 43 /opt/jdk/lib/default/libj9vm29.so\n");
        assert_eq!(vm_in_maps(j9.as_bytes()).unwrap(), Vm::OpenJ9);
    }

    #[test]
    fn start_behind_a_nasty_name() {
        let stat = format!("12 (a) b (c)) S {} 4711 9 9", vec!["1"; 18].join(" "));
        assert_eq!(start_ticks(&stat), Some(4711));
        assert_eq!(start_ticks("garbage"), None);
    }
}
