//! Talking to the control socket of a target; the protocol is described in `docs/control.md`.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use quipu_arena::place;

use crate::arena::ArenaFile;

/// The protocol and its version.
const PROTOCOL: &str = "quipu/1";
/// Starting an exact profile of a large program takes its time.
const PATIENCE: Duration = Duration::from_secs(120);
/// A reply is no longer than this.
const LONGEST: u64 = 1 << 20;

/// Why a target could not be steered.
#[derive(Debug)]
pub enum ControlError {
    /// No process listens there.
    NoAgent,
    /// The target refused, and said why.
    Refused(String),
    /// What came back was no reply.
    Malformed,
    /// The connection failed.
    Io(io::Error),
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControlError::NoAgent => write!(f, "there is no agent in it that listens"),
            ControlError::Refused(why) => f.write_str(why),
            ControlError::Malformed => write!(f, "it answered something that is no reply"),
            ControlError::Io(error) => write!(f, "its control socket: {error}"),
        }
    }
}

impl std::error::Error for ControlError {}

/// As long as this is there, a profile stays that was begun to be held.
#[derive(Debug)]
pub struct Held(
    #[allow(dead_code, reason = "it is the connection that counts, not what is said on it")] UnixStream,
);

/// The control socket of a target.
#[derive(Debug)]
pub struct Control {
    path: PathBuf,
}

impl Control {
    /// The socket of a process that has an agent in it.
    pub fn of_process(pid: u32) -> Result<Control, ControlError> {
        let arena = ArenaFile::of_process(pid).map_err(ControlError::Io)?.ok_or(ControlError::NoAgent)?;
        let path = place::socket_of(arena.path());
        // The target may see other files than we do.
        let below_root = Path::new("/proc").join(pid.to_string()).join("root");
        let inside = path.strip_prefix("/").map(|path| below_root.join(path));
        let path = inside.ok().filter(|inside| inside.exists()).unwrap_or(path);
        if !path.exists() {
            return Err(ControlError::NoAgent);
        }
        Ok(Control { path })
    }

    /// Asks for something and returns the facts that come back.
    pub fn ask(&self, words: &[&str]) -> Result<Vec<(String, String)>, ControlError> {
        self.exchange(words).map(|(facts, _)| facts)
    }

    /// Has the target left as it was as soon as what is returned is dropped, be it that this process is killed.
    pub fn hold(&self) -> Result<Held, ControlError> {
        self.exchange(&["hold"]).map(|(_, stream)| Held(stream))
    }

    /// Has kinds switched off, as soon as what is returned is dropped, that were added to a profile of others.
    pub fn hold_kinds(&self, kinds: &[&str]) -> Result<Held, ControlError> {
        self.exchange(&[&["hold"], kinds].concat()).map(|(_, stream)| Held(stream))
    }

    fn exchange(&self, words: &[&str]) -> Result<(Vec<(String, String)>, UnixStream), ControlError> {
        let mut stream = UnixStream::connect(&self.path).map_err(ControlError::Io)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(ControlError::Io)?;
        let request = format!("{PROTOCOL} {}\n", words.join(" "));
        stream.write_all(request.as_bytes()).map_err(ControlError::Io)?;
        let mut lines = BufReader::new((&stream).take(LONGEST)).lines();
        let mut facts = Vec::new();
        let mut next = || lines.next().transpose().map_err(ControlError::Io);
        let first = next()?.ok_or(ControlError::Malformed)?;
        if let Some(why) = first.strip_prefix("error ") {
            return Err(ControlError::Refused(why.to_owned()));
        }
        if first != "ok" {
            return Err(ControlError::Malformed);
        }
        loop {
            let line = next()?.ok_or(ControlError::Malformed)?;
            if line.is_empty() {
                drop(lines);
                return Ok((facts, stream));
            }
            let (key, value) = line.split_once('=').ok_or(ControlError::Malformed)?;
            facts.push((key.to_owned(), value.to_owned()));
        }
    }
}
