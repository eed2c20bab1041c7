//! One run of one program under one profiler.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Serialize;
use wait4::Wait4;

use crate::late::{Attached, Late};
use crate::process::{self, Counters};
use crate::program::Split;

/// What a program prints before everything that is for the harness.
const MARK: &str = "quipu-bench ";

/// One iteration, as measured.
#[derive(Clone, Debug, Serialize)]
pub struct Iteration {
    /// Nanoseconds of elapsed time, by the program's own clock.
    pub wall: u64,
    /// Nanoseconds of CPU time of the whole process.
    pub cpu: u64,
    /// … of its JIT compiler threads.
    pub jit: u64,
    /// … of its collector threads.
    pub gc: u64,
    /// What came out.
    pub checksum: String,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "how", content = "why")]
pub enum Ending {
    /// All iterations, exit status 0.
    Done,
    /// Stopped because it took too long.
    Stopped(String),
    /// It failed; what it printed last.
    Failed(String),
}

/// One run.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// How it ended.
    pub ending: Ending,
    /// Nanoseconds from the start of the command to the end of the first iteration.
    pub startup: Option<u64>,
    /// Nanoseconds from the start to the end of the command, writing the profile included.
    pub whole: u64,
    /// Nanoseconds of CPU time of all of it, the profiler's own processes included.
    pub whole_cpu: u64,
    /// Peak memory of the JVM, bytes.
    pub peak: u64,
    /// Peak memory of the largest process, bytes: more than `peak` if the profiler's own needs more.
    pub peak_any: u64,
    /// Resident bytes of the profile in the JVM after the last iteration.
    pub arena: u64,
    /// The iterations, in order.
    pub iterations: Vec<Iteration>,
}

/// What to run and where its output goes.
pub struct Order<'a> {
    /// The command.
    pub command: Command,
    /// How many iterations.
    pub split: Split,
    /// All it prints.
    pub log: &'a Path,
    /// When to give up.
    pub limit: Duration,
    /// What attaches, unless the profiler is there from the start.
    pub late: Option<&'a Late>,
}

impl Run {
    /// Does it. `tell` hears of every iteration that ended.
    pub fn perform(order: Order<'_>, mut tell: impl FnMut(usize)) -> anyhow::Result<Run> {
        let Order { mut command, split, log, limit, late } = order;
        let errors = log.with_extension("err");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(&errors)?);
        // A group of its own, so that a run that has to be stopped is stopped with all its processes.
        command.process_group(0);
        let begun = Instant::now();
        let mut child =
            command.spawn().with_context(|| format!("cannot start {:?}", command.get_program()))?;
        let lines = lines_of(&mut child, log.to_owned())?;
        let mut seen = Seen::default();
        let mut tap = child.stdin.take();
        let mut arena = 0;
        let mut attached = None;
        // When the profiler began, and the iterations until then.
        let (mut since, mut alone) = (begun, 0);
        let mut trouble = None;
        let ended = loop {
            let left = limit.saturating_sub(begun.elapsed());
            match lines.recv_timeout(left) {
                Ok(line) => {
                    let counters = seen.line(&line, begun);
                    tell(seen.iterations.len() - alone);
                    let due = late.filter(|late| alone == 0 && begun.elapsed() >= late.after);
                    if let Some(late) = due.filter(|_| counters && !seen.iterations.is_empty()) {
                        match late.attach(seen.pid, child.id()) {
                            Ok(profiler) => attached = Some(profiler),
                            Err(error) => trouble = Some(format!("{error:#}")),
                        }
                        (since, alone) = (Instant::now(), seen.iterations.len());
                        seen.last = Counters::of(seen.pid);
                    }
                    let done = seen.iterations.len() - alone;
                    let is_enough = (late.is_none() || alone > 0)
                        && split.is_enough(done, compiling(seen.last_of(split)), since.elapsed());
                    if counters && (is_enough || trouble.is_some()) {
                        arena = process::arena(seen.pid);
                        let left = attached.take().map(Attached::leave).transpose();
                        trouble = trouble.or(left.err().map(|error| format!("{error:#}")));
                        tap = None;
                    } else if counters {
                        // A target that is gone shows itself by the end of its output.
                        let _ = tap.as_mut().map(|tap| tap.write_all(b"."));
                    }
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => break true,
                Err(mpsc::RecvTimeoutError::Timeout) => break false,
            }
        };
        drop(tap);
        if !ended {
            let group = Pid::from_raw(i32::try_from(child.id())?);
            // Gone already is as good.
            let _ = killpg(group, Signal::SIGKILL);
        }
        let used = child.wait4()?;
        let whole = begun.elapsed();
        let done = seen.iterations.len() - alone;
        let complete = done >= split.warmup + split.steady;
        let ending = match used.status {
            _ if trouble.is_some() => Ending::Failed(trouble.unwrap_or_default()),
            _ if !ended => Ending::Stopped(format!(
                "stopped after {} s with {done} of {} iterations done",
                limit.as_secs(),
                split.warmup + split.steady
            )),
            status if status.success() && complete => Ending::Done,
            status => Ending::Failed(format!("{}; it printed:\n{}", describe(status), tail(&[&errors, log]))),
        };
        Ok(Run {
            ending,
            startup: seen.startup,
            whole: nanos(whole),
            whole_cpu: nanos(used.rusage.utime + used.rusage.stime),
            peak: seen.last.peak,
            peak_any: used.rusage.maxrss.max(seen.last.peak),
            arena,
            iterations: seen.iterations,
        })
    }

    /// The measured iterations: the last ones.
    pub fn steady(&self, split: Split) -> &[Iteration] {
        let done = self.iterations.len();
        if done < split.warmup + split.steady { &[] } else { &self.iterations[done - split.steady..] }
    }
}

/// Which part of the CPU time of some iterations the JIT compiler took.
pub fn compiling(iterations: &[Iteration]) -> f64 {
    let all: u64 = iterations.iter().map(|iteration| iteration.cpu).sum();
    let jit: u64 = iterations.iter().map(|iteration| iteration.jit).sum();
    if all == 0 { 0.0 } else { jit as f64 / all as f64 }
}

/// What was read from the target so far.
#[derive(Default)]
struct Seen {
    pid: i32,
    last: Counters,
    startup: Option<u64>,
    iterations: Vec<Iteration>,
}

impl Seen {
    fn last_of(&self, split: Split) -> &[Iteration] {
        &self.iterations[self.iterations.len().saturating_sub(split.steady)..]
    }

    /// Takes a line in; true if the target now waits to be told to go on.
    fn line(&mut self, line: &str, begun: Instant) -> bool {
        let mut words = line.split(' ');
        match words.next() {
            Some("begin") => self.pid = words.next().and_then(|pid| pid.parse().ok()).unwrap_or(-1),
            Some("iteration") => {
                let now = Counters::of(self.pid);
                let wall = words.nth(1).and_then(|wall| wall.parse().ok()).unwrap_or(0);
                self.startup.get_or_insert(nanos(begun.elapsed()));
                self.iterations.push(Iteration {
                    wall,
                    cpu: now.cpu.saturating_sub(self.last.cpu),
                    jit: now.jit.saturating_sub(self.last.jit),
                    gc: now.gc.saturating_sub(self.last.gc),
                    checksum: words.next().unwrap_or_default().to_owned(),
                });
            }
            _ => return false,
        }
        // Reading the counters is not part of the next iteration.
        self.last = Counters::of(self.pid);
        true
    }
}

/// The lines meant for the harness, as they come; all output goes to `log`.
fn lines_of(child: &mut Child, log: PathBuf) -> anyhow::Result<mpsc::Receiver<String>> {
    let output = child.stdout.take().context("no output to read")?;
    let mut log = File::create(log)?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut reader = BufReader::new(output);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            // A full disk shows itself elsewhere.
            let _ = log.write_all(&line);
            let text = String::from_utf8_lossy(&line);
            // Peers print without ending their lines, so the mark may be anywhere.
            if let Some(at) = text.find(MARK) {
                let _ = sender.send(text[at + MARK.len()..].trim_end().to_owned());
            }
            line.clear();
        }
    });
    Ok(receiver)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => "it ended too early".to_owned(),
        (Some(code), _) => format!("exit status {code}"),
        (_, signal) => format!("killed by signal {}", signal.unwrap_or(0)),
    }
}

/// The last lines of files that are not for the harness.
fn tail(files: &[&Path]) -> String {
    let mut text = String::new();
    for file in files {
        let mut bytes = Vec::new();
        if fs::File::open(file).and_then(|mut f| f.read_to_end(&mut bytes)).is_err() {
            continue;
        }
        let all = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = all.lines().filter(|line| !line.starts_with(MARK)).collect();
        for line in &lines[lines.len().saturating_sub(12)..] {
            text += &format!("  {}\n", line.chars().take(300).collect::<String>());
        }
    }
    text
}
