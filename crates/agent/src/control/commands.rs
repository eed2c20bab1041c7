//! What can be asked for.

use quipu_arena::layout::{CAUSES, header};
use quipu_kinds::{Chosen, KINDS, kind, listed, setting, settings};

use crate::engine::{self, ENGINES};
use crate::locks::lock;
use crate::options::Options;
use crate::session::Session;
use crate::stacks;
use crate::start;

use super::connection::Reply;

/// Carries a request out.
pub fn run(session: &'static Session, request: &[String]) -> Reply {
    let (command, words) = request.split_first().ok_or("a command is missing")?;
    // The program itself may ask at the same time, and another process may attach.
    let _changing = lock(&start::CHANGING);
    match command.as_str() {
        "status" => {}
        "start" => start_kinds(session, words)?,
        "stop" => stop_kinds(session, words)?,
        "set" => words.iter().try_for_each(|word| set(session, word))?,
        "reset" => reset(session)?,
        "dump" => stacks::flush(session)?,
        unknown => {
            return Err(format!(
                "unknown command '{unknown}': status, start, stop, set, reset, dump or hold"
            ));
        }
    }
    Ok(status(session))
}

/// `cpu`, `cpu=1000`, `exact`, …, with options of theirs. What is switched on while nothing is measured begins a profile of
/// its own, with options of its own; unless the process that started the VM writes one of all that is measured in it.
fn start_kinds(session: &'static Session, words: &[String]) -> Result<(), String> {
    let mut chosen = Chosen::default();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        if kind(name).is_none() && setting(name).is_none() {
            engine::of(name)?;
        }
        choose(&mut chosen, name, value)?;
    }
    if chosen.kinds().next().is_none() {
        return Err(format!("which kind? {}", listed(KINDS.iter().map(|kind| kind.name()))));
    }
    let running = session.owned || engine::any(session);
    let mut all = session.options().chosen.clone();
    if !running {
        KINDS.iter().for_each(|kind| all.leave_out(kind.name()));
    }
    all.leave_out("idle");
    // The engine knows those that there are of what can be named several times; these are added to them, below.
    for kind in chosen.kinds() {
        all.leave_out(kind.name());
        if !kind.switch.many {
            choose(&mut all, kind.name(), chosen.get(kind.name()).unwrap_or_default())?;
        }
    }
    // What was said of kinds that are off is not said of these.
    all.leave_out_unconcerned();
    for (name, value) in chosen.iter() {
        if running && kind(name).is_none() && all.get(name) != Some(value) {
            return Err(format!(
                "--{name} cannot be changed in a profile that is being taken: stop it first, or leave this out"
            ));
        }
        choose(&mut all, name, value)?;
    }
    let options = Options::of(all)?;
    with_env(session, |env| {
        if !running {
            start::begin_profile(session, env, &options)?;
        }
        engine::start_those(session, env, &options, &chosen)
    })
}

/// Begins anew with what is measured: nothing that was counted or sampled so far is in the profile from now on. What threads are in
/// the middle of is not in it either: everything is taken out for a moment.
fn reset(session: &'static Session) -> Result<(), String> {
    let before = session.options();
    if !engine::any(session) {
        return Err("nothing is measured".to_owned());
    }
    if before.agent.is_some() {
        return Err(
            "an agent of the user's is not told of a new beginning: stop and start it instead".to_owned()
        );
    }
    let mut all = before.chosen.clone();
    KINDS.iter().for_each(|kind| all.leave_out(kind.name()));
    let running = current(session);
    if stacks::current().any() {
        // Others may have been chosen since, or all.
        all.leave_out("threads");
    }
    for name in settings().map(|setting| setting.name).filter(|name| running.has(name)) {
        all.leave_out(name);
        running.all(name).try_for_each(|value| all.set(name, value)).map_err(|wrong| wrong.0)?;
    }
    // Kinds that were stopped may have left theirs.
    all.leave_out_unconcerned();
    let options = Options::of(all)?;
    with_env(session, |env| {
        engine::stop(session, env)?;
        start::begin_profile(session, env, &options)?;
        engine::start(session, env, &options)
    })?;
    // They may be others than those that the target was started with.
    for setting in settings().filter(|setting| setting.changeable && options.chosen.has(setting.name)) {
        session.tell_option(setting.name, &options.chosen);
    }
    Ok(())
}

/// Kinds, one value of a kind (`root=com.acme.Orders.place`), or everything.
pub fn stop_kinds(session: &'static Session, words: &[String]) -> Result<(), String> {
    if words.is_empty() {
        return with_env(session, |env| engine::stop(session, env));
    }
    for word in words {
        let (name, value) = word.split_once('=').map_or((&**word, None), |(name, value)| (name, Some(value)));
        let engine = engine::of(name)?;
        with_env(session, |env| match value {
            Some(value) => engine.stop_one(session, env, &value.replace("%20", " ")),
            None => engine.stop(session, env),
        })?;
    }
    Ok(())
}

/// Another value of something that can be changed.
fn set(session: &'static Session, word: &str) -> Result<(), String> {
    let (name, value) = word.split_once('=').ok_or_else(|| format!("'{word}' is not KEY=VALUE"))?;
    let Some(setting) = setting(name).filter(|setting| setting.changeable) else {
        let names = settings().filter(|setting| setting.changeable).map(|setting| setting.name);
        return Err(format!("unknown setting '{name}': {}", listed(names)));
    };
    if name == "threads" && !stacks::current().any() {
        return Err("nothing is sampled: start cpu or wall first".to_owned());
    }
    let mut chosen = current(session);
    choose(&mut chosen, name, value)?;
    with_env(session, |env| {
        ENGINES.iter().try_for_each(|engine| engine.change(session, env, name, &chosen))
    })?;
    session.changed(setting, &chosen);
    Ok(())
}

/// What the kinds that are on run with.
fn current(session: &Session) -> Chosen {
    let mut chosen = Chosen::default();
    for engine in ENGINES {
        for value in engine.values(session) {
            // It says what it was told.
            let _ = chosen.set(engine.kind().name(), &value);
        }
    }
    for name in stacks::current().threads {
        let _ = chosen.set("threads", &name);
    }
    chosen
}

/// Names of threads are separated by bars, and spaces separate words: one in a name is written `%20`. None at all means all
/// threads.
fn choose(chosen: &mut Chosen, name: &str, value: &str) -> Result<(), String> {
    if name != "threads" {
        return chosen.set(name, &value.replace("%20", " ")).map_err(|wrong| wrong.0);
    }
    chosen.leave_out(name);
    let names = value.split('|').filter(|name| !name.is_empty()).map(|name| name.replace("%20", " "));
    names.into_iter().try_for_each(|one| chosen.set(name, &one)).map_err(|wrong| wrong.0)
}

/// Runs something in the VM, for which this thread joins it for a moment.
pub fn with_env(
    session: &'static Session,
    body: impl for<'f> FnOnce(&mut quipu_jvm::Env<'f>) -> Result<(), String>,
) -> Result<(), String> {
    let mut attached = session.vm.attach_current_thread(c"Quipu control").map_err(|e| e.to_string())?;
    attached.with_env(body).map_err(|e| e.to_string())?
}

fn status(session: &Session) -> Vec<(String, String)> {
    let read = |field| session.arena.read(field).to_string();
    let mut facts = vec![
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("pid", std::process::id().to_string()),
        ("arena", session.arena.path().display().to_string()),
    ];
    for engine in ENGINES {
        let value = match engine.status(session) {
            Some(value) if value.is_empty() => "on".to_owned(),
            Some(value) => value,
            None => "off".to_owned(),
        };
        facts.push((engine.kind().name(), value));
    }
    facts.extend([
        ("threads", stacks::current().threads.join("|")),
        ("samples", read(header::SAMPLES)),
        ("walks", read(header::WALKS)),
        ("sampling.nanos", read(header::SAMPLING_NANOS)),
        ("rewrite.nanos", read(header::REWRITE_NANOS)),
        ("arena.used", read(header::USED)),
        ("arena.limit", read(header::LIMIT)),
    ]);
    facts.extend(stacks::allocated().map(|bytes| ("allocated", bytes.to_string())));
    let mut facts: Vec<_> = facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    for (i, cause) in CAUSES.iter().enumerate() {
        let lost = session.arena.read(header::LOST + 8 * i as u64);
        if lost > 0 {
            facts.push((format!("lost.{cause}"), lost.to_string()));
        }
    }
    facts
}
