//! The events that have names, and how many of each make a sample if nobody says.

use crate::event::Group;

/// An event that the kernel knows by two numbers.
#[derive(Debug)]
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// Who counts it.
    pub group: Group,
    /// What the kernel calls it, within its group.
    pub config: u64,
    /// How many make a sample.
    pub period: u64,
}

const fn software(name: &'static str, config: u64, period: u64) -> Named {
    Named { name, group: Group::Software, config, period }
}

const fn hardware(name: &'static str, config: u64, period: u64) -> Named {
    Named { name, group: Group::Hardware, config, period }
}

const READ: u64 = 0;
const WRITE: u64 = 1;

/// What a cache was asked for, or what it did not have.
const fn cache(name: &'static str, cache: u64, operation: u64, missed: bool) -> Named {
    let config = cache | operation << 8 | (missed as u64) << 16;
    Named { name, group: Group::Cache, config, period: if missed { 10_000 } else { 1_000_000 } }
}

/// All of them. Clocks count nanoseconds.
pub static NAMED: [Named; 37] = [
    software("cpu-clock", 0, 10_000_000),
    software("task-clock", 1, 10_000_000),
    software("page-faults", 2, 1),
    // Each sample of them costs one: see `Event::wakes`.
    software("context-switches", 3, 10),
    software("cpu-migrations", 4, 1),
    software("minor-faults", 5, 1),
    software("major-faults", 6, 1),
    software("alignment-faults", 7, 1),
    software("emulation-faults", 8, 1),
    hardware("cycles", 0, 10_000_000),
    hardware("instructions", 1, 10_000_000),
    hardware("cache-references", 2, 1_000_000),
    hardware("cache-misses", 3, 10_000),
    hardware("branches", 4, 1_000_000),
    hardware("branch-misses", 5, 10_000),
    hardware("bus-cycles", 6, 1_000_000),
    hardware("stalled-cycles-frontend", 7, 10_000_000),
    hardware("stalled-cycles-backend", 8, 10_000_000),
    hardware("ref-cycles", 9, 10_000_000),
    cache("L1-dcache-loads", 0, READ, false),
    cache("L1-dcache-load-misses", 0, READ, true),
    cache("L1-dcache-stores", 0, WRITE, false),
    cache("L1-icache-load-misses", 1, READ, true),
    cache("LLC-loads", 2, READ, false),
    cache("LLC-load-misses", 2, READ, true),
    cache("LLC-stores", 2, WRITE, false),
    cache("LLC-store-misses", 2, WRITE, true),
    cache("dTLB-loads", 3, READ, false),
    cache("dTLB-load-misses", 3, READ, true),
    cache("dTLB-stores", 3, WRITE, false),
    cache("dTLB-store-misses", 3, WRITE, true),
    cache("iTLB-loads", 4, READ, false),
    cache("iTLB-load-misses", 4, READ, true),
    cache("branch-loads", 5, READ, false),
    cache("branch-load-misses", 5, READ, true),
    cache("node-loads", 6, READ, false),
    cache("node-load-misses", 6, READ, true),
];

/// Other names for some.
pub const ALIASES: [(&str, &str); 8] = [
    ("faults", "page-faults"),
    ("cs", "context-switches"),
    ("migrations", "cpu-migrations"),
    ("cpu-cycles", "cycles"),
    ("branch-instructions", "branches"),
    ("L1-dcache-misses", "L1-dcache-load-misses"),
    ("LLC-misses", "LLC-load-misses"),
    ("dTLB-misses", "dTLB-load-misses"),
];

/// The event with this name.
pub fn named(name: &str) -> Option<&'static Named> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    let name = alias.map_or(name, |(_, name)| *name);
    NAMED.iter().find(|named| named.name == name)
}
