//! A file in which an agent can say why it refuses, or a JVM write what is too long for its socket: all that a JVM passes on
//! of an agent is a number.

use super::AttachError;
use super::target::{Target, io_error};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};
use std::fs::File;
use std::io::Read;

/// No reason is longer.
const LONGEST: u64 = 4096;
/// No answer to a question is longer.
const LONGEST_ANSWER: u64 = 16 << 20;

/// The file, removed again when this is dropped.
#[derive(Debug)]
pub struct Answer {
    folder: OwnedFd,
    name: String,
    file: File,
}

impl Answer {
    /// Makes the file, empty, in the target's `/tmp`; it is the target's.
    pub fn create(target: &Target) -> Result<Answer, AttachError> {
        let failed =
            |error: rustix::io::Errno| io_error(target.pid(), "making a file for its answer", error.into());
        let folder = target.folder("root/tmp")?;
        let name = format!(".quipu_answer{}-{}", target.namespace_pid(), std::process::id());
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, &name, flags, Mode::RUSR | Mode::WUSR).map_err(failed)?;
        let answer = Answer { folder, name, file: File::from(file) };
        if rustix::process::geteuid().as_raw() != target.uid() {
            let (uid, gid) = (Uid::from_raw(target.uid()), Gid::from_raw(target.gid()));
            rustix::fs::fchown(answer.file.as_fd(), Some(uid), Some(gid)).map_err(failed)?;
        }
        Ok(answer)
    }

    /// Its path, as the target sees it.
    pub fn path(&self) -> String {
        format!("/tmp/{}", self.name)
    }

    /// All that was written, up to so many bytes.
    pub fn whole(&self, most: u64) -> String {
        let mut text = Vec::new();
        // What cannot be read was not written.
        let _ = (&self.file).take(most).read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// What the agent said, in one line.
    pub fn read(&self) -> String {
        self.up_to(LONGEST).replace(char::is_control, " ").trim().to_owned()
    }

    /// What the agent answered, as it is.
    pub fn text(&self) -> String {
        self.up_to(LONGEST_ANSWER)
    }

    fn up_to(&self, most: u64) -> String {
        let mut text = Vec::new();
        // What cannot be read was not said.
        let _ = (&self.file).take(most).read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        // Nothing is left to do if this fails: it is a small file in /tmp.
        _ = rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty());
    }
}
