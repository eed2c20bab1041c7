//! `quipu deadlocks`.

use std::time::{Duration, Instant};

use clap::Args;
use quipu_collector::attach::Target;
use quipu_threads::Dump;
use quipu_threads::deadlock::{self, Deadlock, Orphaned, Owner};
use serde_json::json;

use super::{Asked, Written, text, warn_of_virtual};
use crate::attach::find;
use crate::exit::{DONE, Failure, GATE};

/// How long a lock may be without a holder while it is handed on.
const HANDED_ON: Duration = Duration::from_millis(200);

/// Find threads of a JVM that wait for each other in a circle; exit 1 if there are any
///
/// Monitors, locks of java.util.concurrent that have an owner (ReentrantLock, write locks), and both mixed. Threads that wait
/// for a ReentrantLock whose holder has ended are told, too. Threads that wait for some time only are in no deadlock. Of virtual
/// threads the JVM tells monitors from JDK 25 on, and locks of java.util.concurrent from JDK 26 on; before that they are not seen.
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

/// How long a JVM that hangs up may take to be gone.
const ENDING: Duration = Duration::from_secs(5);

/// Whether a JVM that did not answer has ended, or does so now.
fn ends(target: &Target) -> bool {
    let began = Instant::now();
    while !target.has_ended() && began.elapsed() < ENDING {
        std::thread::sleep(Duration::from_millis(10));
    }
    target.has_ended()
}

/// What one look has found.
struct Found<'d> {
    circles: Vec<Deadlock<'d>>,
    orphaned: Vec<Orphaned<'d>>,
    /// Threads that wait for a lock which a virtual thread may have, or one that has ended.
    unsure: Vec<Orphaned<'d>>,
}

impl Deadlocks {
    /// Looks, once or again and again.
    pub fn run(self) -> anyhow::Result<u8> {
        let target = Target::find(find(&self.target)?).map_err(Failure::target)?;
        let asked = Asked { target: &target, timeout: self.timeout };
        let mut looks = 0_u64;
        loop {
            match self.look(&asked) {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => looks += 1,
                // A JVM that has ended has no deadlock, and it was looked at as long as there was one.
                Err(_) if looks > 0 && ends(&target) => {
                    let none: [Deadlock<'_>; 0] = [];
                    match self.json {
                        true => {
                            println!("{}", json!({ "deadlocks": none, "orphaned": none, "looks": looks }))
                        }
                        false => println!("no deadlock: the JVM has ended, after {looks} looks"),
                    }
                    return Ok(DONE);
                }
                Err(error) => return Err(error),
            }
            std::thread::sleep(self.watch.unwrap_or_default());
        }
    }

    /// Looks once; the exit status if that was all.
    fn look(&self, asked: &Asked<'_>) -> anyhow::Result<Option<u8>> {
        let dump = asked.platform()?;
        let written = match asked.written_threads()? {
            Written::Whole(written) => Some(written),
            Written::Failed(why) => {
                warn_of_virtual(&why);
                None
            }
            Written::Never => None,
        };
        let mut found = Found { circles: deadlock::find(&dump), orphaned: Vec::new(), unsure: Vec::new() };
        if let Some(written) = &written {
            found.circles.extend(self.circles_of_virtual(asked, written)?);
        }
        self.orphaned(asked, &dump, &mut found)?;
        let nothing = found.circles.is_empty() && found.orphaned.is_empty();
        Ok((!nothing || self.watch.is_none()).then(|| self.tell(&found)))
    }

    /// Circles with virtual threads in them, now and a moment later: the file is not of one moment.
    fn circles_of_virtual<'d>(
        &self,
        asked: &Asked<'_>,
        written: &'d Dump,
    ) -> anyhow::Result<Vec<Deadlock<'d>>> {
        let mut circles = deadlock::find(written);
        circles.retain(|found| found.circle.iter().any(|(thread, _)| thread.is_virtual));
        if circles.is_empty() {
            return Ok(circles);
        }
        std::thread::sleep(HANDED_ON);
        let Written::Whole(later) = asked.written_threads()? else { return Ok(Vec::new()) };
        let still = deadlock::find(&later);
        let same = |one: &Deadlock<'_>, other: &Deadlock<'_>| {
            one.circle.len() == other.circle.len()
                && one.circle.iter().all(|(thread, lock)| {
                    other
                        .circle
                        .iter()
                        .any(|(at, of)| at.id == thread.id && of == lock && at.frames == thread.frames)
                })
        };
        circles.retain(|one| still.iter().any(|other| same(one, other)));
        Ok(circles)
    }

    /// Threads that wait for a lock without a holder, now and a moment later.
    fn orphaned<'d>(&self, asked: &Asked<'_>, dump: &'d Dump, found: &mut Found<'d>) -> anyhow::Result<()> {
        let mut orphaned = deadlock::orphaned(dump);
        if orphaned.is_empty() {
            return Ok(());
        }
        std::thread::sleep(HANDED_ON);
        let later = asked.platform()?;
        // Objects may have moved: the thread is the same, and so is the class.
        let still = deadlock::orphaned(&later);
        let same = |one: &Orphaned<'_>, other: &Orphaned<'_>| {
            one.thread.id == other.thread.id
                && one.lock.class == other.lock.class
                && one.thread.frames == other.thread.frames
        };
        orphaned.retain(|one| still.iter().any(|other| same(one, other)));
        if orphaned.is_empty() {
            return Ok(());
        }
        let written = match asked.written_threads()? {
            Written::Whole(written) => written,
            Written::Never => Dump::default(),
            // Any of them may be held by a virtual thread.
            Written::Failed(_) => {
                found.unsure.extend(orphaned);
                return Ok(());
            }
        };
        for orphan in orphaned {
            match deadlock::owner(&orphan, dump, &written) {
                Owner::Ended => found.orphaned.push(orphan),
                Owner::MayBeVirtual => found.unsure.push(orphan),
                Owner::Lives => {}
            }
        }
        Ok(())
    }

    fn tell(&self, found: &Found<'_>) -> u8 {
        let Found { circles, orphaned, unsure } = found;
        let none = circles.is_empty() && orphaned.is_empty();
        if self.json {
            let circles = circles.iter().map(|deadlock| {
                let threads = deadlock
                    .circle
                    .iter()
                    .map(|(thread, lock)| json!({ "thread": thread, "waits_for": lock }));
                threads.collect::<Vec<_>>()
            });
            let circles: Vec<_> = circles.collect();
            println!("{}", json!({ "deadlocks": circles, "orphaned": orphaned, "unsure": unsure }));
            return if none { DONE } else { GATE };
        }
        if none {
            println!("no deadlock");
        }
        circles.iter().for_each(|deadlock| print!("{}", text::deadlock(deadlock)));
        orphaned.iter().for_each(|orphan| print!("{}", text::orphaned(orphan)));
        unsure.iter().for_each(|orphan| print!("{}", text::unsure(orphan)));
        if none { DONE } else { GATE }
    }
}
