//! An engine does the work of one kind: it is started, changed and stopped, and says how it is. Everything that is told of
//! kinds by name (options, `quipu ctl`, `quipu.Profiler`) comes here, and goes to one of the [`ENGINES`].

use std::cell::OnceCell;
use std::sync::Arc;

use quipu_jvm::{Class, Env, Error, Object, Thread};
use quipu_kinds::{Chosen, KINDS, Kind, listed};
use quipu_rewrite::Instrument;

pub use crate::engines::ENGINES;
use crate::options::Options;
use crate::session::Session;
use crate::stacks::record::{self, Here};

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

    /// Goes on without one of the values that it was started with, for kinds that take several.
    fn stop_one(&self, _: &'static Session, _: &mut Env<'_>, _value: &str) -> Result<(), String> {
        Err(["stop ", self.kind().name(), ": it has one value only"].concat())
    }

    /// The values that it would be started with to go on as it does; none while it is off.
    fn values(&self, session: &Session) -> Vec<String> {
        self.status(session).into_iter().collect()
    }

    /// What it runs with, such as a rate (empty if the kind takes nothing); `None` while it is off.
    fn status(&self, session: &Session) -> Option<String>;

    /// What it inserts into classes beside what counts, if these are its options: see [`crate::start::insert`].
    /// What that code calls is there from then on.
    fn instrument(
        &self,
        _session: &'static Session,
        _env: &mut Env<'_>,
        _options: &Options,
    ) -> Result<Option<Arc<dyn Instrument>>, Error> {
        Ok(None)
    }

    /// A thread begins; called on it.
    fn thread_began(&self, _env: &Env<'_>, _thread: Thread<'_>) {}

    /// A thread ends; called on it.
    fn thread_ended(&self, _env: &Env<'_>, _thread: Thread<'_>) {}

    /// An object was made that the VM chose as a sample; called on the thread that made it.
    fn object_sampled(&self, _env: &Env<'_>, _made: &SampledObject<'_>) {}

    /// A thread waits for a monitor, or has waited; called on it.
    fn waits(&self, _env: &Env<'_>, _thread: Thread<'_>, _waiting: Waiting<'_>) {}

    /// The VM has the bytes of a class and is about to read them, by name if it knows it; called on the thread that loads it.
    fn class_file(&self, _name: Option<&[u8]>) {}

    /// A method is entered on a thread of which the VM was asked to tell that; called on it.
    fn method_entered(&self, _env: &Env<'_>, _thread: Thread<'_>) {}

    /// A class was loaded; called on the thread that caused it.
    fn class_loaded(&self, _env: &Env<'_>, _thread: Thread<'_>, _class: Class<'_>) {}

    /// The collector has stopped the program, or lets it go on. The VM can be asked nothing meanwhile.
    fn collection(&self, _began: bool) {}

    /// On our own thread, every now and then while something is recorded, and soon after [`crate::stacks::record::wake`].
    fn upkeep(&self, _env: &Env<'_>) {}

    /// The VM ends, and can still be asked.
    fn vm_ends(&self, _env: &mut Env<'_>) {}

    /// A class can be used from now on.
    fn class_prepared(&self, _env: &Env<'_>, _class: Class<'_>) {}
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
    /// The object.
    pub object: Object<'e>,
    /// Where it was made, once somebody has asked.
    pub place: OnceCell<Option<Here>>,
}

impl SampledObject<'_> {
    /// Where it was made. The stack is walked once, however many engines ask.
    pub fn here(&self, env: &Env<'_>) -> Option<Here> {
        *self.place.get_or_init(|| record::here(env, self.thread))
    }
}

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
    start_those(session, env, options, &options.chosen)
}

/// Starts `wanted` kinds, all of them or none: those that were off are off again if one is refused.
pub fn start_those(
    session: &'static Session,
    env: &mut Env<'_>,
    options: &Options,
    wanted: &Chosen,
) -> Result<(), String> {
    let mut started = Vec::new();
    for engine in ENGINES.iter().copied().filter(|engine| wanted.has(engine.kind().name())) {
        if engine.status(session).is_none() {
            started.push(engine);
        }
        if let Err(why) = engine.start(session, env, options) {
            // Why the first was refused is what matters.
            started.iter().rev().for_each(|engine| _ = engine.stop(session, env));
            return Err(why);
        }
    }
    Ok(())
}

/// What the kinds that were chosen insert into classes, beside what counts.
pub fn instruments(
    session: &'static Session,
    env: &mut Env<'_>,
    options: &Options,
) -> Result<Vec<Arc<dyn Instrument>>, Error> {
    let chosen = ENGINES.iter().filter(|engine| options.chosen.has(engine.kind().name()));
    chosen.filter_map(|engine| engine.instrument(session, env, options).transpose()).collect()
}

/// Stops all kinds, the last one first. If one of them cannot, the others are stopped all the same.
pub fn stop(session: &'static Session, env: &mut Env<'_>) -> Result<(), String> {
    let stopped = ENGINES.iter().rev().map(|engine| engine.stop(session, env));
    stopped.fold(Ok(()), Result::and)
}
