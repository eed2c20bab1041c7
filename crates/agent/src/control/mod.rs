//! The control socket: how a profile is steered while the target runs. The protocol is described in `docs/control.md`.
//!
//! A thread waits for connections; until there is one, it does nothing, and the VM does not know of it. Only the target's
//! own user and root are listened to. A connection that sends garbage is closed, and others do not notice.

mod commands;
mod connection;
mod holder;

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quipu_arena::place;

use crate::engine;
use crate::guard::guarded;
use crate::locks::lock;
use crate::own_thread;
use crate::session::Session;
use crate::start;
use connection::Connection;
use holder::{Event, Holder, Holders, MOST_OF_KINDS, OfKinds};

pub use holder::told;

/// A connection on which nothing is said for so long is closed: the next one is waiting.
const PATIENCE: Duration = Duration::from_secs(2);

/// The socket that is listened to, if there is one.
static LISTENING: Mutex<Option<Listening>> = Mutex::new(None);

/// How often it was begun to listen.
static BEGUN: AtomicU64 = AtomicU64::new(0);

struct Listening {
    number: u64,
    listener: UnixListener,
    path: PathBuf,
}

/// Begins to listen, beside the arena; nothing if it does already. What was measured is taken out again unless somebody
/// holds it, if it is to be `held`.
pub fn open(session: &'static Session, held: bool) -> io::Result<()> {
    let mut listening = lock(&LISTENING);
    if listening.is_some() {
        return Ok(());
    }
    let path = place::socket_of(session.arena.path());
    // Of an earlier time in this same process.
    let _ = fs::remove_file(&path);
    let listener = UnixListener::bind(&path)?;
    let waiting = listener.try_clone()?;
    let number = BEGUN.fetch_add(1, Ordering::Relaxed);
    holder::reset();
    std::thread::Builder::new().name("Quipu control".to_owned()).stack_size(512 << 10).spawn(move || {
        guarded((), || {
            own_thread::block_signals();
            own_thread::enter(|| wait(session, &waiting, number, held));
        });
    })?;
    *listening = Some(Listening { number, listener, path });
    Ok(())
}

/// Carries out a request that did not come over the socket: from the program itself.
pub fn carry_out(session: &'static Session, request: &[String]) -> Result<(), String> {
    commands::run(session, request).map(drop)
}

/// Stops listening.
pub fn close() {
    if let Some(listening) = lock(&LISTENING).take() {
        let _ = fs::remove_file(&listening.path);
        // SAFETY: our own descriptor; whoever waits for connections on it is woken.
        unsafe { libc::shutdown(listening.listener.as_raw_fd(), libc::SHUT_RDWR) };
    }
}

fn wait(session: &'static Session, listener: &UnixListener, number: u64, held: bool) {
    let profile = if held { Holder::Awaited } else { Holder::None };
    let mut holders = Holders { profile, of_kinds: Vec::new() };
    loop {
        match holders.wait(listener) {
            Event::Nothing => {}
            Event::Gone => {
                holders.profile = Holder::None;
                abandoned(session, number, &[]);
            }
            Event::KindsGone(gone) => {
                for at in gone.into_iter().rev() {
                    let holder = holders.of_kinds.swap_remove(at);
                    abandoned(session, number, &holder.kinds);
                }
            }
            Event::Connection => match listener.accept() {
                Ok((stream, _)) => {
                    match serve(session, stream) {
                        Some(OfKinds { stream, kinds }) if kinds.is_empty() => {
                            holders.profile = Holder::Here(stream);
                        }
                        Some(of_kinds) if holders.of_kinds.len() < MOST_OF_KINDS => {
                            holders.of_kinds.push(of_kinds);
                        }
                        // Its connection is closed, and it is told so by that.
                        Some(OfKinds { kinds, .. }) => abandoned(session, number, &kinds),
                        None => {}
                    }
                    // Other processes that ask again and again must not keep a profile alive that has no holder.
                    if holders.profile.is_late() {
                        holders.profile = Holder::None;
                        abandoned(session, number, &[]);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            },
        }
    }
}

/// The holder of some kinds, or of the profile, is gone and has not ended them.
fn abandoned(session: &'static Session, number: u64, kinds: &[String]) {
    let _changing = lock(&start::CHANGING);
    // It may have ended the profile at the last moment, and another process may have begun another one.
    if lock(&LISTENING).as_ref().is_none_or(|listening| listening.number != number) {
        return;
    }
    let stopped = match kinds {
        [] => commands::with_env(session, |env| start::stop(session, env)),
        kinds => commands::stop_kinds(session, kinds),
    };
    if let Err(why) = stopped {
        eprintln!("quipu: whoever attached is gone, and the program could not be left as it was: {why}");
    }
}

/// Answers a process that connected. It may become a holder, of some kinds or, if it names none, of the profile: the
/// connection is then returned.
fn serve(session: &'static Session, stream: UnixStream) -> Option<OfKinds> {
    if !is_trusted(&stream) || stream.set_read_timeout(Some(PATIENCE)).is_err() {
        return None;
    }
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let mut connection = Connection::new(stream);
    while let Some(request) = connection.request() {
        if let [command, kinds @ ..] = request.as_slice()
            && command == "hold"
        {
            let unknown = kinds.iter().find_map(|kind| engine::of(kind).err());
            let reply = unknown.map_or(Ok(Vec::new()), Err);
            let holds = connection.reply(&reply).is_ok() && reply.is_ok();
            return holds.then(|| OfKinds { stream: connection.into_stream(), kinds: kinds.to_vec() });
        }
        let reply = commands::run(session, &request);
        if connection.reply(&reply).is_err() {
            return None;
        }
    }
    None
}

/// Whether the process that connected is the target's own user's, or root's.
fn is_trusted(stream: &UnixStream) -> bool {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut size = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes.
    let known = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &mut size,
        )
    };
    // SAFETY: a plain query.
    known == 0 && (peer.uid == 0 || peer.uid == unsafe { libc::geteuid() })
}
