//! `quipu top`: hot methods and threads of a JVM, live.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use clap::Args;
use quipu_collector::arena::ArenaFile;
use quipu_collector::attach::{Attach as Channel, Target};
use quipu_collector::control::ControlError;
use quipu_collector::import::{self, Baseline};
use quipu_collector::jvms::Collections;
use quipu_profile::Profile;

use crate::agent;
use crate::attach::{Waited, find, seconds, wait};
use crate::ctl::{ask, ensure_agent};
use crate::exit::{DONE, Failure};

/// Show the hot methods and threads of a JVM, live, in the terminal.
///
/// It samples CPU time while it runs, unless somebody does already, and leaves the JVM as it found it.
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

    /// Methods to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    rows: usize,

    /// End after so many pictures; with Ctrl-C if absent
    #[arg(long, value_name = "N")]
    rounds: Option<u64>,
}

impl Top {
    /// Shows one picture after the other.
    pub fn run(self) -> anyhow::Result<u8> {
        let pid = find(&self.target)?;
        let target = Target::find(pid).map_err(Failure::target)?;
        let brought = ensure_agent(pid)?;
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let was_off =
            ask(pid, &words(&["status"]))?.iter().any(|(key, value)| key == "cpu" && value == "off");
        if was_off {
            ask(pid, &words(&["start", &format!("cpu={}", self.rate)]))?;
        }
        let shown = self.show(pid, &target);
        if Target::find(pid).is_ok() {
            if brought {
                Channel::new(&target).load_own_agent(&agent::library()?, "stop").map_err(Failure::target)?;
            } else if was_off {
                ask(pid, &words(&["stop", "cpu"]))?;
            }
        }
        shown.map(|()| DONE)
    }

    fn show(&self, pid: u32, target: &Target) -> anyhow::Result<()> {
        let arena = ArenaFile::of_process(pid).map_err(Failure::target)?;
        let mut arena = arena.ok_or_else(|| Failure::target(ControlError::NoAgent))?;
        let mut before = Baseline::read(&arena.read()?).map_err(Failure::target)?;
        let mut then = Instant::now();
        let mut heap = Heap::of(pid)?;
        let mut rounds = 0;
        while self.rounds.is_none_or(|most| rounds < most) {
            if wait(target, Some(self.every), || false)? != Waited::Enough {
                break;
            }
            let heap_before = std::mem::replace(&mut heap, Heap::of(pid)?);
            let bytes = arena.read()?;
            let profile = import::profile_since(&bytes, Some(&before)).map_err(Failure::target)?;
            let elapsed = then.elapsed();
            then = Instant::now();
            before = Baseline::read(&bytes).map_err(Failure::target)?;
            let mut out = io::stdout().lock();
            if out.is_terminal() {
                // To the upper left corner, and nothing below it.
                out.write_all(b"\x1b[H\x1b[J")?;
            }
            out.write_all(picture(&profile, pid, elapsed, self.rows).as_bytes())?;
            out.write_all(heap.since(&heap_before, elapsed).as_bytes())?;
            out.flush()?;
            rounds += 1;
        }
        Ok(())
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
        format!("allocated: {allocated}   collections: {collections}\n\n")
    }
}

/// Threads and methods by CPU time, the most first; 100 % is one processor.
fn picture(profile: &Profile, pid: u32, elapsed: Duration, rows: usize) -> String {
    const THREADS: usize = 8;
    let mut out = String::new();
    let percent = |nanos: u64| 100.0 * nanos as f64 / elapsed.as_nanos().max(1) as f64;
    let Some(cpu) = profile.metric("cpu") else {
        return format!("{pid} used no CPU time in {:.1} s\n\n", elapsed.as_secs_f64());
    };
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "{pid} {}: {:.1} % of a processor in {:.1} s",
        profile.meta.target.main,
        percent(cpu.total()),
        elapsed.as_secs_f64()
    );
    let mut threads: Vec<(u64, &str)> = profile
        .threads()
        .iter()
        .zip(profile.totals_by_thread(cpu))
        .map(|(thread, nanos)| (nanos, profile.str(thread.name)))
        .collect();
    threads.sort_by_key(|&(nanos, name)| (std::cmp::Reverse(nanos), name));
    let _ = writeln!(out, "\n  CPU %  THREAD");
    for (nanos, name) in threads.iter().filter(|(nanos, _)| *nanos > 0).take(THREADS) {
        let _ = writeln!(out, "{:>7.1}  {}", percent(*nanos), printable(name));
    }
    let totals = profile.totals_by_method(cpu);
    let mut methods: Vec<(u64, u64, String)> = (0..profile.methods().len())
        .map(|id| (totals.own[id], totals.total[id], profile.method_name(id as u32)))
        .filter(|(own, _, _)| *own > 0)
        .collect();
    methods.sort_by(|a, b| (b.0, b.1, &a.2).cmp(&(a.0, a.1, &b.2)));
    let _ = writeln!(out, "\n SELF %  TOTAL %  METHOD");
    for (own, total, name) in methods.iter().take(rows) {
        let _ = writeln!(out, "{:>7.1}  {:>7.1}  {}", percent(*own), percent(*total), printable(name));
    }
    out.push('\n');
    out
}

/// Names are the target's: they must not steer the terminal.
fn printable(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}
