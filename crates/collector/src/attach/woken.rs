//! A VM that was woken while it started may have removed its own socket: once it can take the signal, it looks for a socket that
//! an earlier process of its id has left behind, and does not know that this one is new. Its listener then waits where nobody can
//! reach it, until a second SIGQUIT makes it look. (A second one that is not needed would get a thread dump.)

use super::target::Target;
use std::time::{Duration, Instant};

/// From a thread of the VM to its socket is a matter of microseconds, unless the machine is very busy.
const THREAD_WITHOUT_SOCKET: Duration = Duration::from_millis(500);

/// Whether the VM was woken, and when.
#[derive(Debug, Default)]
pub(super) struct Woken {
    /// When the signal was sent; none once there was a second one.
    at: Option<Instant>,
}

impl Woken {
    /// It is being woken now.
    pub fn now(&mut self) {
        self.at = Some(Instant::now());
    }

    /// Whether its socket should have been there by now, and a second signal is due; once only. Not all VMs tell the names of
    /// their threads: then half the time is waited, as the JDK's own tools do.
    pub fn in_vain(&mut self, target: &Target, timeout: Duration) -> bool {
        let Some(waited) = self.at.map(|at| at.elapsed()) else { return false };
        let due = waited > timeout / 2 || waited > THREAD_WITHOUT_SOCKET && target.has_listener();
        if due {
            self.at = None;
        }
        due
    }
}
