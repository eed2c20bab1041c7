//! How many bytes lie between two objects that the VM samples, on average. It is one number for all of the VM, and two kinds
//! want samples: the shorter interval counts.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use quipu_jvm::{Capabilities, Capability};
use quipu_kinds::Chosen;

use crate::locks::lock;
use crate::session::Session;

/// Who wants samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Of {
    /// What is allocated.
    Alloc,
    /// What survives.
    Live,
}

/// What each of them wants; 0 for nothing.
static WANTED: Mutex<[u64; 2]> = Mutex::new([0; 2]);

/// The shortest of them; what the VM has, once somebody wanted some.
static NOW: AtomicU64 = AtomicU64::new(1);

/// Sets the interval while there are no threads yet. One that is made takes the interval of that moment for its first sample, and
/// HotSpot's own is 512 KB: with less than that, main would be sampled too late.
pub fn early(session: &Session, chosen: &Chosen) {
    let of = |name: &str| chosen.number(name).filter(|&every| every > 0);
    let Some(shortest) = [of("alloc"), of("live")].into_iter().flatten().min() else { return };
    let needed = Capabilities::of(&[Capability::CAN_GENERATE_SAMPLED_OBJECT_ALLOC_EVENTS]);
    // A VM that cannot is refused when the kind is started.
    if session.jvmti.add_capabilities(&needed).is_ok() {
        let _ = session.jvmti.set_heap_sampling_interval(shortest.min(i32::MAX as u64) as i32);
    }
}

/// Has the VM sample every so many bytes, unless it must do so more often for another; 0 if that is not wanted any more.
pub fn want(session: &Session, of: Of, every: u64) -> Result<(), String> {
    let mut wanted = lock(&WANTED);
    if let Some(place) = wanted.get_mut(of as usize) {
        *place = every;
    }
    let Some(shortest) = wanted.iter().copied().filter(|&every| every > 0).min() else { return Ok(()) };
    let shortest = shortest.min(i32::MAX as u64);
    session.jvmti.set_heap_sampling_interval(shortest as i32).map_err(|e| e.to_string())?;
    NOW.store(shortest, Ordering::Release);
    Ok(())
}

/// How many bytes lie between two samples now, on average.
pub fn now() -> u64 {
    NOW.load(Ordering::Acquire)
}
