//! `quipu ctl`: steer a profile while the target runs.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use quipu_collector::arena::ArenaFile;
use quipu_collector::attach::{Attach as Channel, Target};
use quipu_collector::control::{Control, ControlError};
use quipu_collector::import;
use serde_json::json;

use crate::agent;
use crate::attach::find;
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
  quipu ctl 4711 stop wall                  one kind; without a kind, all of them")]
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
    /// Switch kinds on: exact, cpu, cpu=RATE, wall, wall=RATE
    Start {
        /// What to measure
        #[arg(required = true, value_name = "KIND[=RATE]")]
        kinds: Vec<String>,
    },
    /// Switch kinds off, or all
    Stop {
        /// What not to measure any more
        #[arg(value_name = "KIND")]
        kinds: Vec<String>,
    },
    /// Change a setting: cpu=RATE, wall=RATE, bytecodes=N, threads=NAME|NAME
    Set {
        /// What to change
        #[arg(required = true, value_name = "KEY=VALUE")]
        settings: Vec<String>,
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
            Command::Set { settings } => self.tell(&ask(pid, &words("set", settings))?),
            Command::Dump { output } => {
                output::check(output)?;
                ask(pid, &["dump".to_owned()])?;
                let arena = ArenaFile::of_process(pid).map_err(Failure::target)?;
                let mut arena = arena.ok_or_else(|| Failure::target(ControlError::NoAgent))?;
                let mut profile = import::profile(&arena.read()?).map_err(Failure::target)?;
                profile.meta.target.command = vec!["attach".to_owned(), profile.meta.target.main.clone()];
                save(&profile, output)?;
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
