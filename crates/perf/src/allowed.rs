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

    /// What counters of threads of this process are opened with, several for a probe that is at several places; tried on this
    /// thread.
    pub fn prepared(&self) -> Result<(Vec<Attributes>, Scope), Refused> {
        /// Breakpoints that a processor has.
        const BREAKPOINTS: usize = 4;
        if self.probe().is_none() {
            return self.tried(self.attributes()?).map(|(attributes, scope)| (vec![attributes], scope));
        }
        let places = self.places()?;
        let (_, scope) = self.tried(self.attributes()?)?;
        let breakpoints: Vec<Attributes> =
            places.breakpoints.iter().map(|place| place.within(scope)).collect();
        // All of them at once: others may have taken some.
        let opened = breakpoints.iter().map(|place| counter::open(place, 0)).collect::<io::Result<Vec<_>>>();
        if !places.only_uprobes && breakpoints.len() <= BREAKPOINTS && opened.is_ok() {
            return Ok((breakpoints, scope));
        }
        match places.uprobes.first() {
            Some(first) => counter::open(first, 0)
                .map(|_| (places.uprobes, Scope::All))
                .map_err(|why| self.refused(&why)),
            None => {
                Err(self
                    .refuse("the kernel has no uprobes, and the processor not enough breakpoints".to_owned()))
            }
        }
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
            Some(libc::EACCES | libc::EPERM) => self.forbidden(paranoia()),
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

    /// Why it is not allowed, where `kernel.perf_event_paranoid` is this.
    fn forbidden(&self, paranoia: Option<i32>) -> String {
        let level = match paranoia {
            Some(level) => ["kernel.perf_event_paranoid is ", &level.to_string()].concat(),
            None => "the kernel tells no kernel.perf_event_paranoid".to_owned(),
        };
        let more = if self.is_kernels() { "1" } else { "2" };
        let why = match (self.is_kernels(), paranoia) {
            // Only with rights, whatever the level is.
            _ if self.probe().is_some() && paranoia.is_some_and(|level| level <= 2) => {
                return [
                    &level,
                    ", and uprobes are for those with rights: CAP_PERFMON for the JVM allows them",
                ]
                .concat();
            }
            (true, Some(2)) => {
                ", which leaves what takes place in the kernel to those with rights; page-faults, cpu-clock and mem:… need none. "
            }
            (_, Some(..=2)) => {
                ", and still it is not allowed: a container's seccomp profile may forbid it. If not: "
            }
            _ => ", which allows nothing without rights. ",
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
    }

    /// What each level lets those without rights have, and what it takes to have the rest.
    #[test]
    fn each_level_says_what_it_leaves_out_and_what_allows_it() {
        const CONTAINER: &str = "seccomp";
        const KERNELS: &str = "page-faults, cpu-clock and mem:… need none";
        const NOTHING: &str = "allows nothing without rights";
        let levels = [
            (1, CONTAINER, CONTAINER),
            (2, KERNELS, CONTAINER),
            (3, NOTHING, NOTHING),
            (4, NOTHING, NOTHING),
        ];
        for (level, of_kernels, of_others) in levels {
            for (name, why, enough) in [
                ("context-switches", of_kernels, 1),
                ("sched:sched_switch", of_kernels, 1),
                ("page-faults", of_others, 2),
                ("cycles", of_others, 2),
            ] {
                let said = Event::parse(name).unwrap().forbidden(Some(level));
                assert!(said.starts_with(&format!("kernel.perf_event_paranoid is {level}, ")), "{said}");
                let more = format!("sysctl kernel.perf_event_paranoid={enough} or CAP_PERFMON");
                assert!(said.contains(why) && said.contains(&more), "{name} at {level}: {said}");
            }
        }
        let unknown = Event::parse("page-faults").unwrap().forbidden(None);
        assert!(unknown.starts_with("the kernel tells no kernel.perf_event_paranoid, "), "{unknown}");
    }

    #[test]
    fn what_every_machine_counts_is_allowed_or_said_why() {
        match Event::parse("page-faults").unwrap().allowed() {
            Ok(_) => {}
            Err(why) => assert!(why.why.contains("perf_event_paranoid"), "{why}"),
        }
    }
}
