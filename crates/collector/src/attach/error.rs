//! What can go wrong on the way into a JVM; each in one sentence that says what to do.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a JVM could not be reached, or did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// Nobody has this id.
    #[error("there is no process {pid}; `quipu ps` lists the JVMs")]
    NoSuchProcess {
        /// The id asked for.
        pid: u32,
    },
    /// The process has no VM in it; it was not touched.
    #[error("process {pid} ({name}) is not a JVM; `quipu ps` lists the JVMs")]
    NotAJvm {
        /// The process.
        pid: u32,
        /// Its name.
        name: String,
    },
    /// Another kind of VM, which speaks another protocol.
    #[error(
        "process {pid} runs OpenJ9, and Quipu measures HotSpot only; run the program on a JDK with HotSpot"
    )]
    NotHotSpot {
        /// The process.
        pid: u32,
    },
    /// A JVM that the agent cannot be loaded into.
    #[error("process {pid} is a 32-bit JVM, and Quipu is for 64-bit ones; run the program on a 64-bit JDK")]
    ThirtyTwoBits {
        /// The process.
        pid: u32,
    },
    /// A Java program that was compiled ahead of time.
    #[error(
        "process {pid} ({name}) is a GraalVM native image: there is no JVM in it, and no bytecode; run the program on a \
         JVM to profile it"
    )]
    NativeImage {
        /// The process.
        pid: u32,
        /// Its name.
        name: String,
    },
    /// The process is someone else's.
    #[error("process {pid} belongs to user {uid}; run quipu as that user or as root")]
    NotPermitted {
        /// The process.
        pid: u32,
        /// Whose it is.
        uid: u32,
    },
    /// The process is of the same user, or we are root, and yet it is closed to us.
    #[error(
        "process {pid} ({name}) cannot be looked into, not even by its own user or root here: the kernel protects it. If it is \
         a JVM, it is one of another container or has privileges that quipu has not: run quipu where it was started, or \
         with the capability SYS_PTRACE; `quipu ps` lists the JVMs that can be reached"
    )]
    Protected {
        /// The process.
        pid: u32,
        /// Its name.
        name: String,
    },
    /// The target said at its start that it does not want this.
    #[error("JVM {pid} was started with -XX:+DisableAttachMechanism; start it without, or use `quipu run`")]
    Disabled {
        /// The process.
        pid: u32,
    },
    /// A signal would end the target instead of waking its attach listener.
    #[error("JVM {pid} does not handle SIGQUIT; it is starting up or shutting down, try again in a moment")]
    NotReady {
        /// The process.
        pid: u32,
    },
    /// The target is held by job control or a debugger.
    #[error("JVM {pid} is stopped and cannot answer; resume it with `kill -CONT {pid}` or in its debugger")]
    Stopped {
        /// The process.
        pid: u32,
    },
    /// The target went away meanwhile.
    #[error("JVM {pid} ended before it answered")]
    Ended {
        /// The process.
        pid: u32,
    },
    /// Nothing came in time.
    #[error(
        "JVM {pid} did not answer {command} within {} s; it may be busy in a long pause: try again or wait longer",
        waited.as_secs_f32()
    )]
    NoAnswer {
        /// The process.
        pid: u32,
        /// What it was asked.
        command: String,
        /// How long we waited.
        waited: Duration,
    },
    /// The VM hung up, which is how it treats users it does not trust.
    #[error(
        "JVM {pid} closed the connection without an answer; run quipu as its own user and group, or as root"
    )]
    Closed {
        /// The process.
        pid: u32,
    },
    /// An answer that is not one.
    #[error("JVM {pid} answered {command} with something that is not a reply")]
    Malformed {
        /// The process.
        pid: u32,
        /// What it was asked.
        command: String,
    },
    /// The request does not fit into the protocol.
    #[error("an argument of {command} is longer than {limit} bytes, the JVM's limit, or has a NUL in it")]
    Request {
        /// The command.
        command: String,
        /// How long a part may be.
        limit: usize,
    },
    /// The VM ran the command and says it failed.
    #[error("JVM {pid} could not do {command}: {output}")]
    Command {
        /// The process.
        pid: u32,
        /// What it was asked.
        command: String,
        /// Its status.
        status: i32,
        /// Its words.
        output: String,
    },
    /// The target does not take agents while it runs.
    #[error(
        "JVM {pid} was started with -XX:-EnableDynamicAgentLoading; start it without, or use `quipu run`"
    )]
    AgentsForbidden {
        /// The process.
        pid: u32,
    },
    /// The agent's library could not be loaded there.
    #[error(
        "JVM {pid} could not load {agent}: {reason}; the path must exist where the JVM runs, and be readable to it"
    )]
    AgentNotLoaded {
        /// The process.
        pid: u32,
        /// The library.
        agent: PathBuf,
        /// The VM's words.
        reason: String,
    },
    /// The agent was loaded, and declined.
    #[error("the agent refused to start in JVM {pid} (code {code}); its reason is on the JVM's own stderr")]
    AgentRefused {
        /// The process.
        pid: u32,
        /// What `Agent_OnAttach` returned.
        code: i32,
    },
    /// The agent was loaded, and declined with a reason.
    #[error("JVM {pid} cannot be profiled: {reason}")]
    AgentDeclined {
        /// The process.
        pid: u32,
        /// The agent's words.
        reason: String,
    },
    /// The machine, rather than the JVM.
    #[error("{doing} for process {pid}: {source}")]
    Io {
        /// The process.
        pid: u32,
        /// What we were at.
        doing: &'static str,
        /// The system's answer.
        source: io::Error,
    },
}
