//! The `.attach_pid` file, which turns the VM's answer to SIGQUIT from a thread dump into listening for clients.

use super::AttachError;
use super::target::{Target, io_error};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

/// The file, removed again when this is dropped, however the attempt ends.
#[derive(Debug)]
pub(super) struct Trigger {
    folder: OwnedFd,
    name: String,
    is_ours: bool,
}

impl Trigger {
    /// Puts the file where the VM looks: its `/tmp`, or else its working directory. (The VM looks there first, but a
    /// working directory is the user's own, and may be watched.)
    pub fn create(target: &Target) -> Result<Self, AttachError> {
        let in_tmp = Self::create_in(target, "root/tmp");
        match in_tmp {
            Ok(trigger) => Ok(trigger),
            Err(error) => Self::create_in(target, "cwd").map_err(|_| error),
        }
    }

    fn create_in(target: &Target, folder: &str) -> Result<Self, AttachError> {
        let failed = |error: Errno| io_error(target.pid(), "creating the .attach_pid file", error.into());
        let folder = target.folder(folder)?;
        let name = format!(".attach_pid{}", target.namespace_pid());
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::WRONLY | OFlags::CLOEXEC;
        match rustix::fs::openat(&folder, &name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => {
                let trigger = Self { folder, name, is_ours: true };
                if rustix::process::geteuid().as_raw() != target.uid() {
                    // Before JDK 11 the VM accepts a file of its own user only, not root's.
                    let (uid, gid) = (Uid::from_raw(target.uid()), Gid::from_raw(target.gid()));
                    rustix::fs::fchown(file.as_fd(), Some(uid), Some(gid)).map_err(failed)?;
                }
                Ok(trigger)
            }
            Err(Errno::EXIST) => {
                // Another client is at it, or died at it. Its file serves us as well if the VM will accept it.
                let found = rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
                if found.st_uid == target.uid() || found.st_uid == 0 {
                    Ok(Self { folder, name, is_ours: false })
                } else {
                    Err(failed(Errno::EXIST))
                }
            }
            Err(error) => Err(failed(error)),
        }
    }
}

impl Drop for Trigger {
    fn drop(&mut self) {
        if self.is_ours {
            // Nothing is left to do if this fails; the VM ignores the file from now on.
            _ = rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty());
        }
    }
}
