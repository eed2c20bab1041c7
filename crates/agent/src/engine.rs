//! An engine does the work of one kind: it is started, changed and stopped, and says how it is. Everything that is told of
//! kinds by name (options, `quipu ctl`, `quipu.Profiler`) comes here, and goes to one of the [`ENGINES`].

use quipu_jvm::{Class, Env, Object, Thread};
use quipu_kinds::{Chosen, KINDS, Kind, listed};

use crate::engines::{ALLOC, BYTECODES, CPU, EXACT, LOCKS, TIMELINE, WALL};
use crate::options::Options;
use crate::session::Session;

/// What does the work of a kind.
pub trait Engine: Sync {
    /// The kind.
    fn kind(&self) -> &'static Kind;

    /// Begins to measure; with other values, if it does already.
    fn start(&self, session: &'static Session, env: &mut Env<'_>, options: &Options) -> Result<(), String>;

    /// Goes on with another value of a setting that can be changed. Engines are asked about all of them: one that does not
    /// have it does nothing.
    fn change(
        &self,
        session: &'static Session,
        env: &mut Env<'_>,
        name: &str,
        chosen: &Chosen,
    ) -> Result<(), String>;

    /// Measures no more, and takes out what it has put in; nothing if it does not measure.
    fn stop(&self, session: &'static Session, env: &mut Env<'_>) -> Result<(), String>;

    /// What it runs with, such as a rate (empty if the kind takes nothing); `None` while it is off.
    fn status(&self, session: &Session) -> Option<String>;

    /// A thread begins; called on it.
    fn thread_began(&self, _env: &Env<'_>, _thread: Thread<'_>) {}

    /// A thread ends; called on it.
    fn thread_ended(&self, _env: &Env<'_>, _thread: Thread<'_>) {}

    /// An object was made that the VM chose as a sample; called on the thread that made it.
    fn object_sampled(&self, _env: &Env<'_>, _made: &SampledObject<'_>) {}

    /// A thread waits for a monitor, or has waited; called on it.
    fn waits(&self, _env: &Env<'_>, _thread: Thread<'_>, _waiting: Waiting<'_>) {}

    /// A class was loaded; called on the thread that caused it.
    fn class_loaded(&self, _env: &Env<'_>, _thread: Thread<'_>, _class: Class<'_>) {}

    /// The collector has stopped the program, or lets it go on. The VM can be asked nothing meanwhile.
    fn collection(&self, _began: bool) {}

    /// A class can be used from now on.
    fn class_prepared(&self, _class: Class<'_>) {}
}

/// What a thread does with a monitor.
#[derive(Clone, Copy)]
pub enum Waiting<'e> {
    /// It is about to wait for another thread to leave it.
    ToEnter(Object<'e>),
    /// It has entered it.
    Entered,
    /// It is about to wait to be notified.
    ForNotification,
    /// It was notified, or has waited long enough; it does not have the monitor yet.
    Notified(Object<'e>),
}

/// An object that the VM chose as a sample.
pub struct SampledObject<'e> {
    /// The thread that made it.
    pub thread: Thread<'e>,
    /// Its class.
    pub class: Class<'e>,
    /// Its size in bytes.
    pub size: u64,
}

/// One for each kind, in the order in which they are started: what is instrumented first, so that samples find their
/// contexts in it.
pub static ENGINES: [&dyn Engine; KINDS.len()] = [&EXACT, &BYTECODES, &CPU, &WALL, &ALLOC, &LOCKS, &TIMELINE];

/// The engine of a kind.
pub fn of(name: &str) -> Result<&'static dyn Engine, String> {
    ENGINES
        .iter()
        .copied()
        .find(|engine| engine.kind().name() == name)
        .ok_or_else(|| format!("unknown kind '{name}': {}", listed(KINDS.iter().map(|kind| kind.name()))))
}

/// Whether anything is measured.
pub fn any(session: &Session) -> bool {
    ENGINES.iter().any(|engine| engine.status(session).is_some())
}

/// Starts the kinds that were chosen.
pub fn start(session: &'static Session, env: &mut Env<'_>, options: &Options) -> Result<(), String> {
    for engine in ENGINES.iter().filter(|engine| options.chosen.has(engine.kind().name())) {
        engine.start(session, env, options)?;
    }
    Ok(())
}

/// Stops all kinds, the last one first. If one of them cannot, the others are stopped all the same.
pub fn stop(session: &'static Session, env: &mut Env<'_>) -> Result<(), String> {
    let stopped = ENGINES.iter().rev().map(|engine| engine.stop(session, env));
    stopped.fold(Ok(()), Result::and)
}
