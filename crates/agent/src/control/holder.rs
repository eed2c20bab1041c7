//! Whoever attached and wants the target left as it was holds a connection. When it is closed before the profile was ended,
//! that process is gone, and everything is taken out again.

use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sampling::monotonic;

/// Whether there is somebody who must be there.
pub enum Holder {
    /// Nobody holds the profile; it stays until it is ended.
    Nobody,
    /// Somebody will: he is still waiting for the answer that the profile has begun, or about to connect.
    Awaited,
    /// This connection is open as long as he is there.
    Here(UnixStream),
}

/// What has happened.
pub enum Event {
    /// Somebody connects, or the socket is closed.
    Connection,
    /// Nothing.
    Nothing,
    /// He who held the profile is gone.
    Gone,
}

/// He connects at once, if he is there.
const PATIENCE_NANOS: u64 = 10_000_000_000;
/// How often it is looked whether that time has passed.
const GLANCE_MILLIS: i32 = 250;

/// When he was told that the profile has begun; 0 as long as he was not.
static TOLD: AtomicU64 = AtomicU64::new(0);

/// A profile is about to begin.
pub fn reset() {
    TOLD.store(0, Ordering::Release);
}

/// The profile has begun, or could not; he is told now.
pub fn told() {
    TOLD.store(monotonic(), Ordering::Release);
}

impl Holder {
    /// Waits until something happens.
    pub fn wait(&self, listener: &UnixListener) -> Event {
        let held = match self {
            Holder::Here(stream) => stream.as_raw_fd(),
            // The kernel skips it.
            _ => -1,
        };
        let mut descriptors =
            [listener.as_raw_fd(), held].map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        let timeout = if matches!(self, Holder::Awaited) { GLANCE_MILLIS } else { -1 };
        // SAFETY: the descriptors are open, and the kernel writes to this array only.
        let ready =
            unsafe { libc::poll(descriptors.as_mut_ptr(), descriptors.len() as libc::nfds_t, timeout) };
        let [listening, holding] = descriptors;
        if ready > 0 && holding.revents != 0 {
            // He has nothing more to say: this can only be the end.
            return Event::Gone;
        }
        if ready > 0 && listening.revents != 0 {
            return Event::Connection;
        }
        if self.is_late() { Event::Gone } else { Event::Nothing }
    }

    /// Whether he should be here by now, and is not.
    pub fn is_late(&self) -> bool {
        let told = TOLD.load(Ordering::Acquire);
        matches!(self, Holder::Awaited) && told != 0 && monotonic().saturating_sub(told) > PATIENCE_NANOS
    }
}
