//! The process to attach to: is it a JVM, whose is it, and does it listen?

use super::AttachError;
use crate::executable::{Unmeasurable, unmeasurable};
use crate::jvms::perf_data;
use crate::proc::{self, Status, Vm};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};
use std::io;
use std::path::PathBuf;

/// A process that is a HotSpot JVM.
#[derive(Debug)]
pub struct Target {
    pid: u32,
    status: Status,
    /// Refers to this very process even if its id is used again; none on kernels before 5.3.
    handle: Option<OwnedFd>,
}

impl Target {
    /// Looks at a process, without disturbing it. SIGQUIT ends a process that does not expect it, so nothing is sent to a
    /// process that has no VM in it.
    pub fn find(pid: u32) -> Result<Self, AttachError> {
        let gone = AttachError::NoSuchProcess { pid };
        let Some(id) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Err(gone) };
        // The handle comes first: if the id is used again while we look, a signal through the handle hits no other process.
        let handle = match rustix::process::pidfd_open(id, PidfdFlags::empty()) {
            Ok(handle) => Some(handle),
            Err(Errno::NOSYS | Errno::PERM) => None,
            Err(Errno::SRCH | Errno::INVAL) => return Err(gone),
            Err(error) => return Err(io_error(pid, "opening", error.into())),
        };
        let status = match Status::read(pid) {
            Ok(status) if !status.has_ended() => status,
            Ok(_) => return Err(gone),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(gone),
            Err(error) => return Err(io_error(pid, "reading the status", error)),
        };
        let kind = || unmeasurable(&proc::path(pid, "exe"));
        match proc::vm(pid) {
            Ok(Vm::HotSpot { .. }) if kind() == Some(Unmeasurable::ThirtyTwoBits) => {
                Err(AttachError::ThirtyTwoBits { pid })
            }
            Ok(Vm::HotSpot { .. }) => Ok(Self { pid, status, handle }),
            Ok(Vm::OpenJ9) => Err(AttachError::NotHotSpot { pid }),
            Ok(Vm::None) if kind() == Some(Unmeasurable::NativeImage) => {
                Err(AttachError::NativeImage { pid, name: status.name })
            }
            Ok(Vm::None) => Err(AttachError::NotAJvm { pid, name: status.name }),
            Err(error) => match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::ACCESS | Errno::PERM) => Err(not_permitted(pid, status)),
                Some(Errno::SRCH | Errno::NOENT) => Err(gone),
                _ => Err(io_error(pid, "reading the memory map", error)),
            },
        }
    }

    /// Its id, as we see it.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it is there no more.
    pub fn has_ended(&self) -> bool {
        Status::read(self.pid).map_or(true, |status| status.has_ended())
    }

    /// Its id, as it sees itself: another one in a container.
    pub fn namespace_pid(&self) -> u32 {
        self.status.namespace_pid
    }

    /// Its effective user.
    pub fn uid(&self) -> u32 {
        self.status.uid
    }

    /// Its effective group.
    pub fn gid(&self) -> u32 {
        self.status.gid
    }

    /// Where its file system starts, from here: prefix its absolute paths with this.
    pub fn root(&self) -> PathBuf {
        proc::path(self.pid, "root")
    }

    /// Whether a path means the same file to the target as to us. If not, an agent must first be copied below
    /// [`Target::root`].
    pub fn shares_our_files(&self) -> bool {
        let same = |name: &str| {
            let ours = std::fs::read_link(format!("/proc/self/{name}"));
            matches!((ours, std::fs::read_link(proc::path(self.pid, name))), (Ok(a), Ok(b)) if a == b)
        };
        same("ns/mnt") && same("root")
    }

    /// Whether the VM said at its start that it will not listen.
    pub(super) fn refuses_attach(&self) -> bool {
        if let Some(attachable) = perf_data(self.pid, &self.status).and_then(|data| data.attachable()) {
            return !attachable;
        }
        let arguments = proc::command_line(self.pid).unwrap_or_default();
        arguments.iter().any(|argument| argument == "-XX:+DisableAttachMechanism")
    }

    /// Whether the VM has a thread that listens to clients, whether they can reach it or not.
    pub(super) fn has_listener(&self) -> bool {
        let tasks = std::fs::read_dir(proc::path(self.pid, "task"));
        tasks.into_iter().flatten().flatten().any(|task| {
            std::fs::read(task.path().join("comm"))
                .is_ok_and(|name| name.trim_ascii_end() == b"Attach Listener")
        })
    }

    /// How the process is now; an error if it has ended.
    pub(super) fn status(&self) -> Result<Status, AttachError> {
        match Status::read(self.pid) {
            Ok(status) if !status.has_ended() => Ok(status),
            _ => Err(AttachError::Ended { pid: self.pid }),
        }
    }

    pub(super) fn send_quit(&self) -> Result<(), AttachError> {
        let sent = match (&self.handle, i32::try_from(self.pid).ok().and_then(Pid::from_raw)) {
            (Some(handle), _) => rustix::process::pidfd_send_signal(handle, Signal::QUIT),
            (None, Some(id)) => rustix::process::kill_process(id, Signal::QUIT),
            (None, None) => Err(Errno::SRCH),
        };
        match sent {
            Ok(()) => Ok(()),
            Err(Errno::SRCH) => Err(AttachError::Ended { pid: self.pid }),
            Err(Errno::PERM) => Err(AttachError::NotPermitted { pid: self.pid, uid: self.uid() }),
            Err(error) => Err(io_error(self.pid, "sending SIGQUIT", error.into())),
        }
    }

    /// A folder of the target's, held open so that what follows happens in the same place.
    pub(super) fn folder(&self, path: &str) -> Result<OwnedFd, AttachError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::open(proc::path(self.pid, path), flags, Mode::empty()) {
            Ok(folder) => Ok(folder),
            Err(Errno::ACCESS | Errno::PERM) => {
                Err(AttachError::NotPermitted { pid: self.pid, uid: self.uid() })
            }
            Err(error) => {
                self.status()?;
                Err(io_error(self.pid, "opening its /tmp", error.into()))
            }
        }
    }
}

/// The process that asks has another user, or has the right one and is kept out all the same.
fn not_permitted(pid: u32, status: Status) -> AttachError {
    let us = rustix::process::geteuid();
    if us.is_root() || us.as_raw() == status.uid {
        return AttachError::Protected { pid, name: status.name };
    }
    AttachError::NotPermitted { pid, uid: status.uid }
}

pub(super) fn io_error(pid: u32, doing: &'static str, source: io::Error) -> AttachError {
    AttachError::Io { pid, doing, source }
}
