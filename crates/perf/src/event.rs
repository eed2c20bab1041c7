//! An event as people write it: `page-faults`, `cycles:1M`, `raw:3c`, `sched:sched_switch`, `mem:JVM_GC:x`.

use std::fs;

use crate::allowed::Refused;
use crate::attributes::Attributes;
use crate::names::{NAMED, named};
use crate::usdt;

/// Who counts an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// The kernel.
    Software,
    /// The processor.
    Hardware,
    /// The processor's caches.
    Cache,
    /// The processor, by a number of its maker's.
    Raw,
    /// The processor, at an address.
    Breakpoint,
    /// The kernel, at a place that it names.
    Tracepoint,
    /// The processor or the kernel, at a place that a library was built with.
    Probe,
}

/// What is to be counted, and how many make a sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// What people call it, without the period.
    pub name: String,
    /// So many make a sample.
    pub period: u64,
    /// Who counts it.
    pub group: Group,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Numbered(u64),
    Memory { place: Place, access: u32, length: Option<u64> },
    Tracepoint,
    Probe { provider: String, name: String, uprobe: bool },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Address(u64),
    Symbol(String),
}

const READ: u32 = 1;
const WRITE: u32 = 2;
const EXECUTE: u32 = 4;

/// Where the kernel tells of its tracepoints.
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

impl Event {
    /// `NAME` or `NAME:PERIOD`.
    pub fn parse(text: &str) -> Result<Event, String> {
        // The first part behind these is what they are about.
        let about = |name: &str| matches!(name, "raw" | "mem" | "usdt");
        let (name, period) = match text.rsplit_once(':') {
            Some((name, last)) if !about(name) => match number(last) {
                Some(period) => (name, Some(period)),
                None => (text, None),
            },
            _ => (text, None),
        };
        let mut event = Event::named(name)?;
        if let Some(period) = period {
            event.period = period;
        }
        match event.least() {
            least if event.period < least => Err([
                "--event ",
                text,
                ": a sample of it wakes the thread that has just gone to wait, which is one more, so a sample can stand for ",
                &least.to_string(),
                " at the least",
            ]
            .concat()),
            _ => Ok(event),
        }
    }

    fn named(name: &str) -> Result<Event, String> {
        let event = |group, period, what| Event { name: name.to_owned(), period, group, what };
        if let Some(known) = named(name) {
            let what = What::Numbered(known.config);
            return Ok(Event { name: known.name.to_owned(), period: known.period, group: known.group, what });
        }
        match name.split_once(':') {
            Some(("raw", number)) => {
                let digits = number.trim_start_matches("0x");
                let config = u64::from_str_radix(digits, 16).map_err(|_| {
                    ["--event ", name, ": must be a number in hexadecimal, as in raw:3c"].concat()
                })?;
                Ok(event(Group::Raw, 1_000_000, What::Numbered(config)))
            }
            Some(("mem", place)) => Ok(event(Group::Breakpoint, 1, memory(name, place)?)),
            Some(("usdt", probe)) => Ok(event(Group::Probe, 1, self::probe(name, probe)?)),
            // No name begins with a digit; a period that is none does.
            Some((system, point))
                if is_word(system) && is_word(point) && !point.starts_with(|c: char| c.is_ascii_digit()) =>
            {
                // Those that are told of in the middle of a wait: see `least`.
                let period = if WAITING.iter().any(|wait| name.starts_with(wait)) { 10 } else { 1 };
                Ok(event(Group::Tracepoint, period, What::Tracepoint))
            }
            _ => Err(["unknown event '", name, "': ", &alternatives()].concat()),
        }
    }

    /// How many a sample must stand for.
    fn least(&self) -> u64 {
        if self.wakes() { 2 } else { 1 }
    }

    /// Whether it takes place while a thread goes to wait, or enters the kernel to do so. The signal of a sample wakes the
    /// thread; it goes to wait again, and that is one more. Were each a sample, it would never wait.
    pub fn wakes(&self) -> bool {
        self.name == "context-switches" || WAITING.iter().any(|wait| self.name.starts_with(wait))
    }

    /// Whether it counts nanoseconds.
    pub fn is_clock(&self) -> bool {
        matches!(&*self.name, "cpu-clock" | "task-clock")
    }

    /// Whether the kernel tells which address it was about.
    pub fn has_address(&self) -> bool {
        matches!(&*self.name, "page-faults" | "minor-faults" | "major-faults")
    }

    /// Whether it takes place in the kernel only.
    pub(crate) fn is_kernels(&self) -> bool {
        self.group == Group::Tracepoint || matches!(&*self.name, "context-switches" | "cpu-migrations")
    }

    /// What the kernel is asked for, in this process; or why that is not known. Of a probe that is at several places, the first.
    pub fn attributes(&self) -> Result<Attributes, Refused> {
        let kind = match self.group {
            Group::Hardware => 0,
            Group::Software => 1,
            Group::Tracepoint => 2,
            Group::Cache => 3,
            Group::Raw => 4,
            Group::Breakpoint | Group::Probe => 5,
        };
        let counting = |config| Attributes::counting(kind, config, self.period);
        match &self.what {
            What::Numbered(config) if self.has_address() => Ok(counting(*config).with_address()),
            What::Numbered(config) => Ok(counting(*config)),
            What::Tracepoint => self.tracepoint().map(counting),
            What::Probe { .. } => {
                let places = self.places()?;
                let first = places.breakpoints.first().copied();
                first.ok_or_else(|| self.refuse("it is nowhere".to_owned()))
            }
            What::Memory { place, access, length } => {
                let address = match place {
                    Place::Address(address) => *address,
                    Place::Symbol(symbol) => address_of(symbol).ok_or_else(|| {
                        let none = "no library of the process exports such a symbol; any other place needs its address";
                        self.refuse(none.to_owned())
                    })?,
                };
                // The kernel wants a word for instructions, however long they are.
                let length = length.unwrap_or(if *access == EXECUTE { 8 } else { aligned(address) });
                Ok(Attributes::watching(*access, address, length, self.period))
            }
        }
    }

    /// Where a probe is, in this process.
    pub(crate) fn places(&self) -> Result<Places, Refused> {
        let mut places = Places::default();
        let What::Probe { provider, name, uprobe } = &self.what else { return Ok(places) };
        let (mut others, mut known) = (Vec::new(), false);
        for library in usdt::loaded() {
            for probe in usdt::probes(&library.path) {
                known |= probe.provider == *provider;
                if probe.provider == *provider && probe.name != *name && !others.contains(&probe.name) {
                    others.push(probe.name.clone());
                }
                if probe.provider != *provider || probe.name != *name {
                    continue;
                }
                let at = library.moved.wrapping_add(probe.address);
                places.breakpoints.push(Attributes::watching(EXECUTE, at, 8, self.period));
                if let (Some(kind), Some(path)) = (uprobe_kind(), usdt::kept(&library.path)) {
                    places.uprobes.push(Attributes::placed(kind, path, probe.offset, self.period));
                }
            }
        }
        places.only_uprobes = *uprobe;
        if !places.breakpoints.is_empty() {
            return Ok(places);
        }
        others.sort_unstable();
        Err(self.refuse(match known {
            true => ["no library of the process has such a probe; ", provider, " has ", &others.join(", ")]
                .concat(),
            false => [
                "no library of the process has probes of ",
                provider,
                ": a JVM may have been built without; mem:SYMBOL:x counts calls of functions that it exports",
            ]
            .concat(),
        }))
    }

    /// The provider of a probe, and its name.
    pub fn probe(&self) -> Option<(&str, &str)> {
        match &self.what {
            What::Probe { provider, name, .. } => Some((provider.as_str(), name.as_str())),
            _ => None,
        }
    }

    /// What can be tried where the event is not to be: a breakpoint stands for all.
    pub(crate) fn anywhere(&self) -> Result<Attributes, Refused> {
        static SOMEWHERE: u64 = 0;
        match self.what {
            What::Memory { access, .. } => {
                Ok(Attributes::watching(access, &raw const SOMEWHERE as u64, 8, self.period))
            }
            What::Probe { .. } => {
                Ok(Attributes::watching(EXECUTE, &raw const SOMEWHERE as u64, 8, self.period))
            }
            _ => self.attributes(),
        }
    }

    /// The number of a tracepoint.
    fn tracepoint(&self) -> Result<u64, Refused> {
        let path = self.name.replace(':', "/");
        let found = TRACEFS.iter().find_map(|tracefs| {
            fs::read_to_string([tracefs, "/events/", &path, "/id"].concat()).ok()?.trim().parse().ok()
        });
        let readable = || TRACEFS.iter().any(|tracefs| fs::read_dir([tracefs, "/events"].concat()).is_ok());
        found.ok_or_else(|| {
            let why = match readable() {
                true => "the kernel has no such tracepoint; /sys/kernel/tracing/available_events has those that there are",
                false => {
                    "the kernel's list of tracepoints cannot be read: as root, mount -t tracefs nodev /sys/kernel/tracing, and \
                     let others read it who need it"
                }
            };
            self.refuse(why.to_owned())
        })
    }
}

/// A probe's places.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// With breakpoints there.
    pub(crate) breakpoints: Vec<Attributes>,
    /// With instructions that lead to the kernel, where it can do that.
    pub(crate) uprobes: Vec<Attributes>,
    /// Whether the second was asked for.
    pub(crate) only_uprobes: bool,
}

/// The kernel's number for uprobes; `None` if it has none.
fn uprobe_kind() -> Option<u32> {
    fs::read_to_string("/sys/bus/event_source/devices/uprobe/type").ok()?.trim().parse().ok()
}

/// `PROVIDER:NAME`, with `/uprobe` behind it where no breakpoint is wanted.
fn probe(name: &str, text: &str) -> Result<What, String> {
    let (text, uprobe) = match text.strip_suffix("/uprobe") {
        Some(text) => (text, true),
        None => (text, false),
    };
    match text.split_once(':') {
        Some((provider, probe)) if is_word(provider) && is_word(probe) => {
            Ok(What::Probe { provider: provider.to_owned(), name: probe.to_owned(), uprobe })
        }
        _ => Err(["--event ", name, ": must be usdt:PROVIDER:NAME, as in usdt:hotspot:gc__begin"].concat()),
    }
}

/// What tells of waits.
const WAITING: [&str; 3] = ["sched:", "syscalls:sys_enter_", "raw_syscalls:"];

/// `ADDRESS` or `SYMBOL`, and what is to be done there: `:rw`, `:w/4`, `:x`.
fn memory(name: &str, text: &str) -> Result<What, String> {
    let wrong = |why: &str| Err(["--event ", name, ": ", why].concat());
    let (text, length) = match text.split_once('/') {
        Some((text, length @ ("1" | "2" | "4" | "8"))) => (text, length.parse().ok()),
        Some(_) => return wrong("the length behind / must be 1, 2, 4 or 8"),
        None => (text, None),
    };
    let (place, access) = match text.rsplit_once(':') {
        Some((place, access)) => (place, Some(access)),
        None => (text, None),
    };
    let place = match place.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16)) {
        Some(Ok(address)) => Place::Address(address),
        Some(Err(_)) => return wrong("the address is no hexadecimal number"),
        None if is_word(place) => Place::Symbol(place.to_owned()),
        None => return wrong("must be mem:0xADDRESS or mem:SYMBOL, with :rw, :w or :x behind it"),
    };
    let access = match (access, &place) {
        (Some("x"), _) | (None, Place::Symbol(_)) => EXECUTE,
        (Some("w"), _) => WRITE,
        (Some("rw"), _) | (None, Place::Address(_)) => READ | WRITE,
        (Some("r"), _) => return wrong("the processor has none for reads alone: use :rw"),
        (Some(_), _) => return wrong("what is done there must be rw, w or x"),
    };
    Ok(What::Memory { place, access, length })
}

/// The longest that a breakpoint at this address can be.
fn aligned(address: u64) -> u64 {
    1 << address.trailing_zeros().min(3)
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.$@-".contains(&byte))
}

/// `1000`, `10_000`, `10k`, `1M`.
fn number(text: &str) -> Option<u64> {
    let (digits, factor) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (text.get(..at)?, 1_000),
        (at, 'm' | 'M') => (text.get(..at)?, 1_000_000),
        (at, 'g' | 'G') => (text.get(..at)?, 1_000_000_000),
        _ => (text, 1),
    };
    let number: u64 = digits.replace('_', "").parse().ok()?;
    // The kernel takes no more than 63 bits.
    number.checked_mul(factor).filter(|&number| number > 0 && number < 1 << 62)
}

/// What there is, for somebody who has named something else.
pub fn alternatives() -> String {
    let of = |group: Group| {
        let names: Vec<&str> =
            NAMED.iter().filter(|named| named.group == group).map(|named| named.name).collect();
        names.join(", ")
    };
    [
        &of(Group::Software),
        "; of the processor ",
        &of(Group::Hardware),
        "; raw:HEX, mem:SYMBOL:x, mem:0xADDRESS:rw, usdt:PROVIDER:PROBE and tracepoints such as sched:sched_switch; --event list \
         has all",
    ]
    .concat()
}

/// Where the process has a symbol.
fn address_of(symbol: &str) -> Option<u64> {
    let name = std::ffi::CString::new(symbol).ok()?;
    // SAFETY: a query with a string that ends.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, u64, Group) {
        let event = Event::parse(text).unwrap_or_else(|why| panic!("{why}"));
        (event.name, event.period, event.group)
    }

    #[test]
    fn names_have_periods_behind_them() {
        assert_eq!(parsed("page-faults"), ("page-faults".to_owned(), 1, Group::Software));
        assert_eq!(parsed("faults:10"), ("page-faults".to_owned(), 10, Group::Software));
        assert_eq!(parsed("cycles:1M"), ("cycles".to_owned(), 1_000_000, Group::Hardware));
        assert_eq!(parsed("LLC-misses:2k"), ("LLC-load-misses".to_owned(), 2_000, Group::Cache));
        assert_eq!(parsed("raw:3c"), ("raw:3c".to_owned(), 1_000_000, Group::Raw));
        assert_eq!(parsed("raw:1000:7"), ("raw:1000".to_owned(), 7, Group::Raw));
        assert_eq!(parsed("sched:sched_switch:5"), ("sched:sched_switch".to_owned(), 5, Group::Tracepoint));
        assert_eq!(parsed("mem:JVM_GC"), ("mem:JVM_GC".to_owned(), 1, Group::Breakpoint));
        assert_eq!(parsed("mem:0x7f00:rw/4:3"), ("mem:0x7f00:rw/4".to_owned(), 3, Group::Breakpoint));
        const PROBE: &str = "usdt:hotspot:gc__begin";
        assert_eq!(parsed(PROBE), (PROBE.to_owned(), 1, Group::Probe));
        assert_eq!(parsed(&[PROBE, ":10k"].concat()), (PROBE.to_owned(), 10_000, Group::Probe));
        let uprobe = [PROBE, "/uprobe"].concat();
        assert_eq!(parsed(&[&uprobe, ":2"].concat()), (uprobe, 2, Group::Probe));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("cycels", "unknown event 'cycels': cpu-clock, task-clock, page-faults, "),
            ("", "unknown event '': "),
            ("cycles:0", "unknown event 'cycles:0': ".trim_end_matches(' ')),
            ("raw:xyz", "--event raw:xyz: must be a number in hexadecimal, as in raw:3c"),
            ("mem:x y", "--event mem:x y: must be mem:0xADDRESS or mem:SYMBOL, with :rw, :w or :x behind it"),
            ("mem:0x10:r", "--event mem:0x10:r: the processor has none for reads alone: use :rw"),
            ("mem:0x10:rw/3", "--event mem:0x10:rw/3: the length behind / must be 1, 2, 4 or 8"),
            (
                "usdt:hotspot",
                "--event usdt:hotspot: must be usdt:PROVIDER:NAME, as in usdt:hotspot:gc__begin",
            ),
            ("usdt:hotspot:a b", "--event usdt:hotspot:a b: must be usdt:PROVIDER:NAME"),
            ("cs:1", "--event cs:1: a sample of it wakes the thread"),
        ] {
            let said = Event::parse(text).map(|event| event.name).expect_err(text);
            assert!(said.starts_with(why), "{text}: {said}");
        }
    }

    #[test]
    fn a_breakpoint_is_as_long_as_its_address_allows() {
        let length = |text: &str| Event::parse(text).unwrap().attributes().unwrap().length();
        assert_eq!((length("mem:0x1000"), length("mem:0x1004:w"), length("mem:0x1001:rw")), (8, 4, 1));
        assert_eq!((length("mem:0x1000:w/2"), length("mem:0x1001:x")), (2, 8));
        assert_eq!(length("mem:malloc"), 8);
        let unknown = Event::parse("mem:no_such_symbol").unwrap().attributes().unwrap_err().to_string();
        assert!(unknown.contains("no library of the process exports such a symbol"), "{unknown}");
    }
}
