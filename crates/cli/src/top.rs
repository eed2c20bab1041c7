//! `quipu top`: hot methods and threads of a JVM, live.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use quipu_collector::arena::ArenaFile;
use quipu_collector::attach::{Attach as Channel, Target};
use quipu_collector::control::{Control, ControlError, Held};
use quipu_collector::import::{self, Baseline};
use quipu_collector::jvms::Collections;
use quipu_kinds::CPU;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};

use crate::agent;
use crate::attach::{Waited, find, seconds, wait};
use crate::ctl::ask;
use crate::exit::{DONE, Failure};
use crate::screen::{Asked, Picture, Screen};

/// Show the hot methods and threads of a JVM, live, in the terminal.
///
/// It samples CPU time while it runs, unless it is sampled already, and leaves the JVM as it found it, also
/// if it is killed. Below a root (`quipu ctl PID start root=METHOD`) it shows elapsed time and calls as well. Keys: q quits, a shows
/// what is not Java, too, s sorts by another column, space pauses.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  quipu top 4711
  quipu top com.acme.Main --every 5 --rows 40
  quipu top 4711 --rounds 1 > now.txt")]
pub struct Top {
    /// Process id, or part of the main class's name
    #[arg(value_name = "PID|NAME")]
    target: String,

    /// Seconds from one picture to the next
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    every: Duration,

    /// Samples a second of CPU time
    #[arg(long, value_name = "RATE", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rate: u32,

    /// Functions that are not Java, and threads that run no Java, too
    #[arg(long)]
    all: bool,

    /// Methods to show where the output is no terminal; on one, as many as fit
    #[arg(long, value_name = "N", default_value_t = 20)]
    rows: usize,

    /// Print so many pictures and end; otherwise it ends with the key q
    #[arg(long, value_name = "N")]
    rounds: Option<u64>,
}

impl Top {
    /// Shows one picture after the other.
    pub fn run(self) -> anyhow::Result<u8> {
        let pid = find(&self.target)?;
        let target = Target::find(pid).map_err(Failure::target)?;
        // Dropped when the target is as it was; closed by the kernel if this process is killed.
        let begun = Begun::sampling(pid, &target, self.rate)?;
        let shown = self.show(pid, &target);
        if Target::find(pid).is_ok() {
            begun.end(pid, &target)?;
        }
        shown.map(|()| DONE)
    }

    fn show(&self, pid: u32, target: &Target) -> anyhow::Result<()> {
        let mut looks = Looks::begin(pid)?;
        let mut screen = Screen::new(pid, self.all);
        if self.rounds.is_none() && io::stdout().is_terminal() {
            let mut terminal = ratatui::try_init().context("cannot use the terminal")?;
            let shown = self.interact(&mut terminal, &mut screen, target, &mut looks);
            ratatui::restore();
            return shown;
        }
        let mut rounds = 0;
        while self.rounds.is_none_or(|most| rounds < most)
            && wait(target, Some(self.every), || false)? == Waited::Enough
        {
            screen.show(looks.next()?);
            let mut out = io::stdout().lock();
            out.write_all(screen.text(self.rows).as_bytes())?;
            out.flush()?;
            rounds += 1;
        }
        Ok(())
    }

    /// Draws, and does what keys say, until one says to end or the target does.
    fn interact(
        &self,
        terminal: &mut DefaultTerminal,
        screen: &mut Screen,
        target: &Target,
        looks: &mut Looks,
    ) -> anyhow::Result<()> {
        loop {
            let next = Instant::now() + self.every;
            loop {
                terminal.draw(|frame| screen.draw(frame))?;
                let left = next.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                // A window that changes its size is an event, too, and drawing looks at the size.
                if event::poll(left.min(TICK))?
                    && let Event::Key(key) = event::read()?
                    && screen.key(key) == Asked::Quit
                {
                    return Ok(());
                }
                if Target::find(target.pid()).is_err() {
                    return Ok(());
                }
            }
            screen.show(looks.next()?);
        }
    }
}

/// What was begun in the target, and is held.
enum Begun {
    /// A profile of its own.
    Profile(Held),
    /// Samples, in a profile that is taken by others.
    Samples(Held),
    /// Nothing: it was sampled already.
    Nothing,
}

impl Begun {
    fn sampling(pid: u32, target: &Target, rate: u32) -> anyhow::Result<Begun> {
        let kind = CPU.name();
        let on = format!("{kind}={rate}");
        let control = match Control::of_process(pid) {
            Err(ControlError::NoAgent) => {
                let options = format!("{on}{}", agent::HELD);
                let loaded = Channel::new(target).load_own_agent(&agent::library()?, &options);
                loaded.map_err(Failure::target)?;
                let held = Control::of_process(pid).and_then(|control| control.hold());
                return Ok(Begun::Profile(held.map_err(Failure::target)?));
            }
            control => control.map_err(Failure::target)?,
        };
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let is_off = |(key, value): &(String, String)| key == kind && value == "off";
        if !ask(pid, &words(&["status"]))?.iter().any(is_off) {
            return Ok(Begun::Nothing);
        }
        // Held before they begin: nothing can come between.
        let held = control.hold_kinds(&[kind]).map_err(Failure::target)?;
        ask(pid, &words(&["start", &on]))?;
        Ok(Begun::Samples(held))
    }

    /// Leaves the target as it was.
    fn end(self, pid: u32, target: &Target) -> anyhow::Result<()> {
        match self {
            Begun::Profile(held) => {
                let ended = Channel::new(target).load_own_agent(&agent::library()?, "stop");
                drop(held);
                ended.map_err(Failure::target)
            }
            Begun::Samples(held) => {
                ask(pid, &["stop".to_owned(), CPU.name().to_owned()])?;
                drop(held);
                Ok(())
            }
            Begun::Nothing => Ok(()),
        }
    }
}

/// How long keys are waited for before the target is looked after.
const TICK: Duration = Duration::from_millis(200);

/// Looks at the target, each at what was done since the one before.
struct Looks {
    pid: u32,
    arena: ArenaFile,
    before: Baseline,
    heap: Heap,
    then: Instant,
}

impl Looks {
    fn begin(pid: u32) -> anyhow::Result<Looks> {
        let arena = ArenaFile::of_process(pid).map_err(Failure::target)?;
        let mut arena = arena.ok_or_else(|| Failure::target(ControlError::NoAgent))?;
        let before = Baseline::read(&arena.read()?).map_err(Failure::target)?;
        Ok(Looks { pid, arena, before, heap: Heap::of(pid)?, then: Instant::now() })
    }

    fn next(&mut self) -> anyhow::Result<Picture> {
        let heap_before = std::mem::replace(&mut self.heap, Heap::of(self.pid)?);
        let bytes = self.arena.read()?;
        let profile = import::profile_since(&bytes, Some(&self.before)).map_err(Failure::target)?;
        let elapsed = self.then.elapsed();
        self.then = Instant::now();
        self.before = Baseline::read(&bytes).map_err(Failure::target)?;
        Ok(Picture { profile, elapsed, heap: self.heap.since(&heap_before, elapsed) })
    }
}

/// What a JVM has done to its heap so far.
struct Heap {
    allocated: Option<u64>,
    collections: Option<Collections>,
}

impl Heap {
    /// Asks it; and has what was sampled so far written down.
    fn of(pid: u32) -> anyhow::Result<Heap> {
        let facts = ask(pid, &["dump".to_owned()])?;
        let allocated = facts.iter().find(|(key, _)| key == "allocated");
        Ok(Heap {
            allocated: allocated.and_then(|(_, bytes)| bytes.parse().ok()),
            collections: Collections::of_process(pid),
        })
    }

    /// What was done since.
    fn since(&self, before: &Heap, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs_f64().max(1e-9);
        let allocated = match (self.allocated, before.allocated) {
            (Some(now), Some(then)) => {
                format!("{:.1} MB/s", now.saturating_sub(then) as f64 / 1e6 / seconds)
            }
            _ => "unknown".to_owned(),
        };
        let collections = match (self.collections, before.collections) {
            (Some(now), Some(then)) => format!(
                "{}, {:.1} % of the time",
                now.count.saturating_sub(then.count),
                100.0 * now.time.saturating_sub(then.time).as_secs_f64() / seconds
            ),
            // It keeps no performance data, or we may not read it.
            _ => "unknown".to_owned(),
        };
        format!("allocated: {allocated}   collections: {collections}")
    }
}
