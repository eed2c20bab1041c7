//! HotSpot's attach mechanism, spoken by us: no JDK tools needed, into containers too, and as root into anyone's JVM.
//!
//! [`Target::find`] looks at a process without touching it; [`Attach`] asks it something. The first question wakes the
//! VM's listener (a file, a signal, a socket: `docs/attach.md`), which then stays up for the life of the JVM.

mod answer;
mod connect;
mod error;
mod message;
mod target;
mod trigger;
mod woken;

pub use answer::Answer;
pub use error::AttachError;
pub use message::{Reply, Request};
pub use target::Target;

use connect::{Broken, Socket};
use message::Loaded;
use rustix::process::Signal;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use target::io_error;
use trigger::Trigger;
use woken::Woken;

/// A way to talk to one JVM, and how patient to be.
#[derive(Debug)]
pub struct Attach<'t> {
    target: &'t Target,
    timeout: Duration,
}

impl<'t> Attach<'t> {
    /// With 10 s for each question, as the JDK's own tools have it.
    pub fn new(target: &'t Target) -> Self {
        Self { target, timeout: Duration::from_secs(10) }
    }

    /// How long one question may take, from waking the listener to the end of the answer. An agent that instruments a
    /// large program while it is being loaded needs more than the default.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Asks, and returns the answer whatever its status.
    pub fn ask(&self, request: &Request<'_>) -> Result<Reply, AttachError> {
        let (pid, command) = (self.target.pid(), request.command().to_owned());
        let bytes = request.encode()?;
        let deadline = Instant::now() + self.timeout;
        let mut stream = self.connect(&command, deadline)?;
        let reply = match connect::exchange(&mut stream, &bytes, deadline) {
            Ok(reply) => reply,
            Err(Broken::Late) => return Err(self.late(command)),
            Err(Broken::Endless) => return Err(AttachError::Malformed { pid, command }),
            // Hanging up with our request unread resets the connection.
            Err(Broken::Io(error)) if error.kind() == std::io::ErrorKind::ConnectionReset => Vec::new(),
            Err(Broken::Io(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Vec::new(),
            Err(Broken::Io(error)) => return Err(io_error(pid, "talking", error)),
        };
        if reply.is_empty() {
            self.target.status()?;
            return Err(AttachError::Closed { pid });
        }
        Reply::decode(&reply).ok_or(AttachError::Malformed { pid, command })
    }

    /// Asks, and returns what was printed; a status other than 0 is an error.
    pub fn run(&self, request: &Request<'_>) -> Result<String, AttachError> {
        let reply = self.ask(request)?;
        if reply.status == 0 {
            return Ok(reply.text());
        }
        Err(AttachError::Command {
            pid: self.target.pid(),
            command: request.command().to_owned(),
            status: reply.status,
            output: reply.text().trim().to_owned(),
        })
    }

    /// Loads a native agent. The path is the target's: see [`Target::shares_our_files`].
    ///
    /// JDK 21 and newer print a warning about this on the target's stderr, unless they were started with
    /// `-XX:+EnableDynamicAgentLoading`.
    pub fn load_agent(&self, agent: &Path, options: &str) -> Result<(), AttachError> {
        let pid = self.target.pid();
        let reply = self.ask(&Request::load(agent.as_os_str().as_bytes(), options))?;
        match Loaded::from_reply(&reply) {
            Loaded::Yes => Ok(()),
            Loaded::Refused(code) => Err(AttachError::AgentRefused { pid, code }),
            Loaded::Forbidden => Err(AttachError::AgentsForbidden { pid }),
            Loaded::Failed(reason) => {
                Err(AttachError::AgentNotLoaded { pid, agent: agent.to_owned(), reason })
            }
        }
    }

    /// Loads our own agent, which can say why it refuses.
    pub fn load_own_agent(&self, agent: &Path, options: &str) -> Result<(), AttachError> {
        // Where there is no place for an answer, the reason is on the target's standard error.
        let answer = Answer::create(self.target).ok();
        let path = answer.as_ref().map(|answer| format!(",answer={}", answer.path())).unwrap_or_default();
        let loaded = self.load_agent(agent, &format!("{options}{path}"));
        match (loaded, answer.map(|answer| answer.read())) {
            (Err(AttachError::AgentRefused { pid, .. }), Some(reason)) if !reason.is_empty() => {
                Err(AttachError::AgentDeclined { pid, reason })
            }
            (loaded, _) => loaded,
        }
    }

    /// Loads our own agent with a question, and returns its answer.
    pub fn ask_own_agent(&self, agent: &Path, question: &str) -> Result<String, AttachError> {
        let answer = Answer::create(self.target)?;
        let loaded = self.load_agent(agent, &format!("{question},answer={}", answer.path()));
        match loaded {
            Ok(()) => Ok(answer.text()),
            Err(AttachError::AgentRefused { pid, code }) => match answer.read() {
                reason if reason.is_empty() => Err(AttachError::AgentRefused { pid, code }),
                reason => Err(AttachError::AgentDeclined { pid, reason }),
            },
            Err(error) => Err(error),
        }
    }

    /// Runs a diagnostic command: `VM.version`, `GC.class_histogram`, …
    pub fn jcmd(&self, command: &str) -> Result<String, AttachError> {
        self.run(&Request::jcmd(command))
    }

    /// A connection to the VM's listener, which is woken first if it does not run yet.
    fn connect(&self, command: &str, deadline: Instant) -> Result<UnixStream, AttachError> {
        let pid = self.target.pid();
        let mut trigger: Option<Trigger> = None;
        let mut woken = Woken::default();
        let mut pause = Duration::from_millis(1);
        loop {
            let absent = match connect::connect(self.target)? {
                Socket::Connected(stream) => return Ok(stream),
                Socket::Busy => false,
                Socket::Absent => true,
            };
            let status = self.target.status()?;
            // A stopped target would get the signal later, when our file is gone, and print a thread dump; one that does
            // not handle it (it is starting, or was started with -Xrs and makes its socket unasked) would end.
            let can_be_woken = !status.is_stopped() && status.catches(Signal::QUIT.as_raw());
            if absent && trigger.is_none() {
                if self.target.refuses_attach() {
                    return Err(AttachError::Disabled { pid });
                }
                if can_be_woken {
                    trigger = Some(Trigger::create(self.target)?);
                    self.target.send_quit()?;
                    woken.now();
                }
            } else if absent && can_be_woken && woken.in_vain(self.target, self.timeout) {
                self.target.send_quit()?;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let never_woken = absent && trigger.is_none() && !status.is_stopped();
                let late = self.late(command.to_owned());
                return Err(if never_woken { AttachError::NotReady { pid } } else { late });
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    /// What to say when time is up.
    fn late(&self, command: String) -> AttachError {
        let pid = self.target.pid();
        match self.target.status() {
            Ok(status) if status.is_stopped() => AttachError::Stopped { pid },
            Ok(_) => AttachError::NoAnswer { pid, command, waited: self.timeout },
            Err(ended) => ended,
        }
    }
}
