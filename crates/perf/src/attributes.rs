//! `struct perf_event_attr`, as far as we fill it in.

use std::ffi::CStr;

/// What is asked of the kernel.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
pub struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
}

const SOFTWARE: u32 = 1;
const BREAKPOINT: u32 = 5;
const CPU_CLOCK: u64 = 0;
const ADDRESS: u64 = 1 << 3;
const CALLCHAIN: u64 = 1 << 5;
/// How long it was there, and how long it counted: there may be more of them than the processor has counters.
const TIMES: u64 = 3;
const DISABLED: u64 = 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// Of the stack, the kernel's part only.
const EXCLUDE_CALLCHAIN_USER: u64 = 1 << 22;

/// Whether what takes place in the kernel counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// It does.
    All,
    /// It does not: who has no rights may count no more.
    User,
}

impl Attributes {
    /// An event of a kind, with a signal after each `period` of them.
    pub(crate) fn counting(kind: u32, config: u64, period: u64) -> Attributes {
        Attributes {
            kind,
            config,
            size: size_of::<Attributes>() as u32,
            sample_period: period,
            read_format: TIMES,
            flags: DISABLED,
            wakeup_events: 1,
            ..Attributes::default()
        }
    }

    /// CPU time, with the kernel's part of the stack after each `period` nanoseconds.
    pub fn cpu_clock(period: u64) -> Attributes {
        Attributes {
            sample_type: CALLCHAIN,
            flags: DISABLED | EXCLUDE_CALLCHAIN_USER,
            ..Attributes::counting(SOFTWARE, CPU_CLOCK, period)
        }
    }

    /// What is done to so many bytes at an address.
    pub(crate) fn watching(access: u32, address: u64, length: u64, period: u64) -> Attributes {
        let counting = Attributes::counting(BREAKPOINT, 0, period);
        Attributes { breakpoint_type: access, config1: address, config2: length, ..counting }
    }

    /// Executions of the instruction at an offset of a file, which leads to the kernel from then on.
    pub(crate) fn placed(kind: u32, path: &'static CStr, offset: u64, period: u64) -> Attributes {
        let counting = Attributes::counting(kind, 0, period);
        Attributes { config1: path.as_ptr() as u64, config2: offset, ..counting }
    }

    /// How many bytes are watched.
    #[cfg(test)]
    pub(crate) fn length(&self) -> u64 {
        self.config2
    }

    /// The same, with the address that was touched written to a ring for each sample.
    pub(crate) fn with_address(self) -> Attributes {
        Attributes { sample_type: ADDRESS, ..self }
    }

    /// Whether the address that was touched is written to a ring.
    pub fn has_address(&self) -> bool {
        self.sample_type == ADDRESS
    }

    /// The same within a scope.
    #[must_use]
    pub fn within(self, scope: Scope) -> Attributes {
        let more = if scope == Scope::User { EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR } else { 0 };
        Attributes { flags: self.flags | more, ..self }
    }
}
