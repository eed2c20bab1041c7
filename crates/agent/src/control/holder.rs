//! A process that attached and wants the target left as it was holds a connection, and is the holder of the profile. When the
//! connection is closed before the profile was ended, that process is gone, and everything is taken out again.

use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::stacks::monotonic;

/// Whether a process holds the profile.
pub enum Holder {
    /// None does; the profile stays until it is ended.
    None,
    /// One will: it still waits for the answer that the profile has begun, or is about to connect.
    Awaited,
    /// One does, and this connection is open as long as the process lives.
    Here(UnixStream),
}

/// What has happened.
pub enum Event {
    /// A process connects, or the socket is closed.
    Connection,
    /// Nothing.
    Nothing,
    /// The holder is gone.
    Gone,
}

/// The holder connects at once, if it still lives.
const PATIENCE_NANOS: u64 = 10_000_000_000;
/// How often it is looked whether that time has passed.
const GLANCE_MILLIS: i32 = 250;

/// When the process that attached was told that the profile has begun; 0 as long as it was not.
static TOLD: AtomicU64 = AtomicU64::new(0);

/// A profile is about to begin.
pub fn reset() {
    TOLD.store(0, Ordering::Release);
}

/// The profile has begun, or could not; the process that attached is told now.
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
            // A holder says nothing more: this can only be the end of the connection.
            return Event::Gone;
        }
        if ready > 0 && listening.revents != 0 {
            return Event::Connection;
        }
        if self.is_late() { Event::Gone } else { Event::Nothing }
    }

    /// Whether the holder should have connected by now, and has not.
    pub fn is_late(&self) -> bool {
        let told = TOLD.load(Ordering::Acquire);
        matches!(self, Holder::Awaited) && told != 0 && monotonic().saturating_sub(told) > PATIENCE_NANOS
    }
}
