//! A process that attached and wants the target left as it was holds a connection, and is the holder of the profile. When the
//! connection is closed before the profile was ended, that process is gone, and everything is taken out again. A process that
//! only adds kinds to a profile of others holds these: they are switched off when its connection is closed.

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

/// Kinds that a process added to a profile.
pub struct OfKinds {
    /// Open as long as the process lives.
    pub stream: UnixStream,
    /// Their names.
    pub kinds: Vec<String>,
}

/// All processes that hold something.
pub struct Holders {
    /// The one that holds the profile.
    pub profile: Holder,
    /// Those that hold kinds.
    pub of_kinds: Vec<OfKinds>,
}

/// More processes than this hold no kinds at the same time.
pub const MOST_OF_KINDS: usize = 64;

/// What has happened.
pub enum Event {
    /// A process connects, or the socket is closed.
    Connection,
    /// Nothing.
    Nothing,
    /// The holder of the profile is gone.
    Gone,
    /// Those who hold kinds are gone, by their places in [`Holders::of_kinds`].
    KindsGone(Vec<usize>),
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

impl Holders {
    /// Waits until something happens.
    pub fn wait(&self, listener: &UnixListener) -> Event {
        let held = match &self.profile {
            Holder::Here(stream) => stream.as_raw_fd(),
            // The kernel skips it.
            _ => -1,
        };
        let of_kinds = self.of_kinds.iter().map(|holder| holder.stream.as_raw_fd());
        let mut descriptors: Vec<libc::pollfd> = [listener.as_raw_fd(), held]
            .into_iter()
            .chain(of_kinds)
            .map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 })
            .collect();
        let timeout = if matches!(self.profile, Holder::Awaited) { GLANCE_MILLIS } else { -1 };
        // SAFETY: the descriptors are open, and the kernel writes to this array only.
        let ready =
            unsafe { libc::poll(descriptors.as_mut_ptr(), descriptors.len() as libc::nfds_t, timeout) };
        if let (true, [listening, holding, of_kinds @ ..]) = (ready > 0, descriptors.as_slice()) {
            // A holder says nothing more: this can only be the end of the connection.
            if holding.revents != 0 {
                return Event::Gone;
            }
            let gone: Vec<usize> =
                (0..).zip(of_kinds).filter(|(_, holder)| holder.revents != 0).map(|(at, _)| at).collect();
            if !gone.is_empty() {
                return Event::KindsGone(gone);
            }
            if listening.revents != 0 {
                return Event::Connection;
            }
        }
        if self.profile.is_late() { Event::Gone } else { Event::Nothing }
    }
}

impl Holder {
    /// Whether the holder should have connected by now, and has not.
    pub fn is_late(&self) -> bool {
        let told = TOLD.load(Ordering::Acquire);
        matches!(self, Holder::Awaited) && told != 0 && monotonic().saturating_sub(told) > PATIENCE_NANOS
    }
}
