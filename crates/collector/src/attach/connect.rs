//! The VM's socket: reaching it under the right user, and one exchange over it.

use super::AttachError;
use super::target::{Target, io_error};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Gid, Uid};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// More than any reply a JVM has reason to send; a target that goes on talking is cut off here.
const REPLY_LIMIT: usize = 1 << 30;

/// What one try to connect came to.
#[derive(Debug)]
pub(super) enum Socket {
    Connected(UnixStream),
    /// There is a listener, and its queue is full. Another SIGQUIT would get a thread dump.
    Busy,
    /// There is no socket, or no process listens there.
    Absent,
}

/// Tries once to connect.
pub(super) fn connect(target: &Target) -> Result<Socket, AttachError> {
    let folder = target.folder("root/tmp")?;
    // By way of our own descriptor: the target's user, which we may have to become, may not be allowed the longer way.
    let path = format!("/proc/self/fd/{}/.java_pid{}", folder.as_raw_fd(), target.namespace_pid());
    let same_user = rustix::process::geteuid().as_raw() == target.uid()
        && rustix::process::getegid().as_raw() == target.gid();
    let connected = if same_user || !rustix::process::geteuid().is_root() {
        connect_to(&path)
    } else {
        connect_as(target, &path)
    };
    match connected {
        Ok(stream) => Ok(Socket::Connected(stream)),
        Err(Errno::NOENT | Errno::CONNREFUSED) => Ok(Socket::Absent),
        Err(Errno::AGAIN) => Ok(Socket::Busy),
        Err(Errno::ACCESS | Errno::PERM) => {
            Err(AttachError::NotPermitted { pid: target.pid(), uid: target.uid() })
        }
        Err(error) => Err(io_error(target.pid(), "connecting", error.into())),
    }
}

/// Does not block: a stopped JVM's queue fills up, and then connecting would wait for ever.
fn connect_to(path: &str) -> Result<UnixStream, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket: OwnedFd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(stream)
}

/// Connects as the target's user and group, which the VM compares with its own. Users belong to threads on Linux, so a
/// thread of its own changes hands and ends. (Root itself is let in since JDK 11, but not from outside a user namespace.)
fn connect_as(target: &Target, path: &str) -> Result<UnixStream, Errno> {
    let (uid, gid) = (Uid::from_raw(target.uid()), Gid::from_raw(target.gid()));
    let dumpable = rustix::process::dumpable_behavior();
    let connected = std::thread::scope(|scope| {
        let work = scope.spawn(|| {
            rustix::thread::set_thread_res_gid(None, gid, None)?;
            rustix::thread::set_thread_res_uid(None, uid, None)?;
            connect_to(path)
        });
        work.join().unwrap_or(Err(Errno::IO))
    });
    // The kernel takes the change of user as a reason to hide the whole process from debuggers.
    if let Ok(before) = dumpable {
        _ = rustix::process::set_dumpable_behavior(before);
    }
    connected
}

/// Why an exchange gave no reply.
#[derive(Debug)]
pub(super) enum Broken {
    Late,
    Endless,
    Io(io::Error),
}

/// Sends a request and reads until the VM closes.
pub(super) fn exchange(
    stream: &mut UnixStream,
    request: &[u8],
    deadline: Instant,
) -> Result<Vec<u8>, Broken> {
    stream.set_write_timeout(Some(remaining(deadline)?)).map_err(Broken::Io)?;
    stream.write_all(request).map_err(broken)?;
    let (mut reply, mut buffer) = (Vec::new(), [0; 16 << 10]);
    loop {
        stream.set_read_timeout(Some(remaining(deadline)?)).map_err(Broken::Io)?;
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(reply),
            Ok(count) => reply.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(broken(error)),
        }
        if reply.len() > REPLY_LIMIT {
            return Err(Broken::Endless);
        }
    }
}

fn remaining(deadline: Instant) -> Result<std::time::Duration, Broken> {
    let remaining = deadline.saturating_duration_since(Instant::now());
    if remaining.is_zero() { Err(Broken::Late) } else { Ok(remaining) }
}

fn broken(error: io::Error) -> Broken {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Broken::Late,
        _ => Broken::Io(error),
    }
}
