//! What can be asked for.

use quipu_arena::layout::{CAUSES, header};

use crate::bytecodes;
use crate::options::{Options, positive, rate};
use crate::sampling;
use crate::session::Session;
use crate::start;

use super::connection::Reply;

/// Carries a request out.
pub fn run(session: &'static Session, request: &[String]) -> Reply {
    let (command, words) = request.split_first().ok_or("a command is missing")?;
    match command.as_str() {
        "status" => Ok(status(session)),
        "start" => {
            begin_profile(session)?;
            for word in words {
                switch_on(session, word)?;
            }
            Ok(status(session))
        }
        "stop" if words.is_empty() => {
            switch_off(session, "cpu")?;
            switch_off(session, "wall")?;
            switch_off(session, if samples_bytecodes(session) { "bytecodes" } else { "exact" })?;
            Ok(status(session))
        }
        "stop" => {
            for word in words {
                switch_off(session, word)?;
            }
            Ok(status(session))
        }
        "set" => {
            for word in words {
                let (key, value) =
                    word.split_once('=').ok_or_else(|| format!("'{word}' is not KEY=VALUE"))?;
                set(session, key, value)?;
            }
            Ok(status(session))
        }
        "dump" => {
            sampling::flush(session)?;
            Ok(status(session))
        }
        unknown => Err(format!("unknown command '{unknown}': status, start, stop, set, dump or hold")),
    }
}

/// What is switched on while nothing is measured begins a profile of its own; unless whoever started the VM writes one of
/// all that is measured in it.
fn begin_profile(session: &'static Session) -> Result<(), String> {
    if session.owned || session.plan().is_some() || sampling::current().any() {
        return Ok(());
    }
    let options = session.options();
    with_env(session, |env| start::begin_profile(session, env, &options))
}

/// `cpu`, `cpu=1000`, `exact`, …
fn switch_on(session: &'static Session, word: &str) -> Result<(), String> {
    const DEFAULT_RATE: &str = "100";
    match word.split_once('=').unwrap_or((word, "")) {
        ("exact", "") => {
            if session.plan().is_some() {
                return Ok(());
            }
            let options = Options { exact: true, ..Options::clone(&session.options()) };
            with_env(session, |env| start::instrument(session, env, &options).map_err(|e| e.to_string()))
        }
        (kind @ ("cpu" | "wall"), "") => set(session, kind, DEFAULT_RATE),
        (kind @ ("cpu" | "wall" | "bytecodes"), value) => set(session, kind, value),
        (kind, _) => Err(format!("unknown kind '{kind}': exact, cpu, cpu=RATE, wall or wall=RATE")),
    }
}

fn switch_off(session: &'static Session, kind: &str) -> Result<(), String> {
    let mut wanted = sampling::current();
    match kind {
        "exact" if samples_bytecodes(session) => return Ok(()),
        "bytecodes" if !samples_bytecodes(session) => return Ok(()),
        "exact" | "bytecodes" => {
            return with_env(session, |env| {
                start::remove_instrumentation(session, env).map_err(|e| e.to_string())
            });
        }
        "cpu" => wanted.cpu = None,
        "wall" => wanted.wall = None,
        unknown => return Err(format!("unknown kind '{unknown}': exact, bytecodes, cpu or wall")),
    }
    with_env(session, |env| start::sample(session, env, &wanted))
}

/// Sets one thing. This is where a new one goes.
fn set(session: &'static Session, key: &str, value: &str) -> Result<(), String> {
    let mut wanted = sampling::current();
    match key {
        "bytecodes" if !samples_bytecodes(session) => {
            return Err(
                "no samples are taken every so many bytecodes: run or attach with --bytecodes".to_owned()
            );
        }
        "bytecodes" => {
            bytecodes::set_granularity(session, positive(key, value).map_err(|e| e.to_string())?);
            return Ok(());
        }
        "cpu" => wanted.cpu = Some(rate(key, value).map_err(|e| e.to_string())?),
        "wall" => wanted.wall = Some(rate(key, value).map_err(|e| e.to_string())?),
        "threads" if !wanted.any() => return Err("nothing is sampled: start cpu or wall first".to_owned()),
        "threads" => {
            // Spaces separate words, so one in a name is written `%20`; none at all means all threads.
            let names = value.split('|').filter(|name| !name.is_empty());
            wanted.threads = names.map(|name| name.replace("%20", " ")).collect();
        }
        unknown => return Err(format!("unknown setting '{unknown}': bytecodes, cpu, wall or threads")),
    }
    with_env(session, |env| start::sample(session, env, &wanted))
}

/// Whether what is instrumented takes samples every so many bytecodes, instead of counting.
fn samples_bytecodes(session: &Session) -> bool {
    session.plan().is_some_and(|plan| plan.sampling)
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
    let wanted = sampling::current();
    let rate = |rate: Option<u32>| rate.map_or("off".to_owned(), |rate| rate.to_string());
    let read = |field| session.arena.read(field).to_string();
    let bytecodes = samples_bytecodes(session);
    let exact = session.plan().is_some() && !bytecodes;
    let mut facts = [
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("pid", std::process::id().to_string()),
        ("arena", session.arena.path().display().to_string()),
        ("exact", if exact { "on" } else { "off" }.to_owned()),
        ("bytecodes", if bytecodes { read(header::EVERY) } else { "off".to_owned() }),
        ("cpu", rate(wanted.cpu)),
        ("wall", rate(wanted.wall)),
        ("threads", wanted.threads.join("|")),
        ("samples", read(header::SAMPLES)),
        ("walks", read(header::WALKS)),
        ("sampling.nanos", read(header::SAMPLING_NANOS)),
        ("rewrite.nanos", read(header::REWRITE_NANOS)),
        ("arena.used", read(header::USED)),
        ("arena.limit", read(header::LIMIT)),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .to_vec();
    if let Some(bytes) = sampling::allocated() {
        facts.push(("allocated".to_owned(), bytes.to_string()));
    }
    for (i, cause) in CAUSES.iter().enumerate() {
        let lost = session.arena.read(header::LOST + 8 * i as u64);
        if lost > 0 {
            facts.push((format!("lost.{cause}"), lost.to_string()));
        }
    }
    facts
}
