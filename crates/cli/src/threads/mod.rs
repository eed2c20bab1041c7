//! `quipu threads` and `quipu deadlocks`: what the threads of a JVM are doing, and whether some wait for each other.
//!
//! HotSpot prints its own dump of all platform threads, at one moment, over its attach socket; no agent is loaded. Virtual
//! threads it writes to a file.

mod busy;
mod deadlocks;
mod text;

pub use deadlocks::Deadlocks;

use std::time::Duration;

use clap::Args;
use quipu_collector::attach::{Answer, Attach, AttachError, Request, Target};
use quipu_threads::Dump;
use serde_json::json;

use crate::attach::find;
use crate::exit::{DONE, Failure};

/// A file with ten thousand virtual threads has 20 MB.
const LARGEST: u64 = 1 << 30;

/// Show the threads of a JVM: states, stacks, locks, CPU time
///
/// Threads with the same stack are shown together. The JVM stands still for the moment in which it makes the dump, some
/// milliseconds with hundreds of threads; with --fast it does not.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  quipu threads 4711                   all threads, those with the same stack together
  quipu threads app --json             the same for programs, one row a thread
  quipu threads app --fast             without stopping the JVM (JDK 21 and later)
  quipu deadlocks app                  only those that wait for each other in a circle")]
pub struct Threads {
    /// Process id, or part of the main class's name
    #[arg(value_name = "PID|NAME")]
    target: String,

    /// For programs: one object with all threads
    #[arg(long)]
    json: bool,

    /// One thread after the other, without stopping the JVM: not of one moment, and without locks
    #[arg(long)]
    fast: bool,

    /// How long to look how much CPU time each thread uses; 0 for not at all
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = crate::attach::seconds)]
    watch: Duration,

    /// How long to wait for the JVM's answer
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = crate::attach::seconds)]
    timeout: Duration,
}

impl Threads {
    /// Prints the threads.
    pub fn run(self) -> anyhow::Result<u8> {
        let target = Target::find(find(&self.target)?).map_err(Failure::target)?;
        let asked = Asked { target: &target, timeout: self.timeout };
        let mut dump = if self.fast { asked.fast()? } else { asked.whole()? };
        if !self.watch.is_zero() {
            busy::watch(target.pid(), self.watch, &mut dump);
        }
        if self.json {
            println!("{}", json!({ "pid": target.pid(), "threads": dump.threads }));
        } else {
            print!("{}", text::threads(&dump, &crate::report::style()));
        }
        Ok(DONE)
    }
}

/// A JVM that is asked for its threads.
pub struct Asked<'t> {
    target: &'t Target,
    timeout: Duration,
}

impl Asked<'_> {
    /// Platform threads, at one moment, with their locks.
    pub fn platform(&self) -> anyhow::Result<Dump> {
        let request = Request::other("threaddump", [b"-l", b"", b""]);
        let text = self.channel().run(&request).map_err(Failure::target)?;
        Ok(Dump::parse(&text))
    }

    /// The same, and virtual ones where there are any.
    fn whole(&self) -> anyhow::Result<Dump> {
        let mut dump = self.platform()?;
        match self.written()? {
            // It has some of its threads or none, where it cannot be read.
            Written::Whole(json) => match dump.add_virtual(&json) {
                Ok(_) => {}
                Err(error) => warn_of_virtual(&error),
            },
            Written::Failed(why) => warn_of_virtual(&why),
            Written::Never => {}
        }
        Ok(dump)
    }

    /// All threads, one after the other.
    fn fast(&self) -> anyhow::Result<Dump> {
        let mut dump = Dump::default();
        match self.written()? {
            Written::Whole(json) => dump.add_virtual(&json).map_err(Failure::target)?,
            Written::Failed(why) => return Err(Failure::target(why)),
            Written::Never => {
                return Err(Failure::target(
                    "this JVM can only tell of its threads while it stands still: --fast needs JDK 21 or later",
                ));
            }
        };
        Ok(dump)
    }

    /// All threads, one after the other, with the locks that are told there.
    fn written_threads(&self) -> anyhow::Result<Written<Dump>> {
        Ok(match self.written()? {
            Written::Whole(json) => match Dump::written(&json) {
                Ok(dump) => Written::Whole(dump),
                Err(error) => Written::Failed(error.to_string()),
            },
            Written::Failed(why) => Written::Failed(why),
            Written::Never => Written::Never,
        })
    }

    fn channel(&self) -> Attach<'_> {
        Attach::new(self.target).with_timeout(self.timeout)
    }

    /// What the JVM writes of all its threads.
    fn written(&self) -> anyhow::Result<Written<String>> {
        let file = match Answer::create(self.target) {
            Ok(file) => file,
            Err(error) => return Ok(Written::Failed(error.to_string())),
        };
        let command = format!("Thread.dump_to_file -overwrite -format=json {}", file.path());
        match self.channel().jcmd(&command) {
            // A disk that is full is no error to the command.
            Ok(said) if !said.contains("Created") => Ok(Written::Failed(format!(
                "the JVM could not write them to {}: {}",
                file.path(),
                said.trim()
            ))),
            Ok(_) => Ok(Written::Whole(file.whole(LARGEST))),
            Err(AttachError::Command { .. }) => Ok(Written::Never),
            Err(error) => Err(Failure::target(error)),
        }
    }
}

/// What the JVM writes of all its threads, or that read.
enum Written<T> {
    /// It did.
    Whole(T),
    /// It should have; why it did not.
    Failed(String),
    /// Before JDK 21 there is no such command, and there are no virtual threads.
    Never,
}

fn warn_of_virtual(why: &dyn std::fmt::Display) {
    eprintln!("quipu: virtual threads are left out: {why}");
}
