//! Switches of the VM that its probes are behind: on while a probe is counted, and then as they were.

use std::ffi::CStr;

use quipu_jvm::hotspot::{Library, Structs, SwitchFlag};
use quipu_perf::Event;

use crate::session::Session;

/// Switches that we have switched on.
#[derive(Default)]
pub struct Switched(Vec<SwitchFlag>);

impl Switched {
    /// Switches on what these events need.
    pub fn switch_on(&mut self, session: &Session, events: &[Event]) {
        let mut wanted: Vec<&CStr> = events.iter().filter_map(Event::probe).filter_map(switch_of).collect();
        wanted.dedup();
        if wanted.is_empty() {
            return;
        }
        let Some(structs) = Library::of(session.vm).and_then(Structs::of) else { return };
        for name in wanted {
            if let Some(flag) = SwitchFlag::find(&structs, name).filter(|flag| !flag.get()) {
                // SAFETY: the VM reads these whenever it comes to a probe, and when it compiles a method.
                unsafe { flag.set(true) };
                self.0.push(flag);
            }
        }
    }

    /// Switches off what we have switched on.
    pub fn switch_back(&mut self) {
        for flag in self.0.drain(..) {
            // SAFETY: as above.
            unsafe { flag.set(false) };
        }
    }
}

/// The switch that a probe is behind.
fn switch_of((provider, name): (&str, &str)) -> Option<&'static CStr> {
    match name.split("__").next()? {
        _ if provider != "hotspot" => None,
        "monitor" => Some(c"DTraceMonitorProbes"),
        "object" => Some(c"DTraceAllocProbes"),
        "method" if matches!(name, "method__entry" | "method__return") => Some(c"DTraceMethodProbes"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_are_behind_switches() {
        assert_eq!(switch_of(("hotspot", "monitor__contended__enter")), Some(c"DTraceMonitorProbes"));
        assert_eq!(switch_of(("hotspot", "object__alloc")), Some(c"DTraceAllocProbes"));
        assert_eq!(switch_of(("hotspot", "method__compile__begin")), None);
        assert_eq!(switch_of(("hotspot_jni", "monitor__enter")), None);
    }
}
