//! Why an event cannot be had, and what can be done about it.

use std::fmt;
use std::fs;
use std::io;

use crate::attributes::{Attributes, Scope};
use crate::counter;
use crate::event::{Event, Group, alternatives};

/// What the kernel allows those who have no rights: from -1, everything, to 2, nothing of its own, and on Debian 3 and 4, nothing
/// at all. `None` on a kernel without events.
pub fn paranoia() -> Option<i32> {
    fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

/// An event that could not be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// What it is called.
    pub event: String,
    /// Why it could not, and what can be done about it.
    pub why: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&["--event ", &self.event, ": ", &self.why].concat())
    }
}

impl Event {
    /// Whether this thread can have it, and in which scope: what the kernel does is left out where that is not allowed.
    /// A breakpoint is tried elsewhere than where it is to be, which may be in another process.
    pub fn allowed(&self) -> Result<Scope, Refused> {
        self.tried(self.anywhere()?).map(|(_, scope)| scope)
    }

    /// What counters of threads of this process are opened with; tried on this one.
    pub fn prepared(&self) -> Result<(Attributes, Scope), Refused> {
        self.tried(self.attributes()?)
    }

    fn tried(&self, attributes: Attributes) -> Result<(Attributes, Scope), Refused> {
        let refused = |why: io::Error| self.refused(&why);
        match counter::open(&attributes, 0) {
            Ok(_) => Ok((attributes, Scope::All)),
            Err(why) if is_forbidden(&why) && !self.is_kernels() => {
                let attributes = attributes.within(Scope::User);
                counter::open(&attributes, 0).map(|_| (attributes, Scope::User)).map_err(refused)
            }
            Err(why) => Err(refused(why)),
        }
    }

    pub(crate) fn refuse(&self, why: String) -> Refused {
        Refused { event: self.name.clone(), why }
    }

    fn refused(&self, why: &io::Error) -> Refused {
        self.refuse(match why.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => self.forbidden(),
            Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP | libc::ENXIO) => match self.group {
                Group::Hardware | Group::Cache | Group::Raw => {
                    "this machine has no such counter, as most virtual machines have none; page-faults, context-switches, \
                     cpu-clock and mem:… need none"
                        .to_owned()
                }
                _ => "the kernel does not count it; there are ".to_owned() + &alternatives(),
            },
            Some(libc::ENOSPC) => "all breakpoints of the processor are taken".to_owned(),
            Some(libc::EMFILE | libc::ENFILE) => "the process has no descriptor left (ulimit -n)".to_owned(),
            Some(libc::EINVAL) => "the kernel or the processor does not take it so".to_owned(),
            Some(libc::ENOSYS) => "this kernel has no perf_event_open".to_owned(),
            _ => why.to_string(),
        })
    }

    fn forbidden(&self) -> String {
        let level = match paranoia() {
            Some(level) => ["kernel.perf_event_paranoid is ", &level.to_string()].concat(),
            None => "the kernel tells no kernel.perf_event_paranoid".to_owned(),
        };
        let (why, more) = match (self.is_kernels(), paranoia()) {
            (true, Some(..=2)) => (
                ", which leaves what takes place in the kernel to those with rights; page-faults, cpu-clock and mem:… need none. ",
                "1",
            ),
            (false, Some(..=2)) => {
                (", and still it is not allowed: a container's seccomp profile may forbid it. If not: ", "1")
            }
            _ => (", which allows nothing without rights. ", "2"),
        };
        [&level, why, "sysctl kernel.perf_event_paranoid=", more, " or CAP_PERFMON for the JVM allows it"]
            .concat()
    }
}

/// Whether it could be had with more rights.
fn is_forbidden(why: &io::Error) -> bool {
    matches!(why.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_says_why_and_what_else_there_is() {
        let event = Event::parse("cycles").unwrap();
        let said = |code| event.refused(&io::Error::from_raw_os_error(code)).to_string();
        let missing = said(libc::ENOENT);
        assert!(missing.starts_with("--event cycles: this machine has no such counter"), "{missing}");
        assert!(missing.contains("page-faults"), "{missing}");
        assert!(said(libc::EACCES).contains("CAP_PERFMON"));
        let kernels = Event::parse("context-switches").unwrap().forbidden();
        assert!(kernels.contains("sysctl kernel.perf_event_paranoid="), "{kernels}");
    }

    #[test]
    fn what_every_machine_counts_is_allowed_or_said_why() {
        match Event::parse("page-faults").unwrap().allowed() {
            Ok(_) => {}
            Err(why) => assert!(why.why.contains("perf_event_paranoid"), "{why}"),
        }
    }
}
