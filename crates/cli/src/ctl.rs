//! `quipu ctl`: steer a profile while the target runs.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use quipu_collector::attach::{Attach as Channel, Target};
use quipu_collector::control::{Control, ControlError};
use quipu_kinds::{KINDS, Setting, Value, settings};
use serde_json::json;

use crate::agent;
use crate::attach::find;
use crate::collect;
use crate::directives;
use crate::exit::{DONE, Failure};
use crate::output;
use crate::run::save;
use crate::status;

/// Steer a live profile: switch kinds on and off, change rates.
///
/// Works on a JVM that `quipu run` started or `quipu attach` is attached to; `start` brings the agent into any other. What
/// is sampled stays in the target until `dump` fetches it.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  quipu ctl 4711 start cpu=1000 wall=20     stacks by CPU time and by elapsed time
  quipu ctl 4711 set cpu=100                another rate
  quipu ctl 4711 set bytecodes=1000         a sample every 1,000 bytecodes, if there are such samples
  quipu ctl 4711 status                     what is on, how much there is, what it cost
  quipu ctl 4711 dump -o now.quipu          the profile so far
  quipu ctl 4711 reset                      from now on again
  quipu ctl 4711 stop root=Orders.place     one of several roots
  quipu ctl 4711 stop wall                  one kind; without a kind, all of them
  quipu ctl 4711 directives hot.json        compile by them: quipu export x.quipu --to directives -o hot.json")]
pub struct Ctl {
    /// Process id, or part of the main class's name
    #[arg(value_name = "PID|NAME")]
    target: String,

    /// For programs: what it answers as one JSON object
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// What is on, how much there is, what it cost
    Status,
    #[command(about = format!("Switch kinds on: {}", kinds_in_words()))]
    Start {
        /// What to measure, and its options
        #[arg(required = true, value_name = "KIND[=VALUE]")]
        kinds: Vec<String>,
    },
    /// Switch kinds off, or all; of several roots, one
    Stop {
        /// What not to measure any more
        #[arg(value_name = "KIND[=VALUE]")]
        kinds: Vec<String>,
    },
    #[command(about = format!("Change a setting: {}", settings_in_words()))]
    Set {
        /// What to change
        #[arg(required = true, value_name = "KEY=VALUE")]
        settings: Vec<String>,
    },
    /// Begin anew with what is measured: the profile so far is gone
    Reset,
    /// Have the JVM's compiler inline as a file says that `quipu export --to directives` wrote (Java 9 and newer)
    ///
    /// What is compiled from now on is compiled by it. No agent is loaded.
    Directives {
        /// The file
        #[arg(value_name = "FILE", required_unless_present = "clear")]
        file: Option<PathBuf>,
        /// Take out all directives that were added
        #[arg(long, conflicts_with = "file")]
        clear: bool,
    },
    /// Write the profile so far
    Dump {
        /// Where to write it
        #[arg(short, long, value_name = "FILE", default_value = "profile.quipu")]
        output: PathBuf,
    },
}

impl Ctl {
    /// Asks the target, and says what it answered.
    pub fn run(self) -> anyhow::Result<u8> {
        let pid = find(&self.target)?;
        match &self.command {
            Command::Status => self.tell(&ask(pid, &["status".to_owned()])?),
            Command::Start { kinds } => {
                ensure_agent(pid)?;
                self.tell(&ask(pid, &words("start", kinds))?);
            }
            Command::Stop { kinds } => self.tell(&ask(pid, &words("stop", kinds))?),
            Command::Reset => self.tell(&ask(pid, &["reset".to_owned()])?),
            Command::Set { settings } => self.tell(&ask(pid, &words("set", settings))?),
            Command::Directives { file, .. } => println!("{}", directives::change(pid, file.as_deref())?),
            Command::Dump { output } => {
                output::check(output)?;
                save(&collect::live(pid)?, output)?;
            }
        }
        Ok(DONE)
    }

    fn tell(&self, facts: &[(String, String)]) {
        if self.json {
            let object: serde_json::Map<_, _> =
                facts.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
            println!("{}", serde_json::Value::Object(object));
        } else {
            print!("{}", status::text(facts));
        }
    }
}

/// Brings an agent into a process that has none; tells whether that was so.
pub fn ensure_agent(pid: u32) -> anyhow::Result<bool> {
    let Err(ControlError::NoAgent) = Control::of_process(pid) else { return Ok(false) };
    let target = Target::find(pid).map_err(Failure::target)?;
    Channel::new(&target).load_own_agent(&agent::library()?, agent::IDLE).map_err(Failure::target)?;
    Ok(true)
}

/// `exact, bytecodes=N, cpu, cpu=RATE, …`: how each can be switched on.
fn kinds_in_words() -> String {
    let spelled = KINDS.iter().flat_map(|kind| {
        let Setting { name, value, bare, .. } = &kind.switch;
        let with_value = (!matches!(value, Value::Switch)).then(|| format!("{name}={}", value.name()));
        [bare.map(|_| (*name).to_owned()), with_value].into_iter().flatten()
    });
    spelled.collect::<Vec<_>>().join(", ")
}

/// `cpu=RATE, …, threads=NAME|NAME`: what can be changed.
fn settings_in_words() -> String {
    let changeable = settings().filter(|setting| setting.changeable).map(|setting| {
        let value = setting.value.name();
        let values = if setting.many { format!("{value}|{value}") } else { value.to_owned() };
        format!("{}={values}", setting.name)
    });
    changeable.collect::<Vec<_>>().join(", ")
}

/// A request is one line of words.
fn words(command: &str, rest: &[String]) -> Vec<String> {
    let rest = rest.iter().map(|word| word.replace(' ', "%20").replace('\n', "%0A"));
    std::iter::once(command.to_owned()).chain(rest).collect()
}

/// Asks the agent in a process.
pub fn ask(pid: u32, words: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let answer = Control::of_process(pid).and_then(|control| control.ask(&words));
    answer.map_err(|error| match error {
        ControlError::Refused(why) => Failure::usage(why),
        ControlError::NoAgent => Failure::target(format!(
            "process {pid}: {error}; `quipu ctl {pid} start cpu` brings one in, `quipu ps` lists JVMs"
        )),
        error => Failure::target(format!("process {pid}: {error}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_and_what_can_be_changed_is_in_the_help() {
        let kinds = kinds_in_words();
        assert!(kinds.contains("cpu, cpu=RATE, wall, wall=RATE, event, event=NAME"), "{kinds}");
        assert!(KINDS.iter().all(|kind| kinds.contains(kind.name())), "{kinds}");
        let settings = settings_in_words();
        for name in ["cpu=RATE", "wall=RATE", "bytecodes=", "alloc=", "locks=", "threads=NAME|NAME"] {
            assert!(settings.contains(name), "{settings}");
        }
    }
}
