//! `quipu deadlocks`.

use std::time::Duration;

use clap::Args;
use quipu_collector::attach::Target;
use quipu_threads::{Dump, deadlock};
use serde_json::json;

use super::{Asked, text};
use crate::attach::find;
use crate::exit::{DONE, Failure, GATE};

/// How long a lock may be without a holder while it is handed on.
const HANDED_ON: Duration = Duration::from_millis(200);

/// Find threads of a JVM that wait for each other in a circle; exit 1 if there are any
///
/// Monitors, locks of java.util.concurrent that have an owner (ReentrantLock, write locks), and both mixed. Threads that wait
/// for a lock whose holder has ended are told, too. Virtual threads are not looked at: the JVM does not tell their locks.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  quipu deadlocks 4711                 the circles, with stacks
  quipu deadlocks app --watch 5        look every five seconds until there is one
  quipu deadlocks app --json           for programs")]
pub struct Deadlocks {
    /// Process id, or part of the main class's name
    #[arg(value_name = "PID|NAME")]
    target: String,

    /// Look again every so often, until there is a deadlock or the JVM ends
    #[arg(long, value_name = "SECONDS", value_parser = crate::attach::seconds)]
    watch: Option<Duration>,

    /// For programs
    #[arg(long)]
    json: bool,

    /// How long to wait for the JVM's answer
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = crate::attach::seconds)]
    timeout: Duration,
}

impl Deadlocks {
    /// Looks, once or again and again.
    pub fn run(self) -> anyhow::Result<u8> {
        let target = Target::find(find(&self.target)?).map_err(Failure::target)?;
        let asked = Asked { target: &target, timeout: self.timeout };
        loop {
            let dump = asked.platform()?;
            let found = deadlock::find(&dump);
            let orphaned = self.orphaned(&asked, &dump)?;
            if !found.is_empty() || !orphaned.is_empty() || self.watch.is_none() {
                return Ok(self.tell(&found, &orphaned));
            }
            std::thread::sleep(self.watch.unwrap_or_default());
        }
    }

    /// Threads that wait for a lock without a holder, now and a moment later.
    fn orphaned<'d>(&self, asked: &Asked<'_>, dump: &'d Dump) -> anyhow::Result<Vec<deadlock::Orphaned<'d>>> {
        let mut orphaned = deadlock::orphaned(dump);
        if !orphaned.is_empty() {
            std::thread::sleep(HANDED_ON);
            let later = asked.platform()?;
            // Objects may have moved: the thread is the same, and so is the class.
            let still = deadlock::orphaned(&later);
            let same = |one: &deadlock::Orphaned<'_>, other: &deadlock::Orphaned<'_>| {
                one.thread.id == other.thread.id
                    && one.lock.class == other.lock.class
                    && one.thread.frames == other.thread.frames
            };
            orphaned.retain(|one| still.iter().any(|other| same(one, other)));
        }
        Ok(orphaned)
    }

    fn tell(&self, found: &[deadlock::Deadlock<'_>], orphaned: &[deadlock::Orphaned<'_>]) -> u8 {
        if self.json {
            let circles = found.iter().map(|deadlock| {
                let threads = deadlock
                    .circle
                    .iter()
                    .map(|(thread, lock)| json!({ "thread": thread, "waits_for": lock }));
                threads.collect::<Vec<_>>()
            });
            println!("{}", json!({ "deadlocks": circles.collect::<Vec<_>>(), "orphaned": orphaned }));
        } else if found.is_empty() && orphaned.is_empty() {
            println!("no deadlock");
        } else {
            found.iter().for_each(|deadlock| print!("{}", text::deadlock(deadlock)));
            orphaned.iter().for_each(|orphan| print!("{}", text::orphaned(orphan)));
        }
        if found.is_empty() && orphaned.is_empty() { DONE } else { GATE }
    }
}
